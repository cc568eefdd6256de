"""One connection: parses requests, has them answered one after the other, writes the answers.

Requests may be pipelined; they are answered in order. What a client may cost is bounded everywhere: the size of a
request, the requests that wait, the time each step takes, and the bytes that wait for a client that does not read.

A handler that has begun is never cut off, even if the client has gone: what it writes, it finishes. A stream is.
"""

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, cast

import httptools

from setpoint.objects.errors import APIError, BadRequest, InternalError, RequestEntityTooLarge, Timeout
from setpoint.server.exchange import Frame, Peer, Request, Response, Stream
from setpoint.server.http.message import (
    CHUNKED,
    CLOSE,
    CONTINUE,
    KEEP_ALIVE,
    LAST_CHUNK,
    UNTIL_CLOSED,
    head,
    length,
    refusal,
)

if TYPE_CHECKING:
    from setpoint.server.http.listener import Listener

_NEVER = float("inf")
_CRASHED = "the server failed at this request; its log says why"
_LATE = "request did not complete within the allotted timeout"

_log = logging.getLogger(__name__)


class Connection(asyncio.Protocol):
    """The edge's side of one socket. `deadline` is when the listener's sweep looks into it, by the loop's own clock."""

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._limits = listener.limits
        self._loop = listener.loop
        self._parser = httptools.HttpRequestParser(self)
        self._peer = Peer()
        self._transport: asyncio.Transport
        self.deadline = self._loop.time() + self._limits.request_seconds
        # The request being read, and how many bytes came in since the parser last had something to tell of it.
        self._reading = False
        self._in_head = False
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_size = 0
        self._body: list[bytes] = []
        self._body_size = 0
        self._expecting = False
        self._untold = 0
        # What is still to be answered: a request, or the fault of one that could not be read; and whether the client
        # will keep the connection, and knows HTTP/1.1.
        self._turns: deque[tuple[Request | APIError, bool, bool]] = deque()
        self._turns_bytes = 0
        self._held_back = False
        # Answers the turns, one after the other; None while there are none.
        self._task: asyncio.Task[None] | None = None
        self._streaming = False
        self._chunked = True
        # Nothing more is read from a deaf connection; an ending one answers what it has read.
        self._deaf = False
        self._ending = False
        self._lost = False
        self._gone = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._unsent = 0

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._peer = self._listener.peer(transport)
        self._listener.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = self._deaf = True
        self._turns.clear()
        self._gone.set()
        self._writable.set()
        if self._task is not None and self._streaming:
            self._task.cancel()
        self._listener.left(self)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._untold += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Nobody has to accept the offer of another protocol: the request is answered as it stands. But what follows
            # it on the connection is not for this parser.
            self._deaf = self._ending = True
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, APIError) else BadRequest("malformed HTTP request"))
        except httptools.HttpParserError as error:
            self._refuse(BadRequest(f"malformed HTTP request: {error}"))
        else:
            # The parser keeps half a header to itself.
            if self._untold > self._limits.head_bytes:
                self._refuse(self._too_long())

    def eof_received(self) -> bool:
        """The client sends no more. What it has asked for is still answered, but for a stream: nobody watches with half
        a connection, and this is how a client that went away looks at first."""
        self.end()
        over_tls = self._transport.get_extra_info("sslcontext") is not None
        return self._task is not None and not self._streaming and not over_tls

    def pause_writing(self) -> None:
        self._writable.clear()
        self._unsent = self._transport.get_write_buffer_size()
        self.deadline = self._loop.time() + self._limits.stalled_seconds

    def resume_writing(self) -> None:
        self._writable.set()
        if self._task is None:
            self._rest()
        else:
            self.deadline = _NEVER

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._head_size = b"", {}, 0
        self._body, self._body_size = [], 0
        self._reading = self._in_head = True
        if self._task is None:
            self.deadline = self._loop.time() + self._limits.request_seconds

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._grow(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow(len(name) + len(value))
        if not self._in_head:
            return  # a trailer: it comes too late to mean anything
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers = self._headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def _grow(self, size: int) -> None:
        self._head_size += size
        if self._head_size > self._limits.head_bytes:
            raise self._too_long()

    def _too_long(self) -> BadRequest:
        return BadRequest(f"the request line and headers are larger than {self._limits.head_bytes} bytes")

    def on_headers_complete(self) -> None:
        self._untold = 0
        self._in_head = False
        headers = self._headers
        if "host" not in headers and self._parser.get_http_version() == "1.1":
            raise BadRequest("missing required Host header")
        if int(headers.get("content-length", 0)) > self._limits.body_bytes:
            raise RequestEntityTooLarge.body(self._limits.body_bytes)
        if "expect" in headers and headers["expect"].lower() == "100-continue":
            self._expecting = True
            if self._task is None:
                self._transport.write(CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._untold = 0
        self._body_size += len(body)
        if self._body_size > self._limits.body_bytes:
            raise RequestEntityTooLarge.body(self._limits.body_bytes)
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._untold = 0
        self._reading = self._expecting = False
        parser = self._parser
        url = self._url.decode("latin-1")
        path, _, query = (url if url.startswith("/") else _origin_form(url)).partition("?")
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        request = Request(parser.get_method().decode("ascii"), path, query, self._headers, body, self._peer)
        self._turns.append((request, parser.should_keep_alive(), parser.get_http_version() == "1.1"))
        self._turns_bytes += len(body)
        if self._task is None:
            self._task = self._loop.create_task(self._answer_all())
        elif len(self._turns) >= self._limits.pipelined or self._turns_bytes > self._limits.pipelined_bytes:
            self._held_back = True
            self._transport.pause_reading()

    # Answering.

    async def _answer_all(self) -> None:
        """Answers what waits, in order; ends when nothing does."""
        turns = self._turns
        try:
            while turns:
                asked, keep_alive, modern = turns.popleft()
                self.deadline = self._loop.time() + self._limits.answer_seconds
                if isinstance(asked, APIError):
                    response, method = refusal(asked), ""
                else:
                    self._turns_bytes -= len(asked.body)
                    response, method = await self._response(asked), asked.method
                if self._lost or self._transport.is_closing():
                    return
                keep_alive = keep_alive and not (self._ending and not turns)
                if await self._send(method, response, keep_alive, modern):
                    self._finish(linger=isinstance(asked, APIError))
                    return
                if self._held_back:
                    self._held_back = False
                    self._transport.resume_reading()
        finally:
            self._task = None
        if self._ending:
            self._finish()
        else:
            self._rest()

    async def _response(self, request: Request) -> Response:
        try:
            return await self._listener.handler(request)
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            return refusal(InternalError.of(_CRASHED))

    async def _send(self, method: str, response: Response, keep_alive: bool, modern: bool) -> bool:
        """Writes an answer, and waits until the client has taken most of it. True: it was the last one."""
        transport, body, date = self._transport, response.body, self._listener.date_line()
        connection = CLOSE if not keep_alive else "" if modern else KEEP_ALIVE
        if isinstance(body, bytes):
            top = head(response, date, length(response, len(body)), connection)
            transport.write(top if method == "HEAD" else top + body)
        elif isinstance(body, list):
            transport.write(head(response, date, length(response, sum(map(len, body))), connection))
            if method != "HEAD":
                transport.writelines(body)
        elif modern:
            transport.write(head(response, date, CHUNKED, connection))
            if method != "HEAD":
                await self._stream(body, chunked=True)
        else:
            keep_alive = False
            transport.write(head(response, date, UNTIL_CLOSED, CLOSE))
            if method != "HEAD":
                await self._stream(body, chunked=False)
        if not self._writable.is_set():
            await self._writable.wait()
        return not keep_alive

    async def _stream(self, stream: Stream, *, chunked: bool) -> None:
        self._streaming, self._chunked = True, chunked
        if self._writable.is_set():
            self.deadline = _NEVER
        try:
            await stream.run(self)
        except Exception:
            _log.exception("a stream failed")
            self._transport.abort()  # lest the client takes what it has for the whole
        finally:
            self._streaming = False
        if chunked and not self._transport.is_closing():
            self._transport.write(LAST_CHUNK)

    def _rest(self) -> None:
        """Waits for the next request, or the rest of it."""
        if self._lost:
            return
        seconds = self._limits.request_seconds if self._reading else self._limits.idle_seconds
        self.deadline = self._loop.time() + seconds
        if self._expecting:
            self._transport.write(CONTINUE)

    # What a stream sees: `exchange.Sink`.

    def write(self, frame: Frame) -> bool:
        transport = self._transport
        if transport.is_closing():
            return False
        transport.write(frame.chunk if self._chunked else frame.payload)
        if transport.get_write_buffer_size() > self._limits.stream_bytes:
            transport.abort()
            return False
        return True

    async def drain(self) -> bool:
        if not self._writable.is_set():
            await self._writable.wait()
        return not self.closed

    @property
    def closed(self) -> bool:
        return self._gone.is_set() or self._transport.is_closing()

    async def wait_closed(self) -> None:
        await self._gone.wait()

    # Ending.

    def _refuse(self, error: APIError) -> None:
        """Answers a request that cannot be read, in its turn. Where the next one would begin is not known."""
        self._deaf = self._ending = True
        self._turns.append((error, False, True))
        if self._task is None:
            self._task = self._loop.create_task(self._answer_all())

    def end(self) -> None:
        """Answers what has been read, or begun to be; tells a stream to end; then closes."""
        self._ending = True
        self._gone.set()
        if self._task is None and not (self._reading and not self._deaf):
            self._transport.close()

    def _finish(self, *, linger: bool = False) -> None:
        self._deaf = True
        self._turns.clear()
        if not linger:
            self._transport.close()
            return
        # To close while the client still sends would make its side drop the answer unread.
        self.deadline = _NEVER
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._loop.call_later(self._limits.linger_seconds, self._transport.close)

    def sweep(self, now: float) -> None:
        """Ends what takes too long."""
        if now < self.deadline:
            return
        if not self._writable.is_set():
            unsent = self._transport.get_write_buffer_size()
            if unsent < self._unsent:  # slow, but it reads
                self._unsent = unsent
                self.deadline = now + self._limits.stalled_seconds
                return
        elif self._task is not None and not self._streaming and not self._lost:
            response = refusal(Timeout.of(_LATE))
            assert isinstance(response.body, bytes)
            date = self._listener.date_line()
            self._transport.write(head(response, date, length(response, len(response.body)), CLOSE) + response.body)
            self._finish()
            return
        self._transport.abort()

    def abort(self) -> None:
        self._transport.abort()


def _origin_form(url: str) -> str:
    """The path and query of a target that names its server too, as one sent to a proxy does."""
    _, scheme, rest = url.partition("://")
    _, slash, path = rest.partition("/")
    return f"/{path}" if scheme and slash else "/" if scheme else url
