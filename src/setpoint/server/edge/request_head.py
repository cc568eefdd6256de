"""Heads of requests, and a cache of their parsed form.

A client repeats its headers in all its requests: on one connection the headers of requests without a body are mostly
identical bytes, and those of the others differ in a line or two. Reusing the parsed form saves half of the edge's work
for a read.
"""

import re
from typing import NamedTuple

from setpoint.objects.provenance import CAUSE_HEADER
from setpoint.server.verbs.read_fast_path import Repeat

_CRLF = b"\r\n"
_VERSION = b"HTTP/1.1"
# The bytes allowed in the target of a request: visible ASCII.
_VISIBLE = bytes(range(0x21, 0x7F))
_END = b"\r\n\r\n"
# Headers of requests that do not end with the head or a body of known length, or that are not repeated.
_SINGULAR = frozenset(("transfer-encoding", "expect", "upgrade", "proxy-connection"))
_KEEP_ALIVE = "keep-alive"
# Stands for the actual length of a body; a header with another length is left to the parser.
_LENGTH = ("content-length", "")
# A header that every parser reads alike: one space before the value, and none after.
_HEADER = re.compile(rb"([A-Za-z0-9-]+): ([!-~](?:[ -~]*[!-~])?)").fullmatch
# Headers whose value changes with every request; the maximum number and length of cached header lines.
_CHANGING = frozenset(("content-length", "audit-id", "traceparent", CAUSE_HEADER))
_MAX_LINES, _MAX_LINE = 32, 2048
_new = tuple.__new__  # creates a named tuple in half the time

# The method that the parser receives in place of one that it does not know; it has no effect on parsing.
STAND_IN = b"PROPFIND"
_UNKNOWN_METHOD = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}) ").match
METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
# The names of common headers as clients write them: a lookup is faster than decoding.
NAMES = {
    name.encode(): name.lower()
    for name in (
        *("Host", "User-Agent", "Accept", "Accept-Encoding", "Authorization", "Content-Type", "Content-Length"),
        *("Connection", "Kubectl-Command", "Kubectl-Session", "Audit-Id", "Transfer-Encoding", "If-None-Match"),
        "Setpoint-Cause",
    )
}


def unknown_method(data: bytes) -> str:
    """Returns the method at the start of a request; empty if there is none that a method may be called."""
    found = _UNKNOWN_METHOD(data)
    return found[1].decode("ascii") if found is not None else ""


class Read(NamedTuple):
    """The fast path for reads of one collection, its expiry, and the start of its responses."""

    repeat: Repeat
    until: float
    start: str


class Sent(NamedTuple):
    """A complete request with a body."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Envelope:
    """Parses complete requests with a body in the simplest format, line by line: most lines are known from earlier
    requests on the same connection."""

    __slots__ = ("_headers",)

    def __init__(self) -> None:
        self._headers: dict[bytes, tuple[str, str]] = {}

    def read(self, data: bytes) -> Sent | None:
        """Returns the request as the parser would, or None if the request must be left to the parser."""
        top, _, body = data.partition(_END)
        line, *lines = top.split(_CRLF)
        found = _request_line(line)
        if found is None:
            return None
        length = b"Content-Length: %d" % len(body)
        headers: dict[str, str] = {}
        known = self._headers
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
        """Parses a simple header line, and caches the result if the line is likely to be repeated."""
        plain = _HEADER(line)
        if plain is None:
            return None
        name, value = plain.groups()
        header = NAMES.get(name) or name.decode("ascii").lower(), value.decode("ascii")
        if header[0] not in _CHANGING and len(line) <= _MAX_LINE and len(self._headers) < _MAX_LINES:
            self._headers[line] = header
        return header


class Head:
    """The headers of the last request without a body on a connection, as bytes and parsed."""

    __slots__ = ("_block", "headers", "reads")

    def __init__(self) -> None:
        self._block: bytes | None = None
        self.headers: dict[str, str] = {}
        # The fast paths for requests with these headers, by the path of the collection.
        self.reads: dict[str, Read | None] = {}

    def cache(self, data: bytes, headers: dict[str, str]) -> None:
        """Caches the head of a complete request, and the headers that the parser found."""
        line, separator, block = data.partition(_CRLF)
        if _request_line(line) is not None:
            self._block, self.headers, self.reads = separator + block, headers, {}

    def repeated(self, data: bytes) -> tuple[str, str] | None:
        """Returns the method and target of a request with the same headers as the cached one; None for other
        requests."""
        block = self._block
        if block is None or not data.endswith(block):
            return None
        return _request_line(data[: -len(block)])


def may_repeat(headers: dict[str, str]) -> bool:
    """Returns True if a request with these headers ends with its head, or with a body of the stated length."""
    return _SINGULAR.isdisjoint(headers)


def _request_line(line: bytes) -> tuple[str, str] | None:
    """Returns the method and target of a request line in the simplest format; None for all others, which the parser
    handles."""
    parts = line.split(b" ")
    if len(parts) != 3:
        return None
    method, target, version = parts
    name = METHODS.get(method)
    if name is None or version != _VERSION or not target.startswith(b"/") or target.translate(None, _VISIBLE):
        return None
    return name, target.decode("ascii")
