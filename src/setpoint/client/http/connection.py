"""A connection to a server. Sends one request at a time, and reads its answer whole or as a stream.

The memory that a server can use is bounded: the size of the head, of a whole body if a limit is given, and of the
unread bytes of a stream. A connection that was abandoned, or that received unrequested bytes, is never reused.
"""

import asyncio
import select
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator
from enum import Enum

import httptools

from setpoint.client.http.dial import Dialled
from setpoint.client.transport import Answer

MAX_HEAD_BYTES = 64 << 10
# Unread bytes of a stream above which reading pauses, and below which reading resumes.
_MUCH, _LITTLE = 1 << 20, 256 << 10
_SHOWN_BYTES = 80


class Loss(Enum):
    """The reasons for which an exchange ended before its answer was complete."""

    CLOSED = "the connection ended"
    NOT_HTTP = "the answer is not HTTP"
    BAD_BODY = "the body does not match the encoding in its headers"
    LARGE_HEAD = "the response head is too large"
    LARGE_BODY = "the body is too large"
    SWITCHED = "the server changed the protocol"
    CUT = "the caller cancelled the answer"


class Broken(Exception):  # noqa: N818 - named for the event
    """An exchange failed: the reason, the progress of the answer, and the cause."""

    def __init__(
        self, loss: Loss, *, has_begun: bool, has_head: bool, error: Exception | None = None, text: str = ""
    ) -> None:
        super().__init__(text or loss.value)
        self.loss = loss
        # True if any byte of the answer, or its whole head, had arrived.
        self.has_begun = has_begun
        self.has_head = has_head
        # The system's error for a closed connection; the first bytes of an answer that is not HTTP, or the reason of a
        # cancel.
        self.error = error
        self.text = text


class HttpConnection(Dialled):
    """The client's side of one socket."""

    def __init__(self, max_body_bytes: int | None = None) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._loop = asyncio.get_running_loop()
        self._max_body_bytes = max_body_bytes
        # The answer in progress: the future for its head, or for the whole answer.
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
        # Set while the server reads more slowly than the request body is sent.
        self._writable: asyncio.Future[None] | None = None
        self.closed = False
        # True if the head of the current answer has arrived; and if the connection can take another request.
        self.has_head = False
        self.keeps = False
        # True if the connection has served a request before; and the time since which the connection is idle.
        self.used = False
        self.idle_since = 0.0

    # Called by the transport.

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
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
            self.close()  # an unrequested answer
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

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._finished:
            self.close()  # a second answer to one request: later answers on this connection cannot be trusted
            return
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.has_head:
            return  # a trailer after the body
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._finished:
            return  # an interim answer (1xx): the final answer follows
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
        self.keeps = self._parser.should_keep_alive() and not self.closed
        self._complete()

    # Called by the pool.

    async def send(self, request: bytes, *, stream: bool = False) -> Answer:
        """Sends a request (not a HEAD) and returns its answer. For a stream, returns after the head; an error answer is
        always read whole. Raises Broken. If the caller is cancelled, the connection is closed."""
        waiting: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting = waiting
        self._streams, self._finished, self._failure = stream, False, None
        self._received, self.has_head, self.keeps = 0, False, False
        self._pieces.clear()
        self._size = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if self.closed:
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
        """Sends the body of a chunked request, no faster than the server reads."""
        async for piece in pieces:
            if self.closed or self._finished:
                return
            if piece:
                self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if self._writable is not None:
                await self._writable
        if not self.closed:
            self._transport.write(b"0\r\n\r\n")

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body of a stream as it arrives. Raises Broken."""
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
        """Returns True if bytes or the end of the connection are waiting to be read while no request is in progress.
        Usually the server has closed the connection and the event loop has not noticed yet. Costs one system call."""
        socket = self._transport.get_extra_info("socket")
        if socket is None or socket.fileno() < 0:
            return True
        if not hasattr(select, "poll"):  # Windows
            return bool(select.select([socket], [], [], 0)[0])
        poll = select.poll()
        poll.register(socket.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def cut(self, why: str) -> None:
        """Ends a stream with an error for its reader."""
        if not self._finished:
            self._fail(Loss.CUT, text=why)

    def close(self) -> None:
        """Closes the connection, and fails the exchange in progress."""
        self.keeps = False
        self.closed = True
        if not self._finished:
            self._fail(Loss.CLOSED)
        self._transport.abort()

    def _is_until_closed(self) -> bool:
        """Returns True if the end of the connection marks the end of the answer, because the answer has no length."""
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
        self.closed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(broken)
        self._waiting = None
        self._wake()
        self._transport.abort()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)
