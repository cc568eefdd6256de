"""The client's transport to a server in the same process: a call, without sockets.

Streams are passed on piece by piece; a reader that is too slow is cut off when too many bytes are buffered, as on a
connection.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from setpoint.client.transport import Answer, Call, NoAnswerInTime, Refused, Socket, Stream, TransportError
from setpoint.server.handshake import PROTOCOL
from setpoint.server.message import LISTED, Frame, Peer, Request, RequestHandler, Response
from setpoint.server.message import Stream as ServedStream

# The number of unread bytes at which a reader counts as too slow, and at which a writer waits in `drain`.
_TOO_MUCH, _MUCH = 64 << 20, 1 << 20
_PEER = Peer("in process", in_process=True)
# The headers by which the server recognizes a request for a WebSocket; the key has no meaning without a connection.
_HANDSHAKE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


class LocalTransport:
    """Sends requests to a handler. `headers` contain credentials; without them the user is `user`, with these groups,
    or the administrator if that is empty. `is_controller` is only for the server's own controllers."""

    def __init__(
        self,
        handler: RequestHandler,
        headers: Mapping[str, str] | None = None,
        user: str = "",
        groups: Sequence[str] = (),
        *,
        is_controller: bool = False,
    ) -> None:
        self._handler = handler
        peer = _PEER._replace(is_controller=is_controller)
        self._peer = peer._replace(common_name=user, organizations=groups) if user else peer
        self._headers = dict(headers or {})
        self._open: set[_Pipe] = set()
        self._closed = False

    async def send(self, call: Call) -> Answer:
        response = await self._respond(call)
        body = response.body
        if not isinstance(body, bytes | list):
            raise TransportError("the response is a stream: use stream() instead of send()", sent=True)
        return _answer(response, body if isinstance(body, bytes) else b"".join(body))

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        response = await self._respond(call)
        body = response.body
        if isinstance(body, bytes | list):
            whole = body if isinstance(body, bytes) else b"".join(body)
            yield _CompleteStream(_answer(response, whole), whole if response.status < 300 else b"")
            return
        pipe = _Pipe(_answer(response, b""))
        async with self._running(pipe, body):
            yield pipe

    @asynccontextmanager
    async def socket(self, call: Call, protocols: Sequence[str]) -> AsyncIterator[Socket]:
        headers = {**call.headers, **_HANDSHAKE, "sec-websocket-protocol": ", ".join(protocols)}
        response = await self._respond(call._replace(headers=headers))
        body = response.body
        if isinstance(body, bytes | list):
            raise Refused(_answer(response, body if isinstance(body, bytes) else b"".join(body)))
        pipe = _DuplexPipe(_answer(response, b""))
        async with self._running(pipe, body):
            yield _LocalSocket(pipe, dict(response.headers).get(PROTOCOL, ""))

    @asynccontextmanager
    async def _running(self, pipe: "_Pipe", body: ServedStream) -> AsyncIterator[None]:
        """Runs the stream of the server into a pipe."""
        self._open.add(pipe)
        running = asyncio.ensure_future(pipe.run(body))
        try:
            yield
        finally:
            self._open.discard(pipe)
            pipe.close()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def close(self) -> None:
        self._closed = True
        for pipe in list(self._open):
            pipe.close()

    async def _respond(self, call: Call) -> Response:
        if self._closed:
            raise TransportError("the client is closed", sent=False)
        headers = dict(self._headers)
        for name, value in call.headers.items():
            headers[name] = value if isinstance(value, str) else _joint(name).join(value)
        request = Request(call.method, call.path, urlencode(call.query), headers, call.body, self._peer)
        if call.timeout is None:
            return await self._handler(request)
        try:
            async with asyncio.timeout(call.timeout):
                return await self._handler(request)
        except TimeoutError:
            raise NoAnswerInTime(f"the server did not answer within {call.timeout:g} s", sent=True) from None


def _joint(name: str) -> str:
    """Returns the separator between several values of a header."""
    return "\n" if name.startswith(LISTED) else ", "


def _answer(response: Response, body: bytes) -> Answer:
    headers = {"content-type": response.content_type}
    for name, value in response.headers:
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return Answer(response.status, headers, body)


class _CompleteStream:
    """A complete response to a request for a stream."""

    def __init__(self, answer: Answer, body: bytes) -> None:
        self.answer = answer
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._body:
            yield self._body

    def cut(self, why: str) -> None:
        self._body = b""


class _Pipe:
    """A stream between the server, which uses the pipe as a sink, and the client."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._failure: TransportError | None = None
        self._is_closed = asyncio.Event()
        self._more: asyncio.Future[None] | None = None
        self._less: asyncio.Future[None] | None = None

    async def run(self, stream: ServedStream) -> None:
        """Runs the stream of the server, which writes to this pipe."""
        try:
            await stream.run(self)
        except Exception as error:
            self._failure = TransportError(f"the stream failed: {error}", sent=True)
        finally:
            self._ended = True
            _wake(self._more)

    # The server's side: `Sink`.

    def write(self, frame: Frame) -> bool:
        if self.closed:
            return False
        self._pieces.append(frame.payload)
        self._size += len(frame.payload)
        if self._size > _TOO_MUCH:
            self._failure = TransportError("the stream was cut off: too much of it waited to be read", sent=True)
            self.close()
            return False
        _wake(self._more)
        return True

    async def drain(self) -> bool:
        while self._size > _MUCH and not self.closed:
            self._less = asyncio.get_running_loop().create_future()
            await self._less
        return not self.closed

    @property
    def closed(self) -> bool:
        return self._is_closed.is_set()

    async def wait_closed(self) -> None:
        await self._is_closed.wait()

    # The client's side.

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                self._size -= len(piece)
                if self._size <= _MUCH:
                    _wake(self._less)
                yield piece
            if self._failure is not None:
                raise self._failure
            if self._ended or self.closed:
                return
            self._more = asyncio.get_running_loop().create_future()
            await self._more

    def cut(self, why: str) -> None:
        if not self._ended and not self.closed:
            self._failure = TransportError(why, sent=True)
            self.close()

    def close(self) -> None:
        self._is_closed.set()
        _wake(self._less)
        _wake(self._more)


class _DuplexPipe(_Pipe):
    """A pipe in both directions: every piece is a message (`DuplexSink`)."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._on_message: Callable[[bytes], None] | None = None
        # Set while the server receives.
        self._receives = asyncio.Event()

    def listen(self, on_message: Callable[[bytes], None]) -> bool:
        self._on_message = on_message
        self._receives.set()
        return True

    def pause_reading(self, is_paused: bool) -> None:
        if is_paused:
            self._receives.clear()
        else:
            self._receives.set()

    def close(self) -> None:
        super().close()
        self._receives.set()

    async def send(self, message: bytes) -> None:
        """Passes a message to the server, once the server receives."""
        await self._receives.wait()
        if self._ended or self.closed or self._on_message is None:
            raise TransportError("the WebSocket is closed", sent=False)
        self._on_message(message)


class _LocalSocket:
    """The client's side of a WebSocket without a connection."""

    def __init__(self, pipe: _DuplexPipe, protocol: str) -> None:
        self.protocol = protocol
        self._pipe = pipe
        self._pieces = aiter(pipe)

    async def send(self, message: bytes) -> None:
        await self._pipe.send(message)

    async def receive(self) -> bytes | None:
        return await anext(self._pieces, None)

    async def close(self) -> None:
        self._pipe.close()


def _wake(waiting: "asyncio.Future[None] | None") -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
