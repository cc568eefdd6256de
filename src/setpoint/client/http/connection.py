"""One connection to a server: a request at a time, its answer whole or as a stream.

What a server may cost is bounded: the size of its head, and, while nobody takes what it streams, the bytes that wait.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import cast

import httptools

from setpoint.client.transport import Answer, TransportError

MAX_HEAD_BYTES = 64 << 10
# How much of a stream may wait to be taken before the server is made to wait too.
_MUCH, _LITTLE = 1 << 20, 256 << 10


class Connection(asyncio.Protocol):
    """The client's side of one socket."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._loop = asyncio.get_running_loop()
        # The answer under way: who waits for its head, or for all of it.
        self._waiting: asyncio.Future[Answer] | None = None
        self._streams = False
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._in_head = True
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._finished = False
        self._failure: TransportError | None = None
        self._more: asyncio.Future[None] | None = None
        self._paused = False
        self._writable = asyncio.Event()
        self._writable.set()
        self.lost = False
        # Whether the server has begun to answer the request under way, and whether it may be asked another.
        self.answered = False
        self.keeps = False

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.keeps = False
        self._writable.set()
        if self._finished:
            return
        if self._is_until_closed() and exc is None:
            self._complete()
            return
        why = f"the connection broke: {exc}" if exc else "the server closed the connection"
        self._fail(TransportError(why, sent=True))

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and not self._streams:
            self._transport.abort()  # an answer that nobody asked for
            return
        self.answered = True
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(TransportError("the server changed the protocol unasked", sent=True))
        except httptools.HttpParserError as error:
            self._fail(TransportError(f"the answer is no HTTP: {error}", sent=True))
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES:
            self._fail(TransportError(f"the head of the answer is larger than {MAX_HEAD_BYTES} bytes", sent=True))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._headers, self._in_head = {}, True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            return  # a word on the way: the answer is still to come
        self._in_head = False
        if self._streams and status < 300 and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(Answer(status, self._headers))
            self._waiting = None

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._size += len(body)
        if self._waiting is None:
            if self._size > _MUCH and not self._paused:
                self._paused = True
                self._transport.pause_reading()
            self._wake()

    def on_message_complete(self) -> None:
        if self._in_head:
            return  # of an interim answer
        self.keeps = self._parser.should_keep_alive() and not self.lost
        self._complete()

    # What the pool calls.

    async def ask(self, request: bytes, *, stream: bool = False) -> Answer:
        """Sends a request (not a HEAD) and returns its answer; of a stream, only how it begins, unless it is an error
        and so has an end."""
        self._waiting = self._loop.create_future()
        self._streams, self._finished, self._failure = stream, False, None
        self._head_bytes, self._in_head, self.answered, self.keeps = 0, True, False, False
        self._pieces.clear()
        self._size = 0
        waiting = self._waiting
        self._transport.write(request)
        if not self._writable.is_set():
            await self._writable.wait()
        return await waiting

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body of a stream as it comes."""
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

    def close(self) -> None:
        """Lets go of the connection, whatever is under way."""
        self.keeps = False
        self.lost = True
        self._transport.abort()

    def _is_until_closed(self) -> bool:
        """Whether the end of the connection is the end of the answer, as of one without a length."""
        known = self._headers
        return not self._in_head and "content-length" not in known and "transfer-encoding" not in known

    def _complete(self) -> None:
        self._finished = True
        if self._waiting is not None and not self._waiting.done():
            body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._waiting.set_result(Answer(self._parser.get_status_code(), self._headers, body))
            self._waiting = None
        self._wake()

    def _fail(self, error: TransportError) -> None:
        self._finished, self._failure = True, error
        self.keeps = False
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)
            self._waiting = None
        self._wake()
        self._transport.abort()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)
