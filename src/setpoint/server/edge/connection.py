"""One connection: passes the requests that `request_reader.py` reads to the handler, one after the other, and writes
the responses.

Requests may be pipelined; they are answered in order. The cost of a client is limited everywhere: the size of a
request, the number of waiting requests, the time of each step, and the unsent bytes for a client that does not read.

A running handler is never cancelled, even if the client has disconnected: its write is completed. A stream is
cancelled.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from setpoint.client.request_priority import RequestPriority
from setpoint.objects.errors import APIError, InternalError, Timeout
from setpoint.server.edge import websocket
from setpoint.server.edge.http_response import (
    CHUNKED,
    CLOSE,
    CONTINUE,
    KEEP_ALIVE,
    LAST_CHUNK,
    UNTIL_CLOSED,
    head,
    length,
    refusal,
    start,
)
from setpoint.server.edge.limits import PIECE_BYTES, Limits
from setpoint.server.edge.request_head import Read
from setpoint.server.edge.request_reader import RequestReader
from setpoint.server.edge.stream_sink import StreamSink
from setpoint.server.handshake import PROTOCOL, Offer, offered
from setpoint.server.message import Peer, Request, RequestHandler, Response, Seat, Stream
from setpoint.server.verbs.read_fast_path import MOMENT, Repeat

if TYPE_CHECKING:
    from setpoint.client.http.frames import Frames

_NEVER = float("inf")
_WHOLE = (bytes, list)
_WRITES = frozenset(("POST", "PUT", "PATCH"))
# The maximum number of collections per connection whose reads have a fast path.
_MAX_READS = 64
# Copying a smaller body costs less than a second write.
_LARGE = 16 << 10
_new = tuple.__new__  # creates a named tuple in half the time
_CRASHED = "internal error: see the log of the server"
_LATE = "request did not complete within the allotted timeout"

_log = logging.getLogger(__name__)


class ConnectionOwner(Protocol):
    """The listener that accepted a connection."""

    handler: RequestHandler
    repeat: Callable[[Request], Awaitable[Repeat | None]] | None
    priority: RequestPriority | None
    limits: Limits
    loop: asyncio.AbstractEventLoop

    def peer(self, transport: asyncio.BaseTransport) -> Peer: ...

    def joined(self, connection: "ServerConnection") -> None: ...

    def left(self, connection: "ServerConnection") -> None: ...

    def date_line(self) -> str: ...


class ServerConnection(asyncio.Protocol):
    """The server's side of one socket. `deadline` is the time, on the loop's clock, at which the listener's sweep
    checks the connection."""

    # Slots are faster than a dictionary for so many attributes.
    __slots__ = (
        "_busy",
        "_current_request",
        "_disconnected",
        "_ending",
        "_ignores_input",
        "_is_closed",
        "_is_reading_paused",
        "_limits",
        "_listener",
        "_loop",
        "_lost",
        "_offer",
        "_peer",
        "_pipeline",
        "_pipeline_bytes",
        "_reader",
        "_seat",
        "_sink",
        "_streaming",
        "_task",
        "_transport",
        "_unsent",
        "_unwritten",
        "_wake",
        "_writable",
        "deadline",
    )

    def __init__(self, listener: ConnectionOwner) -> None:
        self._listener = listener
        self._limits = listener.limits
        self._loop = listener.loop
        self._reader = RequestReader(self, listener.limits)
        self._peer = Peer()
        self._transport: asyncio.Transport
        self.deadline = self._loop.time() + self._limits.request_seconds
        # The pending requests, or the errors of unreadable ones, each with: keep the connection alive, and HTTP/1.1.
        self._pipeline: deque[tuple[Request | APIError, bool, bool]] = deque()
        self._pipeline_bytes = 0
        self._is_reading_paused = False
        # The task that answers all requests until the end of the connection; the future that it waits for while there
        # are none; and True while a request is being answered.
        self._task: asyncio.Task[None] | None = None
        self._wake: asyncio.Future[None] | None = None
        self._busy = False
        self._streaming = False
        # A deaf connection reads no more; an ending one answers the requests that have been read.
        self._ignores_input = False
        self._ending = False
        self._is_closed = False
        self._lost = False
        self._disconnected = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._unsent = 0
        # The request being answered, the seat to release when its response is sent, and the number of bytes of the
        # response that are not yet passed to the transport.
        self._current_request: Request | None = None
        self._seat: Seat | None = None
        self._unwritten = 0
        # The WebSocket handshake that the client offers, and the destination of a stream.
        self._offer: Offer | None = None
        self._sink: StreamSink | None = None

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._transport.set_write_buffer_limits(high=PIECE_BYTES)
        self._peer = self._listener.peer(transport)
        self._listener.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = self._ignores_input = True
        self._pipeline.clear()
        self._disconnected.set()
        self._writable.set()
        if self._sink is not None:
            self._sink.count(0)
        if self._streaming and self._task is not None:
            self._task.cancel()
        elif self._wake is not None:
            self._wake.cancel()
        self._reader.close()  # as the task, the reader refers back to the connection
        self._listener.left(self)

    def data_received(self, data: bytes) -> None:
        if self._ignores_input:
            if self._sink is not None:
                self._sink.receive(data)
            return
        reader = self._reader
        head = reader.head
        if reader.is_reading or (found := head.repeated(data)) is None:
            reader.feed(data)
        elif not (head.reads and self._answer_read(*found, head.headers)):
            self.request_read(*found, head.headers, b"", True, True)

    def eof_received(self) -> bool:
        """Handles the end of the client's data. Pending requests are still answered, except streams: a client that
        disconnects looks like this at first, and no client watches over a half-closed connection."""
        over_tls = self._transport.get_extra_info("sslcontext") is not None  # asyncio's transport loses this on close
        self.end()
        return self._busy and not self._streaming and not over_tls

    def pause_writing(self) -> None:
        self._writable.clear()
        self._unsent = self._backlog()
        self.deadline = self._loop.time() + self._limits.stalled_seconds

    def resume_writing(self) -> None:
        self._writable.set()
        if self._sink is not None:
            self._sink.count(0)
        if self._busy:
            self.deadline = _NEVER
        else:
            self._await_request()

    # Called by the reader of requests.

    def request_begun(self) -> None:
        if not self._busy:
            self.deadline = self._loop.time() + self._limits.request_seconds

    def continue_expected(self) -> None:
        if not self._busy:
            self._transport.write(CONTINUE)

    def upgrade_read(self) -> None:
        # The server need not accept an upgrade to another protocol: unless the request is for a stream, the request is
        # answered normally. Later data on the connection is not for the reader of requests.
        self._ignores_input = self._ending = True
        if self._offer is not None:
            self._sink = self._new_sink(websocket.frames())

    def unreadable(self, error: APIError) -> None:
        """Answers an unreadable request, in order. Reading stops, because the start of the next request is unknown."""
        self._ignores_input = True
        self._enqueue(error, False, True)

    def request_read(
        self, method: str, target: str, headers: dict[str, str], body: bytes, keep_alive: bool, modern: bool
    ) -> None:
        if "upgrade" in headers:
            offer = self._offer = offered(headers)
            if offer is not None and offer.token and "authorization" not in headers:
                headers["authorization"] = f"Bearer {offer.token}"
        path, _, query = (target if target.startswith("/") else _origin_form(target)).partition("?")
        had_turns = self._busy
        self._pipeline_bytes += len(body)
        self._enqueue(_new(Request, (method, path, query, headers, body, self._peer, self)), keep_alive, modern)
        if had_turns and (
            len(self._pipeline) >= self._limits.pipelined or self._pipeline_bytes > self._limits.pipelined_bytes
        ):
            self._is_reading_paused = True
            self._transport.pause_reading()

    # Answering.

    def _answer_read(self, method: str, target: str, headers: dict[str, str]) -> bool:
        """Answers a repeated read through the fast path, possibly later. Returns False if the request needs the
        pipeline."""
        collection, _, name = target.rpartition("/")
        found = self._reader.head.reads.get(collection)
        now = self._loop.time()
        if found is None or self._busy or method != "GET" or now > found.until or not self._writable.is_set():
            return False
        if found.repeat.when_fresh is None:
            return self._send_read(found, name, now)
        self._busy = True
        self.deadline = now + self._limits.answer_seconds
        found.repeat.when_fresh(partial(self._answer_fresh, found, target, headers))
        return True

    def _answer_fresh(self, found: Read, target: str, headers: dict[str, str], is_fresh: bool) -> None:
        """Answers a repeated read once the state in memory is known to be the newest. A read of an older state goes
        through the pipeline."""
        if self._lost or self._transport.is_closing():
            return
        name = target.rpartition("/")[2]
        if not is_fresh or not self._writable.is_set() or not self._send_read(found, name, self._loop.time()):
            path, _, query = target.partition("?")
            self._pipeline.appendleft((_new(Request, ("GET", path, query, headers, b"", self._peer, self)), True, True))
        if self._pipeline:
            self._begin_answering()
        else:
            self._busy = False
            if self._ending:
                self._finish()

    def _send_read(self, found: Read, name: str, now: float) -> bool:
        """Sends an object from memory. Returns False if the request needs the pipeline."""
        body = found.repeat.read(name)
        if body is None:
            return False
        if self._listener.priority is not None:
            self._listener.priority.answered()
        audit_id = found.repeat.audit_id()
        top = f"{found.start}{self._listener.date_line()}Audit-Id: {audit_id}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(top.encode("ascii") + body)
        self.deadline = now + self._limits.idle_seconds
        return True

    async def _prepare_fast_read(self, request: Request, response: Response) -> None:
        """Prepares the fast path for further reads of the same collection, if allowed."""
        collection = request.path.rpartition("/")[0]
        head, now = self._reader.head, self._loop.time()
        known = head.reads.get(collection)
        if known is not None and now <= known.until:
            return
        repeat = (
            await self._listener.repeat(request._replace(outlet=None)) if self._listener.repeat is not None else None
        )
        if repeat is None:
            head.reads.pop(collection, None)
        elif len(head.reads) < _MAX_READS or collection in head.reads:
            head.reads[collection] = Read(repeat, now + MOMENT, start(response))

    def _enqueue(self, request: Request | APIError, keep_alive: bool, modern: bool) -> None:
        self._pipeline.append((request, keep_alive, modern))
        if self._listener.priority is not None:
            self._listener.priority.received()
        if not self._busy:
            self._begin_answering()

    def _begin_answering(self) -> None:
        """Continues the task that answers the pending requests."""
        self._busy = True
        if self._wake is not None:
            self._wake.set_result(None)
        else:
            self._task = self._loop.create_task(self._answer())

    async def _answer(self) -> None:
        """Answers all requests until the end of the connection. One task does this, because a task per request would
        cost as much as parsing the request."""
        try:
            await self._answer_all()
        finally:
            self._release_seat()
            # The task and the connection refer to each other: break the cycle, so that neither waits for the garbage
            # collector.
            self._task = self._wake = None

    async def _answer_all(self) -> None:
        """Answers the pending requests in order, and then waits for more."""
        pipeline, handler = self._pipeline, self._listener.handler
        while not self._transport.is_closing():
            if not pipeline:
                self._busy = False
                if self._ending:
                    return self._finish()
                self._await_request()
                self._wake = self._loop.create_future()
                await self._wake
                continue
            request, keep_alive, modern = pipeline.popleft()
            self.deadline = self._loop.time() + self._limits.answer_seconds
            if isinstance(request, APIError):
                self._write_response("", refusal(request), CLOSE)
                return self._finish(linger=True)
            self._pipeline_bytes -= len(request.body)
            if request.method in _WRITES:
                self.deadline = self._loop.time() + self._limits.write_seconds
            self._current_request = request
            try:
                response = await handler(request)
            except Exception:
                _log.exception("%s %s failed", request.method, request.path)
                response = refusal(InternalError.of(_CRASHED))
            if self._listener.priority is not None:
                self._listener.priority.answered()
            if self._transport.is_closing():
                return None
            keep_alive = keep_alive and not (self._ending and not pipeline)
            if response.status == 200 and request.method == "GET" and request.headers is self._reader.head.headers:
                await self._prepare_fast_read(request, response)
            if not isinstance(response.body, _WHOLE):
                keep_alive = keep_alive and modern
                await self._stream(request.method, response, response.body, CLOSE if not keep_alive else "", modern)
            else:
                connection = CLOSE if not keep_alive else "" if modern else KEEP_ALIVE
                if self._seat is None and len(response.body) <= PIECE_BYTES and isinstance(response.body, bytes):
                    self._write_response(request.method, response, connection)
                else:
                    await self._send(request.method, response, connection)
            if not self._writable.is_set():
                await self._writable.wait()
            self._release_seat()
            if not keep_alive or self._transport.is_closing():
                return self._finish()
            if self._is_reading_paused:
                self._is_reading_paused = False
                self._transport.resume_reading()
        return None

    def _write_response(self, method: str, response: Response, connection: str) -> None:
        body = response.body
        if isinstance(body, bytes):
            top = head(response, self._listener.date_line(), length(response, len(body)), connection)
            if method == "HEAD":
                self._transport.write(top)
            elif len(body) < _LARGE:
                self._transport.write(top + body)
            else:
                self._transport.writelines((top, body))
        elif isinstance(body, list):
            framing = length(response, sum(map(len, body)))
            self._transport.write(head(response, self._listener.date_line(), framing, connection))
            if method != "HEAD":
                self._transport.writelines(body)

    async def _send(self, method: str, response: Response, connection: str) -> None:
        """Writes a possibly large response in pieces, each after the client has read most of the previous ones."""
        body = response.body
        whole = [body] if isinstance(body, bytes) else body if isinstance(body, list) else []
        transport, seat = self._transport, self._seat
        self._unwritten = size = sum(map(len, whole))
        self.deadline = _NEVER
        try:
            transport.write(head(response, self._listener.date_line(), length(response, size), connection))
            if method == "HEAD":
                return
            is_first = True
            for piece in _pieces(whole):
                if is_first:
                    is_first = False
                elif seat is not None:
                    await seat.pause(len(piece))
                else:
                    await asyncio.sleep(0)
                if not self._writable.is_set():
                    await self._writable.wait()
                if transport.is_closing():
                    return
                self._unwritten -= len(piece)
                transport.write(piece)
                if seat is not None and self._writable.is_set():
                    seat.sent(size - self._unwritten)
        finally:
            self._unwritten = 0

    def _backlog(self) -> int:
        """Returns the number of bytes that wait for the client."""
        return self._unwritten + self._transport.get_write_buffer_size()

    async def _stream(self, method: str, response: Response, stream: Stream, connection: str, modern: bool) -> None:
        offer, sink = self._offer, self._sink
        is_websocket = offer is not None and sink is not None
        if offer is not None and sink is not None:
            chosen = dict(response.headers).get(PROTOCOL, offer.protocols[0] if offer.protocols else "")
            self._transport.write(websocket.accepted(offer, chosen))
        else:
            framing = CHUNKED if modern else UNTIL_CLOSED
            self._transport.write(head(response, self._listener.date_line(), framing, connection))
        if method == "HEAD":
            return
        if sink is None:
            sink = self._sink = self._new_sink()
        self._streaming = True
        sink.open(chunked=modern and not is_websocket, delimited=response.content_type.endswith(";stream=watch"))
        if self._writable.is_set():
            self.deadline = _NEVER
        try:
            await stream.run(sink)
        except Exception:
            _log.exception("a stream failed")
            self._transport.abort()  # otherwise the client would take the incomplete body for the whole
        finally:
            self._streaming = False
            sink.close()
        if modern and not self._transport.is_closing():
            if is_websocket:
                sink.end_messages()
            else:
                self._sink = None
                self._transport.write(LAST_CHUNK)

    def _new_sink(self, frames: "Frames | None" = None) -> StreamSink:
        return StreamSink(self._transport, self._limits, self._disconnected, self._writable, frames)

    def _await_request(self) -> None:
        """Waits for the next request, or for the rest of the current one."""
        seconds = self._limits.request_seconds if self._reader.is_reading else self._limits.idle_seconds
        self.deadline = self._loop.time() + seconds
        if self._reader.is_expecting:
            self._transport.write(CONTINUE)

    # The interface for requests: `Outlet`.

    @property
    def is_disconnected(self) -> bool:
        return self._lost

    def sending(self, request: Request, seat: Seat) -> bool:
        if request is not self._current_request or self._seat is not None:
            return False
        self._seat = seat
        return True

    def _release_seat(self) -> None:
        """Releases the seat when the response is sent or abandoned."""
        self._current_request = None
        if self._seat is not None:
            self._seat.release()
            self._seat = None

    # Closing.

    def end(self) -> None:
        """Answers the requests that have been read, ends a stream, and then closes the connection."""
        self._ending = True
        self._disconnected.set()
        if not self._busy and not (self._reader.is_reading and not self._ignores_input):
            self._close()

    def _finish(self, *, linger: bool = False) -> None:
        self._ignores_input = True
        self._busy = False
        self._pipeline.clear()
        if not linger or self._transport.is_closing():
            self._close()
            return
        # If the server closed while the client still sends, the client's system would discard the response.
        self.deadline = _NEVER
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._loop.call_later(self._limits.linger_seconds, self._close)

    def _close(self) -> None:
        """Closes after the client has read all written bytes; the sweep enforces a time limit."""
        if not self._lost:
            self.deadline = self._loop.time() + self._limits.stalled_seconds
            self._is_closed = True
            self._transport.close()

    def skip_farewell(self) -> None:
        """Aborts a closed connection whose bytes are all sent: only the client's part of the TLS shutdown is missing,
        which clients with idle connections send late or never."""
        if self._is_closed and not self._lost and not self._backlog():
            self._transport.abort()

    def sweep(self, now: float) -> None:
        """Ends the connection or the request if the deadline has passed."""
        if now < self.deadline:
            return
        if self._transport.is_closing():
            self._transport.abort()
        elif not self._writable.is_set():
            unsent = self._backlog()
            if unsent < self._unsent:  # slow, but reading
                self._unsent = unsent
                self.deadline = now + self._limits.stalled_seconds
            else:
                self._transport.abort()
        elif self._busy and not self._streaming:
            self._write_response("", refusal(Timeout.of(_LATE)), CLOSE)
            self._finish()
        else:
            self._transport.abort()

    def refuse(self, error: APIError) -> None:
        """Answers with an error before reading a request, and closes the connection."""
        self._write_response("", refusal(error), CLOSE)
        self._finish()

    def abort(self) -> None:
        self._transport.abort()


def _pieces(body: list[bytes]) -> Iterator[bytes | memoryview]:
    """Yields a body in pieces that each take the loop little time. Empties the list, so that sent parts free their
    memory."""
    body.reverse()
    while body:
        part = body.pop()
        if len(part) <= PIECE_BYTES:
            yield part
        else:
            view = memoryview(part)
            yield from (view[start : start + PIECE_BYTES] for start in range(0, len(part), PIECE_BYTES))


def _origin_form(url: str) -> str:
    """Returns the path and query of a target in absolute form, as sent to proxies."""
    _, scheme, rest = url.partition("://")
    _, slash, path = rest.partition("/")
    return f"/{path}" if scheme and slash else "/" if scheme else url
