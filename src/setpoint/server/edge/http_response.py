"""The bytes of HTTP/1.1 responses; constant parts are prepared once."""

from datetime import datetime
from email.utils import format_datetime
from functools import lru_cache
from http import HTTPStatus

import msgspec

from setpoint.objects.errors import APIError
from setpoint.server.message import Response

LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
# Status codes without a body, and so without a length.
_BODILESS = frozenset((204, 304))
_NO_BREAKS = str.maketrans("\r\n\0", "   ")

_encode = msgspec.json.Encoder().encode


def date_line(now: datetime) -> str:
    """The `Date` header."""
    return f"Date: {format_datetime(now, usegmt=True)}\r\n"


def start(response: Response) -> str:
    """Returns the start of responses like this one, without the date, the length and the audit ID."""
    lines = [f"{name}: {value}\r\n" for name, value in response.headers if name != "Audit-Id"]
    return _start(response.status, response.content_type) + "".join(lines)


def head(response: Response, date: str, framing: str, connection: str = "") -> bytes:
    """Returns the status line and headers; `framing` and `connection` are the header lines for the end of the body and
    the fate of the connection."""
    lines = [_start(response.status, response.content_type), date]
    for name, value in response.headers:
        # A header is one line: line breaks are replaced by spaces.
        safe = value if value.isprintable() else value.translate(_NO_BREAKS)
        lines.append(f"{name}: {safe}\r\n")
    lines += (framing, connection, "\r\n")
    return "".join(lines).encode("utf-8", "replace")


@lru_cache(maxsize=256)
def _start(status: int, content_type: str) -> str:
    """Returns the status line and content type. Cached, as there are few different ones."""
    line = _STATUS_LINES.get(status) or f"HTTP/1.1 {status} \r\n"
    return f"{line}Content-Type: {content_type}\r\n" if content_type else line


def length(response: Response, size: int) -> str:
    """Returns the header line for a body of known size."""
    return "" if response.status in _BODILESS else f"Content-Length: {size}\r\n"


CHUNKED = "Transfer-Encoding: chunked\r\n"
# A body that ends with the connection, for clients without chunked encoding.
UNTIL_CLOSED = ""

CLOSE = "Connection: close\r\n"
# HTTP/1.0 clients need an explicit keep-alive.
KEEP_ALIVE = "Connection: keep-alive\r\n"


def refusal(error: APIError) -> Response:
    """Returns the response of the edge to a request that does not reach the handler."""
    return Response(error.code, "application/json", _encode(error.to_status()) + b"\n")
