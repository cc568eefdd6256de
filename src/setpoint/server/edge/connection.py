"""One connection: parses requests, passes them to the handler one after the other, and writes the responses.

Requests may be pipelined; they are answered in order. The cost of a client is limited everywhere: the size of a
request, the number of waiting requests, the time of each step, and the unsent bytes for a client that does not read.

A running handler is never cancelled, even if the client has disconnected: its write is completed. A stream is
cancelled.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Protocol, cast

import httptools

from setpoint.objects.errors import APIError, BadRequest, InternalError, RequestEntityTooLarge, Timeout
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
from setpoint.server.edge.limits import Limits
from setpoint.server.edge.request_head import (
    METHODS,
    NAMES,
    STAND_IN,
    Envelope,
    Head,
    Read,
    may_repeat,
    unknown_method,
)
from setpoint.server.message import LISTED, Counter, Frame, Peer, Request, RequestHandler, Response, Seat, Stream
from setpoint.server.verbs.read_fast_path import MOMENT, Repeat

if TYPE_CHECKING:
    from setpoint.client.http.frames import Frames

_NEVER = float("inf")
_WHOLE = (bytes, list)
_WRITES = frozenset(("POST", "PUT", "PATCH"))
_MAX_REPEATS = 256
# The maximum number of collections per connection whose reads have a fast path.
_MAX_READS = 64
# Copying a smaller body costs less than a second write.
_LARGE = 16 << 10
# A larger body is written in pieces of this size, so that encryption does not block the loop. As many bytes may be
# buffered in the transport before writing pauses.
_PIECE = 64 << 10
_new = tuple.__new__  # creates a named tuple in half the time
_CRASHED = "internal error: see the log of the server"
_LATE = "request did not complete within the allotted timeout"

_log = logging.getLogger(__name__)


class ConnectionOwner(Protocol):
    """The listener that accepted a connection."""

    handler: RequestHandler
    repeat: Callable[[Request], Awaitable[Repeat | None]] | None
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
        "_asked",
        "_body",
        "_busy",
        "_chunked",
        "_completed",
        "_counted",
        "_counter",
        "_deaf",
        "_delimited",
        "_ending",
        "_envelope",
        "_expecting",
        "_frames",
        "_gone",
        "_head",
        "_headers",
        "_hears",
        "_held_back",
        "_in_head",
        "_limits",
        "_listener",
        "_loop",
        "_lost",
        "_method",
        "_offer",
        "_parser",
        "_peer",
        "_reading",
        "_repeatable",
        "_repeats",
        "_seat",
        "_streaming",
        "_task",
        "_transport",
        "_turns",
        "_turns_bytes",
        "_unsent",
        "_untold",
        "_unwritten",
        "_url",
        "_user",
        "_wake",
        "_writable",
        "deadline",
    )

    def __init__(self, listener: ConnectionOwner) -> None:
        self._listener = listener
        self._limits = listener.limits
        self._loop = listener.loop
        self._parser = httptools.HttpRequestParser(self)
        self._peer = Peer()
        self._transport: asyncio.Transport
        self.deadline = self._loop.time() + self._limits.request_seconds
        # The request being read, and the number of bytes received since the last callback of the parser.
        self._reading = False
        self._in_head = False
        # The method of the request, if the parser does not know it.
        self._method = ""
        self._url = b""
        self._headers: dict[str, str] = {}
        self._repeats = 0
        self._body: bytes | bytearray = b""
        self._expecting = False
        self._untold = 0
        # The head of the last request without a body, which may be repeated; the known header lines of requests with
        # one; and the number of requests that the parser found in the current data.
        self._head = Head()
        self._envelope = Envelope()
        self._completed = 0
        self._repeatable = False
        # The pending requests, or the errors of unreadable ones, each with: keep the connection alive, and HTTP/1.1.
        self._turns: deque[tuple[Request | APIError, bool, bool]] = deque()
        self._turns_bytes = 0
        self._held_back = False
        # The task that answers all requests until the end of the connection; the future that it waits for while there
        # are none; and True while a request is being answered.
        self._task: asyncio.Task[None] | None = None
        self._wake: asyncio.Future[None] | None = None
        self._busy = False
        self._streaming = False
        self._chunked = True
        # True for a stream of events that begin with their length; all others are lines.
        self._delimited = False
        # A deaf connection reads no more; an ending one answers the requests that have been read.
        self._deaf = False
        self._ending = False
        self._lost = False
        self._gone = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._unsent = 0
        # The request being answered, the seat to release when its response is sent, and the number of bytes of the
        # response that are not yet passed to the transport.
        self._asked: Request | None = None
        self._seat: Seat | None = None
        self._unwritten = 0
        # The counter of a stream's unsent bytes, the user they count for, and the number counted.
        self._counter: Counter | None = None
        self._user = ""
        self._counted = 0
        # The WebSocket handshake that the client offers and, once accepted, its frames.
        self._offer: websocket.Offer | None = None
        self._frames: Frames | None = None
        self._hears: Callable[[bytes], None] | None = None

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._transport.set_write_buffer_limits(high=_PIECE)
        self._peer = self._listener.peer(transport)
        self._listener.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = self._deaf = True
        self._turns.clear()
        self._gone.set()
        self._writable.set()
        self._count(0)
        if self._streaming and self._task is not None:
            self._task.cancel()
        elif self._wake is not None:
            self._wake.cancel()
        del self._parser  # as the task, the parser refers back to the connection
        self._listener.left(self)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            if self._frames is not None:
                self._hear(self._frames, data)
            return
        first, head = not self._reading, self._head
        if first and (found := head.repeated(data)) is not None:
            if not (head.reads and self._answer_read(*found)):
                self._take_request(*found, head.headers, b"", True, True)
            return
        if first and (sent := self._envelope.read(data)) is not None and len(sent.body) <= self._limits.body_bytes:
            self._take_request(*sent, True, True)
            return
        self._untold += len(data)
        self._completed = 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The server need not accept an upgrade to another protocol: unless the request is for a stream, the request
            # is answered normally. Later data on the connection is not for this parser.
            self._deaf = self._ending = True
            self._frames = websocket.frames() if self._offer is not None else None
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, APIError) else BadRequest("malformed HTTP request"))
        except httptools.HttpParserInvalidMethodError as error:
            method = unknown_method(data) if first and not self._completed and not self._method else ""
            if method:
                self._read_again(data, method)
            else:
                self._refuse(BadRequest(f"malformed HTTP request: {error}"))
        except httptools.HttpParserError as error:
            self._refuse(BadRequest(f"malformed HTTP request: {error}"))
        else:
            # The head is too long, or the parser buffers half a header or a chunk extension.
            if self._untold > self._limits.head_bytes:
                limit = self._limits.head_bytes
                self._refuse(BadRequest(f"the request line and headers are larger than {limit} bytes"))
            elif first and self._completed == 1 and not self._reading and self._repeatable:
                head.learn(data, self._headers)

    def _read_again(self, data: bytes, method: str) -> None:
        """Reads a request with a method that the parser does not know: the parser receives another one in its place.
        The request is answered as any other, after authentication."""
        self._method = method
        self._parser = httptools.HttpRequestParser(self)
        self._reading = False
        self._untold -= len(data)
        self.data_received(STAND_IN + data[len(method) :])

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
        self._count(0)
        if self._busy:
            self.deadline = _NEVER
        else:
            self._rest()

    # Called by the parser.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._repeats, self._body = b"", {}, 0, b""
        self._reading = self._in_head = True
        if not self._busy:
            self.deadline = self._loop.time() + self._limits.request_seconds

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
        self._untold = 0
        self._in_head = False
        headers = self._headers
        if "host" not in headers and self._parser.get_http_version() == "1.1":
            raise BadRequest("missing required Host header")
        if "content-length" in headers and int(headers["content-length"]) > self._limits.body_bytes:
            raise RequestEntityTooLarge.body(self._limits.body_bytes)
        if "expect" in headers and headers["expect"].lower() == "100-continue":
            self._expecting = True
            if not self._busy:
                self._transport.write(CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._untold = 0
        if not self._body:
            self._body = body
        elif isinstance(self._body, bytes):
            self._body = bytearray(self._body + body)
        else:
            self._body += body
        if len(self._body) > self._limits.body_bytes:
            raise RequestEntityTooLarge.body(self._limits.body_bytes)

    def on_message_complete(self) -> None:
        self._untold = 0
        self._reading = self._expecting = False
        parser, headers = self._parser, self._headers
        keep_alive, modern = parser.should_keep_alive(), parser.get_http_version() == "1.1"
        self._completed += 1
        self._repeatable = keep_alive and modern and may_repeat(headers) and "content-length" not in headers
        name = parser.get_method()
        method = self._method or METHODS.get(name) or name.decode("ascii")
        self._method = ""
        self._take_request(method, self._url.decode("latin-1"), headers, bytes(self._body), keep_alive, modern)

    def _take_request(
        self, method: str, target: str, headers: dict[str, str], body: bytes, keep_alive: bool, modern: bool
    ) -> None:
        if "upgrade" in headers:
            offer = self._offer = websocket.offered(headers)
            if offer is not None and offer.token and "authorization" not in headers:
                headers["authorization"] = f"Bearer {offer.token}"
        path, _, query = (target if target.startswith("/") else _origin_form(target)).partition("?")
        had_turns = self._busy
        self._turns_bytes += len(body)
        self._take_turn(_new(Request, (method, path, query, headers, body, self._peer, self)), keep_alive, modern)
        if had_turns and (
            len(self._turns) >= self._limits.pipelined or self._turns_bytes > self._limits.pipelined_bytes
        ):
            self._held_back = True
            self._transport.pause_reading()

    # Answering.

    def _answer_read(self, method: str, target: str) -> bool:
        """Answers a repeated read through the fast path. Returns False if the request needs the pipeline."""
        collection, _, name = target.rpartition("/")
        found = self._head.reads.get(collection)
        now = self._loop.time()
        if found is None or self._busy or method != "GET" or now > found.until or not self._writable.is_set():
            return False
        body = found.repeat.read(name)
        if body is None:
            return False
        audit_id = found.repeat.audit_id()
        top = f"{found.start}{self._listener.date_line()}Audit-Id: {audit_id}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(top.encode("ascii") + body)
        self.deadline = now + self._limits.idle_seconds
        return True

    async def _learn_read(self, asked: Request, response: Response) -> None:
        """Prepares the fast path for further reads of the same collection, if allowed."""
        collection = asked.path.rpartition("/")[0]
        head, now = self._head, self._loop.time()
        known = head.reads.get(collection)
        if known is not None and now <= known.until:
            return
        repeat = await self._listener.repeat(asked._replace(outlet=None)) if self._listener.repeat is not None else None
        if repeat is None:
            head.reads.pop(collection, None)
        elif len(head.reads) < _MAX_READS or collection in head.reads:
            head.reads[collection] = Read(repeat, now + MOMENT, start(response))

    def _take_turn(self, asked: Request | APIError, keep_alive: bool, modern: bool) -> None:
        self._turns.append((asked, keep_alive, modern))
        if self._busy:
            return
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
            self._leave_seat()
            # The task and the connection refer to each other: break the cycle, so that neither waits for the garbage
            # collector.
            self._task = self._wake = None

    async def _answer_all(self) -> None:
        """Answers the pending requests in order, and then waits for more."""
        turns, handler = self._turns, self._listener.handler
        while not self._transport.is_closing():
            if not turns:
                self._busy = False
                if self._ending:
                    return self._finish()
                self._rest()
                self._wake = self._loop.create_future()
                await self._wake
                continue
            asked, keep_alive, modern = turns.popleft()
            self.deadline = self._loop.time() + self._limits.answer_seconds
            if isinstance(asked, APIError):
                self._write_whole("", refusal(asked), CLOSE)
                return self._finish(linger=True)
            self._turns_bytes -= len(asked.body)
            if asked.method in _WRITES:
                self.deadline = self._loop.time() + self._limits.write_seconds
            self._asked = asked
            try:
                response = await handler(asked)
            except Exception:
                _log.exception("%s %s failed", asked.method, asked.path)
                response = refusal(InternalError.of(_CRASHED))
            if self._transport.is_closing():
                return None
            keep_alive = keep_alive and not (self._ending and not turns)
            if response.status == 200 and asked.method == "GET" and asked.headers is self._head.headers:
                await self._learn_read(asked, response)
            if not isinstance(response.body, _WHOLE):
                keep_alive = keep_alive and modern
                await self._stream(asked.method, response, response.body, CLOSE if not keep_alive else "", modern)
            else:
                connection = CLOSE if not keep_alive else "" if modern else KEEP_ALIVE
                if self._seat is None and len(response.body) <= _PIECE and isinstance(response.body, bytes):
                    self._write_whole(asked.method, response, connection)
                else:
                    await self._send(asked.method, response, connection)
            if not self._writable.is_set():
                await self._writable.wait()
            self._leave_seat()
            if not keep_alive or self._transport.is_closing():
                return self._finish()
            if self._held_back:
                self._held_back = False
                self._transport.resume_reading()
        return None

    def _write_whole(self, method: str, response: Response, connection: str) -> None:
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
        offer, frames = self._offer, self._frames
        if offer is not None and frames is not None:
            chosen = dict(response.headers).get(websocket.PROTOCOL, offer.protocols[0] if offer.protocols else "")
            self._transport.write(websocket.accepted(offer, chosen))
        else:
            framing = CHUNKED if modern else UNTIL_CLOSED
            self._transport.write(head(response, self._listener.date_line(), framing, connection))
        if method == "HEAD":
            return
        self._streaming, self._chunked = True, modern and frames is None
        self._delimited = response.content_type.endswith(";stream=watch")
        if self._writable.is_set():
            self.deadline = _NEVER
        try:
            await stream.run(self)
        except Exception:
            _log.exception("a stream failed")
            self._transport.abort()  # otherwise the client would take the incomplete body for the whole
        finally:
            self._streaming = False
            self._count(0)
            self._counter = None
        if modern and not self._transport.is_closing():
            if frames is None:
                self._transport.write(LAST_CHUNK)
            else:
                frames.close()
                self._transport.write(frames.output())

    def _rest(self) -> None:
        """Waits for the next request, or for the rest of the current one."""
        seconds = self._limits.request_seconds if self._reading else self._limits.idle_seconds
        self.deadline = self._loop.time() + seconds
        if self._expecting:
            self._transport.write(CONTINUE)

    # The interface for requests: `Outlet`.

    @property
    def is_gone(self) -> bool:
        return self._lost

    def sending(self, request: Request, seat: Seat) -> bool:
        if request is not self._asked or self._seat is not None:
            return False
        self._seat = seat
        return True

    def _leave_seat(self) -> None:
        """Releases the seat when the response is sent or abandoned."""
        self._asked = None
        if self._seat is not None:
            self._seat.leave()
            self._seat = None

    # The interface for streams: `Sink`.

    def write(self, frame: Frame) -> bool:
        transport = self._transport
        if transport.is_closing():
            return False
        if self._chunked:
            transport.write(frame.chunk)
        elif self._frames is None:
            transport.write(frame.payload)
        else:
            if self._hears is not None:
                self._frames.binary(frame.payload)
            elif self._delimited:
                for event in websocket.delimited(frame.payload):
                    self._frames.binary(event)
            else:
                # Every line is an event, and every event a message.
                for line in frame.payload.splitlines(keepends=True):
                    self._frames.text(line)
            transport.write(self._frames.output())
        size = transport.get_write_buffer_size()
        if size > self._limits.stream_bytes or not self._count(size):
            transport.abort()
            return False
        return True

    def count_unsent(self, counter: Counter, user: str) -> None:
        self._counter, self._user = counter, user

    def _count(self, size: int) -> bool:
        """Updates the count of bytes in the transport's buffer. Returns False if there are too many for the user."""
        counter, counted = self._counter, self._counted
        if counter is None or (size <= _PIECE and not counted):
            return True
        self._counted = size
        counter.add(self._user, size - counted)
        return size <= counted or not counter.is_over(self._user)

    async def drain(self) -> bool:
        if not self._writable.is_set():
            await self._writable.wait()
        return not self.closed

    @property
    def closed(self) -> bool:
        return self._gone.is_set() or self._transport.is_closing()

    async def wait_closed(self) -> None:
        await self._gone.wait()

    def listen(self, hear: Callable[[bytes], None]) -> bool:
        if self._frames is None:
            return False
        self._hears = hear
        return True

    def hold(self, held: bool) -> None:
        if held:
            self._transport.pause_reading()
        elif not self._transport.is_closing():
            self._transport.resume_reading()

    def _hear(self, frames: "Frames", data: bytes) -> None:
        """Passes the messages of a WebSocket to the listener, and answers control frames."""
        messages = frames.receive(data)
        answer = frames.output()
        if answer and self._streaming:  # before that, the handshake is not complete
            self._transport.write(answer)
        if self._hears is not None:
            for message in messages:
                self._hears(message)
        if frames.fault:
            self._transport.close()
        elif frames.has_ended:
            self._gone.set()

    # Closing.

    def _refuse(self, error: APIError) -> None:
        """Answers an unreadable request, in order. Reading stops, because the start of the next request is unknown."""
        self._deaf = True
        self._take_turn(error, False, True)

    def end(self) -> None:
        """Answers the requests that have been read, ends a stream, and then closes the connection."""
        self._ending = True
        self._gone.set()
        if not self._busy and not (self._reading and not self._deaf):
            self._close()

    def _finish(self, *, linger: bool = False) -> None:
        self._deaf = True
        self._busy = False
        self._turns.clear()
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
            self._transport.close()

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
            self._write_whole("", refusal(Timeout.of(_LATE)), CLOSE)
            self._finish()
        else:
            self._transport.abort()

    def turn_away(self, error: APIError) -> None:
        """Answers with an error before reading a request, and closes the connection."""
        self._write_whole("", refusal(error), CLOSE)
        self._finish()

    def abort(self) -> None:
        self._transport.abort()


def _pieces(whole: list[bytes]) -> Iterator[bytes | memoryview]:
    """Yields a body in pieces that each take the loop little time. Empties the list, so that sent parts free their
    memory."""
    whole.reverse()
    while whole:
        part = whole.pop()
        if len(part) <= _PIECE:
            yield part
        else:
            view = memoryview(part)
            yield from (view[start : start + _PIECE] for start in range(0, len(part), _PIECE))


def _origin_form(url: str) -> str:
    """Returns the path and query of a target in absolute form, as sent to proxies."""
    _, scheme, rest = url.partition("://")
    _, slash, path = rest.partition("/")
    return f"/{path}" if scheme and slash else "/" if scheme else url
