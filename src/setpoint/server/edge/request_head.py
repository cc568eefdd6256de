"""The heads of requests, and what is known of them beforehand.

A client says the same about itself in all its requests: on one connection the headers of those without a body are
mostly the same to the byte, and those of the others but for a line or two. What was made of them once need not be made
again, which saves half of what the edge does for a read.
"""

import re
from typing import NamedTuple

from setpoint.objects.provenance import CAUSE_HEADER
from setpoint.server.verbs.read_fast_path import Repeat

_CRLF = b"\r\n"
_VERSION = b"HTTP/1.1"
# What may be in the target of a request: ASCII that can be seen.
_VISIBLE = bytes(range(0x21, 0x7F))
_END = b"\r\n\r\n"
# Headers whose request is not over with its head and a body of a known length, or is not like the next one.
_SINGULAR = frozenset(("transfer-encoding", "expect", "upgrade", "proxy-connection"))
_KEEP_ALIVE = "keep-alive"
# Stands for the length that a body really has; a header that says another is no plain one.
_LENGTH = ("content-length", "")
# A header that every parser reads alike: one space before the value, and none after it.
_HEADER = re.compile(rb"([A-Za-z0-9-]+): ([!-~](?:[ -~]*[!-~])?)").fullmatch
# Headers that every request has a value of its own for, and how many lines of others are remembered, how long ones.
_CHANGING = frozenset(("content-length", "audit-id", "traceparent", CAUSE_HEADER))
_MAX_LINES, _MAX_LINE = 32, 2048
_new = tuple.__new__  # makes a named tuple in half the time

METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
# The names that come with most requests, as clients write them: to find one here is quicker than to make it.
NAMES = {
    name.encode(): name.lower()
    for name in (
        *("Host", "User-Agent", "Accept", "Accept-Encoding", "Authorization", "Content-Type", "Content-Length"),
        *("Connection", "Kubectl-Command", "Kubectl-Session", "Audit-Id", "Transfer-Encoding", "If-None-Match"),
        "Setpoint-Cause",
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
    """Reads requests with a body that came whole and are of the plainest kind, line by line: most lines came before on
    the same connection."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, str]] = {}

    def read(self, data: bytes) -> Sent | None:
        """The request, as the parser would find it; None for whatever is better left to the parser."""
        top, _, body = data.partition(_END)
        line, *lines = top.split(_CRLF)
        found = _request_line(line)
        if found is None:
            return None
        length = b"Content-Length: %d" % len(body)
        headers: dict[str, str] = {}
        known = self._known
        for each in lines:
            header = _LENGTH if each == length else known.get(each) or self._header(each)
            if header is None:
                return None
            headers[header[0]] = header[1]
        if headers.get("content-length") != "" or "host" not in headers or len(headers) != len(lines):
            return None
        headers["content-length"] = str(len(body))
        if headers.get("connection", _KEEP_ALIVE).lower() != _KEEP_ALIVE or not may_repeat(headers):
            return None
        return _new(Sent, (*found, headers, body))

    def _header(self, line: bytes) -> tuple[str, str] | None:
        """A header of one plain line, remembered if it is likely to come again."""
        plain = _HEADER(line)
        if plain is None:
            return None
        name, value = plain.groups()
        header = NAMES.get(name) or name.decode("ascii").lower(), value.decode("ascii")
        if header[0] not in _CHANGING and len(line) <= _MAX_LINE and len(self._known) < _MAX_LINES:
            self._known[line] = header
        return header


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
        line, separator, block = data.partition(_CRLF)
        if _request_line(line) is not None:
            self._block, self.headers, self.reads = separator + block, headers, {}

    def repeated(self, data: bytes) -> tuple[str, str] | None:
        """The method and target of a request that has the same headers as the one remembered; None for all else."""
        block = self._block
        if block is None or not data.endswith(block):
            return None
        return _request_line(data[: -len(block)])


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
