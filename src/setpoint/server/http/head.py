"""The heads of requests, and what is known of them beforehand.

A client says the same about itself in all its requests: on one connection the headers of those without a body are
mostly the same to the byte, and those of the others but for the length of the body. What the parser made of them once
it need not make again, which saves half of what the edge does for a read.
"""

from typing import NamedTuple

from setpoint.server.repeats import Repeat

_CRLF = b"\r\n"
_VERSION = b"HTTP/1.1"
# What may be in the target of a request: ASCII that can be seen.
_VISIBLE = bytes(range(0x21, 0x7F))
_END = b"\r\n\r\n"
_LENGTH = b"\r\nContent-Length: "
# Headers whose request is not over with its head and a body of a known length, or is not like the next one.
_SINGULAR = frozenset(("transfer-encoding", "expect", "upgrade"))

METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
# The names that come with most requests, as clients write them: to find one here is quicker than to make it.
NAMES = {
    name.encode(): name.lower()
    for name in (
        *("Host", "User-Agent", "Accept", "Accept-Encoding", "Authorization", "Content-Type", "Content-Length"),
        *("Connection", "Kubectl-Command", "Kubectl-Session", "Audit-Id", "Transfer-Encoding", "If-None-Match"),
    )
}


class Read(NamedTuple):
    """How the reads of one collection are answered, until when, and what such answers begin with."""

    repeat: Repeat
    until: float
    start: str


class Sent(NamedTuple):
    """A whole request with a body."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Envelope:
    """The headers that last came with a body on a connection, as the bytes around its length, and as what they mean."""

    __slots__ = ("_after", "_before", "_headers")

    def __init__(self) -> None:
        self._before: bytes | None = None
        self._after = b""
        self._headers: dict[str, str] = {}

    def learn(self, data: bytes, headers: dict[str, str]) -> None:
        """Remembers a whole request, and the headers that the parser found in it."""
        top, _, body = data.partition(_END)
        line, _, _ = top.partition(_CRLF)
        before, _, rest = top[len(line) :].partition(_LENGTH)
        number, separator, after = rest.partition(_CRLF)
        if number == b"%d" % len(body) and headers["content-length"] == str(len(body)):
            self._before, self._after, self._headers = before + _LENGTH, separator + after, headers

    def repeated(self, data: bytes) -> Sent | None:
        """A whole request whose headers are the same but for the length of its body; None for all else."""
        if self._before is None:
            return None
        top, _, body = data.partition(_END)
        start = top.find(_CRLF)
        size = b"%d" % len(body)
        if start < 0 or top[start:] != self._before + size + self._after:
            return None
        found = _request_line(top[:start])
        return None if found is None else Sent(*found, {**self._headers, "content-length": size.decode()}, body)


class Head:
    """The headers that came last on a connection without a body, as bytes and as what they mean."""

    __slots__ = ("_block", "headers", "reads")

    def __init__(self) -> None:
        self._block: bytes | None = None
        self.headers: dict[str, str] = {}
        # What is decided for requests with these headers, by the path of the collection that they read.
        self.reads: dict[str, Read | None] = {}

    def learn(self, data: bytes, headers: dict[str, str]) -> None:
        """Remembers a whole request, and the headers that the parser found in it."""
        line, _, block = data.partition(_CRLF)
        if _request_line(line) is not None:
            self._block, self.headers, self.reads = block, headers, {}

    def repeated(self, data: bytes) -> tuple[str, str] | None:
        """The method and target of a request that has the same headers as the one remembered; None for all else."""
        line, _, block = data.partition(_CRLF)
        return _request_line(line) if block == self._block else None


def may_repeat(headers: dict[str, str]) -> bool:
    """Whether a request with these headers is over with its head, or with a body of the length that it says."""
    return _SINGULAR.isdisjoint(headers)


def _request_line(line: bytes) -> tuple[str, str] | None:
    """The method and target of the plainest kind of request line; whatever else there is, is for the parser."""
    parts = line.split(b" ")
    if len(parts) != 3:
        return None
    method, target, version = parts
    name = METHODS.get(method)
    if name is None or version != _VERSION or not target.startswith(b"/") or target.translate(None, _VISIBLE):
        return None
    return name, target.decode("ascii")
