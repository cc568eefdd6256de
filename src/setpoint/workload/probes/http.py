"""The HTTP probe: a GET request, whose final status 2xx is a success. A 3xx status without a usable redirect is
unknown.

Certificates are not verified: the probed servers are our own, and development certificates are self-signed. Proxies of
the environment are not used, for the same reason.
"""

import ssl
from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from setpoint.client.http.endpoint import EndpointError, endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Call, TransportError
from setpoint.workload.probes.http_exchange import Reply, get
from setpoint.workload.probes.verdict import Finding

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_AGENT = "setpoint-probe"


async def probe_http(url: str, headers: Sequence[tuple[str, str]], seconds: float) -> Finding:
    """Runs the probe once."""
    for _ in range(_MOST_REDIRECTS):
        try:
            reply = await _get(url, headers, seconds)
        except EndpointError:
            return Finding("Failure", f"invalid URL {url}: expected http://HOST:PORT/PATH")
        except (OSError, TransportError) as error:
            return Finding("Failure", f"GET {url}: {error.strerror or error if isinstance(error, OSError) else error}")
        if reply.status not in _REDIRECTS or not reply.location:
            break
        url = urljoin(url, reply.location)
    if 200 <= reply.status < 300:
        return Finding("Success")
    body = reply.body.decode("utf-8", "replace").strip()
    message = f"GET {url}: status {reply.status}{f': {body}' if body else ''}"
    return Finding("Unknown" if 300 <= reply.status < 400 else "Failure", message, answered=True)


async def _get(url: str, headers: Sequence[tuple[str, str]], seconds: float) -> Reply:
    parts = urlsplit(url)
    where = endpoint(f"{parts.scheme}://{parts.netloc}", tls=_trusting() if parts.scheme == "https" else None)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"accept": "*/*", **{name.lower(): value for name, value in headers}}
    if where.tls is None:
        return await get(where.host, where.port, _request(where.authority, path, sent))
    transport = HttpTransport(where, user_agent=_AGENT)
    try:
        answer = await transport.send(Call("GET", path, (), sent, timeout=seconds))
    finally:
        await transport.close()
    return Reply(answer.status, answer.headers.get("location", ""), answer.body)


def _request(authority: str, path: str, headers: Mapping[str, str]) -> bytes:
    """Returns the request. Raises ValueError if a header would end its line."""
    sent = {"host": authority, "user-agent": _AGENT, **headers, "connection": "close"}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("the URL or a header of the probe contains a line break")
    return "\r\n".join((*lines, "", "")).encode()


@lru_cache(maxsize=1)
def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
