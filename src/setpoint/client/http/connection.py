"""One connection to a server: a request at a time, its answer whole or as a stream.

What a server may cost is bounded: the size of its head, of a whole body where a bound is given, and, while nobody takes
what it streams, the bytes that wait. A connection that was given up, or on which more came than was asked for, is never
used again.
"""

import asyncio
import select
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator
from enum import Enum
from typing import cast

import httptools

from setpoint.client.transport import Answer

MAX_HEAD_BYTES = 64 << 10
# How much of a stream may wait to be taken before the server is made to wait too.
_MUCH, _LITTLE = 1 << 20, 256 << 10
_SHOWN_BYTES = 80


class Loss(Enum):
    """What ended an exchange before its answer was whole."""

    CLOSED = "the connection ended"
    NOT_HTTP = "what came is no HTTP"
    BAD_BODY = "the body is not coded as its head says"
    LARGE_HEAD = "the head is too large"
    LARGE_BODY = "the body is too large"
    SWITCHED = "the server changed the protocol"
    CUT = "whoever listened had enough"


class Broken(Exception):  # noqa: N818 - it says what happened
    """An exchange did not end well: what ended it, how far it had come, and what else is known of it."""

    def __init__(
        self, loss: Loss, *, has_begun: bool, has_head: bool, error: Exception | None = None, text: str = ""
    ) -> None:
        super().__init__(text or loss.value)
        self.loss = loss
        # Whether anything of the answer had come, and whether its head had.
        self.has_begun = has_begun
        self.has_head = has_head
        # What the system said of a connection that ended; the beginning of what is no HTTP, or why somebody cut it.
        self.error = error
        self.text = text


class Connection(asyncio.Protocol):
    """The client's side of one socket."""

    def __init__(self, max_body_bytes: int | None = None) -> None:
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._loop = asyncio.get_running_loop()
        self._max_body_bytes = max_body_bytes
        # The answer under way: who waits for its head, or for all of it.
        self._waiting: asyncio.Future[Answer] | None = None
        self._streams = False
        self._headers: dict[str, str] = {}
        self._received = 0
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._finished = True
        self._failure: Broken | None = None
        self._more: asyncio.Future[None] | None = None
        self._paused = False
        # While the server is slower than a body that is sent in pieces.
        self._writable: asyncio.Future[None] | None = None
        self.lost = False
        # Of the request under way: whether the head of its answer is there. And whether another may follow it.
        self.has_head = False
        self.keeps = False
        # Whether it has served before, and since when it waits for the next request.
        self.used = False
        self.idle_since = 0.0

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.keeps = False
        self.resume_writing()
        if self._finished:
            return
        if self._is_until_closed() and exc is None:
            self._complete()
            return
        self._fail(Loss.CLOSED, error=exc)

    def data_received(self, data: bytes) -> None:
        if self._finished:
            self.close()  # an answer that nobody asked for
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(Loss.SWITCHED)
        except httptools.HttpParserError:
            if self.has_head:
                self._fail(Loss.BAD_BODY)
            else:
                line = data[:_SHOWN_BYTES].split(b"\r\n")[0].decode("latin-1")
                self._fail(Loss.NOT_HTTP, text=line)
        if not self.has_head and self._received > MAX_HEAD_BYTES:
            self._fail(Loss.LARGE_HEAD)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._finished:
            self.close()  # a second answer to one request: what comes next on this connection cannot be trusted
            return
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.has_head:
            return  # after the body
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._finished:
            return  # a word on the way: the answer is still to come
        self.has_head = True
        if self._streams and status < 300 and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(Answer(status, self._headers))
            self._waiting = None

    def on_body(self, body: bytes) -> None:
        if self._finished:
            return
        self._pieces.append(body)
        self._size += len(body)
        if self._waiting is None:
            if self._size > _MUCH and not self._paused:
                self._paused = True
                self._transport.pause_reading()
            self._wake()
        elif self._max_body_bytes is not None and self._size > self._max_body_bytes:
            self._fail(Loss.LARGE_BODY)

    def on_message_complete(self) -> None:
        if self._finished or not self.has_head:
            return
        self.keeps = self._parser.should_keep_alive() and not self.lost
        self._complete()

    # What the pool calls.

    async def ask(self, request: bytes, *, stream: bool = False) -> Answer:
        """Sends a request (not a HEAD) and returns its answer; of a stream, only how it begins, unless it is an error
        and so has an end. Raises Broken. Whoever stops waiting ends the connection."""
        waiting: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting = waiting
        self._streams, self._finished, self._failure = stream, False, None
        self._received, self.has_head, self.keeps = 0, False, False
        self._pieces.clear()
        self._size = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if self.lost:
            self._fail(Loss.CLOSED)
        else:
            self._transport.write(request)
        try:
            answer = await waiting
        except BaseException:
            self.close()
            raise
        self.used = True
        return answer

    async def send_body(self, pieces: AsyncIterable[bytes]) -> None:
        """Sends the body of a request that was asked as chunked, no faster than the server takes it."""
        async for piece in pieces:
            if self.lost or self._finished:
                return
            if piece:
                self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if self._writable is not None:
                await self._writable
        if not self.lost:
            self._transport.write(b"0\r\n\r\n")

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body of a stream as it comes. Raises Broken."""
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                self._size -= len(piece)
                if self._paused and self._size < _LITTLE:
                    self._paused = False
                    self._transport.resume_reading()
                yield piece
            if self._failure is not None:
                raise self._failure
            if self._finished:
                return
            self._more = self._loop.create_future()
            await self._more

    def is_stale(self) -> bool:
        """Whether something waits to be read while nothing was asked: usually the end of the connection, which the
        event loop has not come to yet. One system call."""
        socket = self._transport.get_extra_info("socket")
        if socket is None or socket.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(socket.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def cut(self, why: str) -> None:
        """Ends a stream with an error, for whoever reads it."""
        if not self._finished:
            self._fail(Loss.CUT, text=why)

    def close(self) -> None:
        """Lets go of the connection, whatever is under way."""
        self.keeps = False
        self.lost = True
        if not self._finished:
            self._fail(Loss.CLOSED)
        self._transport.abort()

    def _is_until_closed(self) -> bool:
        """Whether the end of the connection is the end of the answer, as of one without a length."""
        known = self._headers
        return self.has_head and "content-length" not in known and "transfer-encoding" not in known

    def _complete(self) -> None:
        self._finished = True
        if self._waiting is not None and not self._waiting.done():
            body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._waiting.set_result(Answer(self._parser.get_status_code(), self._headers, body))
        self._waiting = None
        self._wake()

    def _fail(self, loss: Loss, *, error: Exception | None = None, text: str = "") -> None:
        if self._finished:
            return
        broken = Broken(loss, has_begun=self._received > 0, has_head=self.has_head, error=error, text=text)
        self._finished, self._failure = True, broken
        self.keeps = False
        self.lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(broken)
        self._waiting = None
        self._wake()
        self._transport.abort()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)
