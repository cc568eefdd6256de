"""The bytes of HTTP/1.1 answers, and what can be prepared of them is prepared once."""

from datetime import datetime
from email.utils import format_datetime
from http import HTTPStatus

import msgspec

from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.server.exchange import Response

LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS_LINES = {status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}


class DateHeader:
    """The `Date` header line, made anew only when the second changes."""

    def __init__(self) -> None:
        self._second = -1
        self._line = b""

    def line(self, now: datetime) -> bytes:
        second = int(now.timestamp())
        if second != self._second:
            self._second = second
            self._line = b"Date: %b\r\n" % format_datetime(now, usegmt=True).encode()
        return self._line


def head(response: Response, date: bytes, length: int | None, keep_alive: bool) -> bytes:
    """Status line and headers. Without a length the body follows in chunks."""
    lines = [_STATUS_LINES.get(response.status) or b"HTTP/1.1 %d \r\n" % response.status, date]
    if response.content_type:
        lines.append(b"Content-Type: %b\r\n" % response.content_type.encode("latin-1", "replace"))
    lines += [
        b"%b: %b\r\n" % (name.encode("latin-1", "replace"), _line(value).encode("utf-8"))
        for name, value in response.headers
    ]
    lines.append(b"Transfer-Encoding: chunked\r\n" if length is None else b"Content-Length: %d\r\n" % length)
    if not keep_alive:
        lines.append(b"Connection: close\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)


def _line(value: str) -> str:
    # A header is one line: what would end it early is shown as a space.
    return value.translate(_NO_BREAKS) if "\n" in value or "\r" in value else value


_NO_BREAKS = str.maketrans("\r\n", "  ")


def refusal(error: APIError) -> Response:
    """The answer of the edge itself to a request that does not reach the handler."""
    status: Object = error.to_status()
    return Response(error.code, "application/json", msgspec.json.encode(status) + b"\n")
