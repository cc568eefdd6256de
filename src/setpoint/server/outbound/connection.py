"""One connection to somebody else's HTTP/1.1 server: a request, its answer, and the next.

What comes is bounded: the head, and the body by what the caller is ready to take. A connection that was given up, or of
which more came than was asked for, is closed and never used again.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, cast

import httptools

from setpoint.objects.gotext import quote
from setpoint.server.outbound import failure

_HEAD_BYTES = 64 << 10
_SHOWN_BYTES = 80


class Answer(NamedTuple):
    """What came back. The names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Broken(Exception):  # noqa: N818 - a signal between the connection and the client
    """The exchange did not end well: why, in Go's words, and how far it had come."""

    def __init__(self, why: str, *, has_begun: bool, has_head: bool) -> None:
        super().__init__(why)
        self.why = why
        self.has_begun = has_begun
        self.has_head = has_head


class Connection(asyncio.Protocol):
    """A connection, used by one exchange at a time."""

    def __init__(self, body_bytes: int) -> None:
        self._body_bytes = body_bytes
        self._transport: asyncio.Transport | None = None
        self._lost = False
        self._waiting: asyncio.Future[Answer] | None = None
        self._begin()
        # Whether it served before, and, while it waits for the next exchange, since when.
        self.is_used = False
        self.idle_since = 0.0

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._received = 0
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self.has_head = False

    @property
    def is_usable(self) -> bool:
        return not self._lost and self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes) -> Answer:
        """Sends a request and waits for the answer. Raises Broken. Whoever stops waiting ends the connection."""
        assert self._transport is not None
        self._begin()
        self._waiting = asyncio.get_running_loop().create_future()
        if self._lost:
            self._fail("EOF")
        else:
            self._transport.write(request)
        try:
            answer = await self._waiting
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiting = None
        self.is_used = True
        return answer

    def abort(self) -> None:
        """Ends the connection at once."""
        self._lost = True
        if self._transport is not None:
            self._transport.abort()

    # What asyncio tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None or self._waiting.done():
            # Nobody asked for it: what else it would say to the next question cannot be trusted.
            self.abort()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail("the server wants to change the protocol")
        except httptools.HttpParserError:
            if self.has_head:
                self._fail("invalid byte in chunk length")
            else:
                line = bytes(data[:_SHOWN_BYTES]).split(b"\r\n")[0].decode("latin-1")
                self._fail(f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {quote(line)}")
            return
        if not self.has_head and self._received > _HEAD_BYTES:
            self._fail(f"net/http: server response headers exceeded {_HEAD_BYTES} bytes; aborted")

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        if self._waiting is None or self._waiting.done():
            return
        sized = "content-length" in self._headers or "transfer-encoding" in self._headers
        if self.has_head and not sized and error is None:
            # A body that says nothing of its length ends with the connection.
            self._finish()
        elif self.has_head:
            self._fail("unexpected EOF" if error is None else failure.of_loss(error))
        else:
            self._fail("unexpected EOF" if self._received else failure.of_loss(error))

    # What the parser tells.

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._parser.get_status_code() < 200:
            self._headers = {}
        else:
            self.has_head = True

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._body_bytes:
            self._fail(f"the answer is larger than {self._body_bytes} bytes")

    def on_message_complete(self) -> None:
        if self.has_head:
            self._finish()
            if not self._parser.should_keep_alive():
                self._close()

    def _finish(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(Answer(self._parser.get_status_code(), self._headers, bytes(self._body)))

    def _fail(self, why: str) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Broken(why, has_begun=self._received > 0, has_head=self.has_head))
        self._close()

    def _close(self) -> None:
        self._lost = True
        if self._transport is not None:
            self._transport.close()
