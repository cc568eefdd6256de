"""The requests in the bytes that a connection receives.

Most requests repeat the headers of earlier ones and are read without the parser (`request_head.py`); httptools parses
the others.
"""

from typing import Protocol

import httptools

from setpoint.objects.errors import APIError, BadRequest, RequestEntityTooLarge
from setpoint.server.edge.limits import Limits
from setpoint.server.edge.request_head import METHODS, NAMES, STAND_IN, Envelope, Head, may_repeat, unknown_method
from setpoint.server.message import LISTED

_MAX_REPEATS = 256


class RequestReceiver(Protocol):
    """The connection that the requests come from."""

    def request_begun(self) -> None:
        """Handles the first byte of a request."""

    def continue_expected(self) -> None:
        """Handles a client that sends its body only after `100 Continue`."""

    def request_read(
        self, method: str, target: str, headers: dict[str, str], body: bytes, keep_alive: bool, modern: bool
    ) -> None:
        """Handles a complete request. `modern` is HTTP/1.1."""

    def upgrade_read(self) -> None:
        """Handles the end of the last request: later bytes belong to another protocol, if the server accepts that."""

    def unreadable(self, error: APIError) -> None:
        """Handles bytes that are no request, or one that exceeds a limit. Nothing after them can be read."""


class RequestReader:
    """Reads requests, and passes each to the receiver as soon as the request is complete."""

    # Slots are faster than a dictionary for so many attributes.
    __slots__ = (
        "_body",
        "_completed",
        "_envelope",
        "_headers",
        "_in_head",
        "_limits",
        "_method",
        "_parser",
        "_receiver",
        "_repeatable",
        "_repeats",
        "_unparsed_bytes",
        "_url",
        "head",
        "is_expecting",
        "is_reading",
    )

    def __init__(self, receiver: RequestReceiver, limits: Limits) -> None:
        self._receiver = receiver
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        # The request being read, and the number of bytes received since the last callback of the parser.
        self.is_reading = False
        self._in_head = False
        # The method of the request, if the parser does not know it.
        self._method = ""
        self._url = b""
        self._headers: dict[str, str] = {}
        self._repeats = 0
        self._body: bytes | bytearray = b""
        # True while the client waits for `100 Continue`.
        self.is_expecting = False
        self._unparsed_bytes = 0
        # The head of the last request without a body, which may be repeated; the known header lines of requests with
        # one; and the number of requests that the parser found in the current data.
        self.head = Head()
        self._envelope = Envelope()
        self._completed = 0
        self._repeatable = False

    def close(self) -> None:
        """Drops the references to the parser and the receiver, which refer back to this object."""
        del self._parser, self._receiver

    def feed(self, data: bytes) -> None:
        """Reads received bytes."""
        first = not self.is_reading
        if first and (sent := self._envelope.read(data)) is not None and len(sent.body) <= self._limits.body_bytes:
            self._receiver.request_read(*sent, True, True)
            return
        self._unparsed_bytes += len(data)
        self._completed = 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._receiver.upgrade_read()
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._receiver.unreadable(cause if isinstance(cause, APIError) else BadRequest("malformed HTTP request"))
        except httptools.HttpParserInvalidMethodError as error:
            method = unknown_method(data) if first and not self._completed and not self._method else ""
            if method:
                self._feed_again(data, method)
            else:
                self._receiver.unreadable(BadRequest(f"malformed HTTP request: {error}"))
        except httptools.HttpParserError as error:
            self._receiver.unreadable(BadRequest(f"malformed HTTP request: {error}"))
        else:
            # The head is too long, or the parser buffers half a header or a chunk extension.
            if self._unparsed_bytes > self._limits.head_bytes:
                limit = self._limits.head_bytes
                self._receiver.unreadable(BadRequest(f"the request line and headers are larger than {limit} bytes"))
            elif first and self._completed == 1 and not self.is_reading and self._repeatable:
                self.head.cache(data, self._headers)

    def _feed_again(self, data: bytes, method: str) -> None:
        """Reads a request with a method that the parser does not know: the parser receives another one in its place.
        The request is answered as any other, after authentication."""
        self._method = method
        self._parser = httptools.HttpRequestParser(self)
        self.is_reading = False
        self._unparsed_bytes -= len(data)
        self.feed(STAND_IN + data[len(method) :])

    # Called by the parser.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._repeats, self._body = b"", {}, 0, b""
        self.is_reading = self._in_head = True
        self._receiver.request_begun()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # a trailer is ignored
        key = NAMES.get(name) or name.decode("latin-1").lower()
        text = value.decode("latin-1")
        headers = self._headers
        if key in headers:
            self._repeats += 1
            if self._repeats > _MAX_REPEATS:  # joining them takes quadratic time
                raise BadRequest(f"more than {_MAX_REPEATS} repeated headers")
            text = f"{headers[key]}\n{text}" if key.startswith(LISTED) else f"{headers[key]}, {text}"
        headers[key] = text

    def on_headers_complete(self) -> None:
        self._unparsed_bytes = 0
        self._in_head = False
        headers = self._headers
        if "host" not in headers and self._parser.get_http_version() == "1.1":
            raise BadRequest("missing required Host header")
        if "content-length" in headers and int(headers["content-length"]) > self._limits.body_bytes:
            raise RequestEntityTooLarge.body(self._limits.body_bytes)
        if "expect" in headers and headers["expect"].lower() == "100-continue":
            self.is_expecting = True
            self._receiver.continue_expected()

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        if not self._body:
            self._body = body
        elif isinstance(self._body, bytes):
            self._body = bytearray(self._body + body)
        else:
            self._body += body
        if len(self._body) > self._limits.body_bytes:
            raise RequestEntityTooLarge.body(self._limits.body_bytes)

    def on_message_complete(self) -> None:
        self._unparsed_bytes = 0
        self.is_reading = self.is_expecting = False
        parser, headers = self._parser, self._headers
        keep_alive, modern = parser.should_keep_alive(), parser.get_http_version() == "1.1"
        self._completed += 1
        self._repeatable = keep_alive and modern and may_repeat(headers) and "content-length" not in headers
        name = parser.get_method()
        method = self._method or METHODS.get(name) or name.decode("ascii")
        self._method = ""
        target = self._url.decode("latin-1")
        self._receiver.request_read(method, target, headers, bytes(self._body), keep_alive, modern)
