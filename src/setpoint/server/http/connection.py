"""One connection: parses requests, has them answered one after the other, writes the answers.

Requests may be pipelined; they are answered in order. What a client may cost is bounded everywhere: the size of a
request, the requests that wait, the time each step takes, and the bytes that wait for a client that does not read.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, cast

import httptools

from setpoint.objects.errors import APIError, BadRequest, RequestEntityTooLarge
from setpoint.server.exchange import Frame, Peer, Request, Response, Stream
from setpoint.server.http.message import CONTINUE, LAST_CHUNK, head, refusal

if TYPE_CHECKING:
    from setpoint.server.http.listener import Listener


class Connection(asyncio.Protocol):
    """The edge's side of one socket. `deadline` is when the listener's sweep cuts it off, by the loop's own clock."""

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._limits = listener.limits
        self._loop = listener.loop
        self._parser = httptools.HttpRequestParser(self)
        self._peer = Peer()
        self.transport: asyncio.Transport | None = None
        self.deadline = self._loop.time() + self._limits.request_seconds
        # The request being read.
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_size = 0
        self._body: list[bytes] = []
        self._body_size = 0
        # Requests that are read and not yet answered; the first of them is with the handler.
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._refused = False
        self._closing = False
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = asyncio.Event()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._peer = self._listener.peer(transport)
        self._listener.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.connections.discard(self)
        self._gone.set()
        self._writable.set()
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(BadRequest("no other protocol is spoken on this path: send the request without Upgrade"))
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, APIError) else BadRequest("malformed HTTP request"))
        except httptools.HttpParserError as error:
            self._refuse(BadRequest(f"malformed HTTP request: {error}"))

    def pause_writing(self) -> None:
        self._writable.clear()
        self.deadline = self._loop.time() + self._limits.stalled_seconds

    def resume_writing(self) -> None:
        self._writable.set()
        self._rest()

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._head_size = b"", {}, 0
        self._body, self._body_size = [], 0
        if self._task is None:
            self.deadline = self._loop.time() + self._limits.request_seconds

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._grow(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow(len(name) + len(value))
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        held = self._headers.get(key)
        self._headers[key] = text if held is None else f"{held}, {text}"

    def _grow(self, size: int) -> None:
        self._head_size += size
        if self._head_size > self._limits.head_bytes:
            raise BadRequest(f"the request line and headers are larger than {self._limits.head_bytes} bytes")

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue" and not self._waiting and self.transport:
            self.transport.write(CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        if self._body_size > self._limits.body_bytes:
            raise RequestEntityTooLarge(f"Request entity too large: limit is {self._limits.body_bytes}")
        self._body.append(body)

    def on_message_complete(self) -> None:
        path, _, query = self._url.decode("latin-1").partition("?")
        method = self._parser.get_method().decode("ascii")
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        request = Request(method, path, query, self._headers, body, self._peer)
        self._waiting.append((request, self._parser.should_keep_alive()))
        if self._task is None:
            self._task = self._loop.create_task(self._answer_all())
        elif len(self._waiting) >= self._limits.pipelined and self.transport:
            self.transport.pause_reading()

    # Answering.

    async def _answer_all(self) -> None:
        """Answers what waits, in order; ends when nothing does."""
        try:
            while self._waiting:
                self.deadline = float("inf")
                request, keep_alive = self._waiting[0]
                response = await self._listener.handler(request)
                keep_alive = keep_alive and not self._closing
                await self._send(request.method, response, keep_alive)
                if not self._waiting:
                    return  # the connection was lost
                self._waiting.popleft()
                if not keep_alive:
                    self._waiting.clear()
                    self.close()
                elif self.transport and not self.transport.is_reading():
                    self.transport.resume_reading()
        finally:
            self._task = None
            self._rest()

    def _rest(self) -> None:
        if self._task is None:
            self.deadline = self._loop.time() + self._limits.idle_seconds

    async def _send(self, method: str, response: Response, keep_alive: bool) -> None:
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        date = self._listener.date_line()
        body = response.body
        if isinstance(body, bytes):
            top = head(response, date, len(body), keep_alive)
            transport.write(top if method == "HEAD" else top + body)
        elif isinstance(body, list):
            transport.write(head(response, date, sum(len(part) for part in body), keep_alive))
            if method != "HEAD":
                transport.writelines(body)
        else:
            transport.write(head(response, date, None, keep_alive))
            if method != "HEAD":
                await self._stream(body)
        if not self._writable.is_set():
            await self._writable.wait()

    async def _stream(self, stream: Stream) -> None:
        await stream.run(self)
        if self.transport and not self.transport.is_closing():
            self.transport.write(LAST_CHUNK)

    # What a stream sees: `exchange.Sink`.

    def write(self, frame: Frame) -> bool:
        transport = self.transport
        if transport is None or transport.is_closing():
            return False
        transport.write(frame.chunk)
        if transport.get_write_buffer_size() > self._limits.stream_bytes:
            transport.abort()
            return False
        return True

    @property
    def closed(self) -> bool:
        return self._closing or self.transport is None or self.transport.is_closing()

    async def wait_closed(self) -> None:
        await self._gone.wait()

    # Ending.

    def _refuse(self, error: APIError) -> None:
        """Answers a request that cannot be read, and ends the connection: where the next one begins is not known."""
        self._refused = True
        self._closing = True
        if self._task is None and self.transport and not self.transport.is_closing():
            response = refusal(error)
            assert isinstance(response.body, bytes)
            top = head(response, self._listener.date_line(), len(response.body), False)
            self.transport.write(top + response.body)
            self.close()

    def shut_down(self) -> None:
        """Finishes the request at hand, tells a stream to end, and takes no further ones."""
        self._closing = True
        self._gone.set()
        if self._task is None:
            self.close()

    def close(self) -> None:
        if self.transport:
            self.transport.close()

    def abort(self) -> None:
        if self.transport:
            self.transport.abort()
