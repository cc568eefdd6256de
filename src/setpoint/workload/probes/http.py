"""The HTTP probe: a GET request, whose final status 2xx is a success. A 3xx status without a usable redirect is
unknown.

Certificates are not verified: the probed servers are our own, and development certificates are self-signed. Proxies of
the environment are not used, for the same reason.
"""

import ssl
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from setpoint.client.http.endpoint import EndpointError, endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Answer, Call, TransportError
from setpoint.workload.probes.verdict import Finding

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10


async def probe_http(url: str, headers: Sequence[tuple[str, str]], seconds: float) -> Finding:
    """Runs the probe once."""
    for _ in range(_MOST_REDIRECTS):
        try:
            answer = await _get(url, headers, seconds)
        except EndpointError:
            return Finding("Failure", f"invalid URL {url}: expected http://HOST:PORT/PATH")
        except (OSError, TransportError) as error:
            return Finding("Failure", f"GET {url}: {error}")
        target = answer.headers.get("location", "")
        if answer.status not in _REDIRECTS or not target:
            break
        url = urljoin(url, target)
    if 200 <= answer.status < 300:
        return Finding("Success")
    body = answer.body.decode("utf-8", "replace").strip()
    message = f"GET {url}: status {answer.status}{f': {body}' if body else ''}"
    return Finding("Unknown" if 300 <= answer.status < 400 else "Failure", message)


async def _get(url: str, headers: Sequence[tuple[str, str]], seconds: float) -> Answer:
    parts = urlsplit(url)
    where = endpoint(f"{parts.scheme}://{parts.netloc}", tls=_trusting() if parts.scheme == "https" else None)
    transport = HttpTransport(where, user_agent="setpoint-probe")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {name.lower(): value for name, value in headers}
    try:
        return await transport.send(Call("GET", path, (), {"accept": "*/*", **sent}, timeout=seconds))
    finally:
        await transport.close()


@lru_cache(maxsize=1)
def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
