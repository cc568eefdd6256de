"""The heads of requests, and what is known of them beforehand.

A client says the same about itself in all its requests: on one connection the headers of those without a body are
mostly the same to the byte. What the parser made of them once it need not make again, which saves half of what the
edge does for a read.
"""

from typing import NamedTuple

from setpoint.server.repeats import Repeat

_CRLF = b"\r\n"
_VERSION = b"HTTP/1.1"
# What may be in the target of a request: ASCII that can be seen.
_VISIBLE = bytes(range(0x21, 0x7F))
# Headers whose request is more than its head, or is not like the next one.
_SINGULAR = frozenset(("content-length", "transfer-encoding", "expect", "upgrade"))

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


class Head:
    """The headers that came last on a connection, as bytes and as what they mean."""

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
    """Whether a request with these headers is over with its head."""
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
