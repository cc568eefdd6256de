"""The answer to a connection that no workload can serve: an HTTP response with the reason, or a reset.

HTTP clients are recognized by the first bytes. A response cannot be sent to others without breaking their protocol, so
that their connection is reset at once. No I/O.
"""

import ipaddress
import re
from typing import NamedTuple

# An HTTP/1 request line; the version may follow in a later packet.
_REQUEST = re.compile(rb"(?P<method>GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS|TRACE) [!-~]*(?: |$)")


class Unserved(NamedTuple):
    """The reason why a Service cannot serve a connection now. With `waits`, a workload is starting, so that a
    connection waits for a short time."""

    service: str
    waits: bool
    state: str
    reason: str = ""
    # The workload to ask `setpoint why` about.
    workload: str = ""

    def text(self, client: str) -> str:
        """Returns the message for a client. Only clients of this machine get the reason: the output of a program is not
        for others."""
        if not _is_of_this_machine(client):
            return f"{self.service} is not available.\n"
        reason = f": {self.reason}" if self.reason else ""
        hint = f"\nRun `setpoint why {self.workload}` for details.\n" if self.workload else "\n"
        return f"{self.service} is not available: {self.workload or 'it'} is {self.state}{reason}{hint}"


def response(request: bytes, text: str) -> bytes | None:
    """Returns the HTTP response for the first bytes of a client; None if the client does not speak HTTP/1."""
    match = _REQUEST.match(request)
    if match is None:
        return None
    body = text.encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if match["method"] == b"HEAD" else body)


def _is_of_this_machine(client: str) -> bool:
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
