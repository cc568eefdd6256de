"""The HTTP transport: a pool of connections to one server.

The server may close an idle connection at the moment of its use. A request that fails in this way before the first byte
of its answer is sent once more on a new connection, if its method is safe to repeat. For other methods, the connection
is checked before the request is sent.
"""

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from setpoint.client.agent import user_agent as own_name
from setpoint.client.http.connection import MAX_HEAD_BYTES, Broken, HttpConnection, Loss
from setpoint.client.http.dial import P, dial, reason_of
from setpoint.client.http.endpoint import Endpoint
from setpoint.client.http.pool import Pool
from setpoint.client.transport import (
    Answer,
    Call,
    CredentialsError,
    NoAnswerInTime,
    Socket,
    Stream,
    TransportError,
)

if TYPE_CHECKING:  # imported when used: most commands of the terminal use neither
    from setpoint.client.http.hijack import Hijacked
    from setpoint.client.http.upgrade import Upgrade

# The maximum number of idle connections, the maximum number of concurrent requests (without streams), and the connect
# timeout in seconds.
MAX_IDLE = 32
MAX_REQUESTS = 128
CONNECT_SECONDS = 30.0
_HARMLESS = frozenset(("GET", "HEAD", "OPTIONS"))

T = TypeVar("T")
U = TypeVar("U", bound="Upgrade")
# Returns the headers that authenticate a request. The argument is the headers that the server rejected, so that other
# credentials can be returned.
Credentials: TypeAlias = Callable[[Mapping[str, str] | None], Awaitable[Mapping[str, str]]]


class Flow:
    """An answer that is read as a stream."""

    def __init__(self, answer: Answer, connection: HttpConnection) -> None:
        self.answer = answer
        self._connection = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._connection.pieces():
                yield piece
        except Broken as broken:
            raise TransportError(_message(broken), sent=True) from None

    def cut(self, why: str) -> None:
        self._connection.cut(why)


class HttpTransport:
    """Sends requests to an endpoint.

    `credentials` is called for each request. `tls` returns the TLS context of new connections, if the context can
    change, as with renewed certificates; connections of an earlier context are not reused. Compressed answers are not
    requested: to decompress them costs more than to transfer them from a nearby server.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        credentials: Credentials | None = None,
        tls: Callable[[], ssl.SSLContext] | None = None,
        user_agent: str = "",
        max_requests: int = MAX_REQUESTS,
    ) -> None:
        self.endpoint = endpoint
        self._credentials = credentials
        self._tls = tls
        self._user_agent = user_agent or own_name()
        self._request_slots = asyncio.Semaphore(max_requests)
        self._pool: Pool[ssl.SSLContext | None] = Pool(_now, max_idle=MAX_IDLE)
        self._sockets: set[Upgrade] = set()

    async def for_other_loop(self) -> "HttpTransport":
        """Returns a transport to the same server for the event loop of another thread. The credentials are those of
        this loop; while this loop is blocked, the last ones are used."""
        credentials = None
        if self._credentials is not None:
            headers: Mapping[str, str] = {}
            with suppress(TransportError):  # else the other transport asks for them when rejected
                headers = await self._credentials(None)
            credentials = _LoopCredentials(self._credentials, asyncio.get_running_loop(), headers)
        return HttpTransport(self.endpoint, credentials=credentials, tls=self._tls, user_agent=self._user_agent)

    async def send(self, call: Call) -> Answer:
        if call.timeout is None:
            return await self._send(call)
        return await self._within(call.timeout, self._send(call))

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        key, connection, answer = await self._within(call.timeout, self._send_authenticated(call, stream=True))
        try:
            yield Flow(answer, connection)
        finally:
            self._pool.release(key, connection)

    @asynccontextmanager
    async def socket(self, call: Call, protocols: Sequence[str]) -> AsyncIterator[Socket]:
        from setpoint.client.http.websocket import WebSocket

        async def begin(socket: WebSocket, credentials: Mapping[str, str]) -> None:
            await socket.begin(lambda headers: self._request(call, {**credentials, **headers}), protocols)

        async with self._upgraded(call, WebSocket, begin) as socket:
            yield socket

    @asynccontextmanager
    async def hijack(self, call: Call) -> "AsyncIterator[Hijacked]":
        """Sends a request and continues as a stream of bytes in both directions, until the context is left. Raises
        TransportError, Refused."""
        from setpoint.client.http.hijack import Hijacked

        async def begin(stream: Hijacked, credentials: Mapping[str, str]) -> None:
            await stream.begin(lambda headers: self._request(call, {**credentials, **headers}))

        async with self._upgraded(call, Hijacked, begin) as stream:
            yield stream

    @asynccontextmanager
    async def upload(self, call: Call, pieces: AsyncIterable[bytes]) -> AsyncIterator[Stream]:
        """Sends a request with a streamed body. The answer is read as it arrives, possibly before the whole body is
        sent. Errors of the body's iterator are raised here."""
        credentials = await self._credential_headers(None)
        connection = await self._dial(HttpConnection)
        self._pool.open.add(connection)

        async def send() -> None:
            try:
                await connection.send_body(pieces)
            except Exception as error:
                connection.cut(str(error))
                raise

        sending = asyncio.ensure_future(send())
        try:
            head = self._request(call, {**credentials, "transfer-encoding": "chunked"}, chunked=True)
            try:
                answer = await self._within(call.timeout, connection.send(head, stream=True))
                yield Flow(answer, connection)
            except (Broken, TransportError) as error:
                if sending.done():
                    await sending  # an error of the body's iterator is the cause of the failure
                if isinstance(error, Broken):
                    raise TransportError(_message(error), sent=True) from None
                raise
        finally:
            if not sending.done():
                sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            self._pool.drop(connection)

    async def close(self) -> None:
        self._pool.close()
        for socket in self._sockets:
            socket.abort()

    @asynccontextmanager
    async def _upgraded(
        self, call: Call, factory: Callable[[], U], begin: Callable[[U, Mapping[str, str]], Awaitable[None]]
    ) -> AsyncIterator[U]:
        async def open_() -> U:
            credentials = await self._credential_headers(None)
            socket = await self._dial(factory)
            await begin(socket, credentials)
            return socket

        socket = await self._within(call.timeout if call.timeout is not None else CONNECT_SECONDS, open_())
        self._sockets.add(socket)
        try:
            yield socket
        finally:
            self._sockets.discard(socket)
            socket.abort()

    async def _credential_headers(self, refused: Mapping[str, str] | None) -> Mapping[str, str]:
        return await self._credentials(refused) if self._credentials is not None else {}

    async def _within(self, seconds: float | None, answer: Awaitable[T]) -> T:
        if seconds is None:
            return await answer
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise NoAnswerInTime(f"{self.endpoint} did not answer within {seconds:g} s", sent=True) from None

    async def _send(self, call: Call) -> Answer:
        async with self._request_slots:
            key, connection, answer = await self._send_authenticated(call, stream=False)
            self._pool.release(key, connection)
            return answer

    async def _send_authenticated(
        self, call: Call, *, stream: bool
    ) -> tuple[ssl.SSLContext | None, HttpConnection, Answer]:
        """Sends the request, and repeats the request once if the server answers 401 and other credentials are
        available."""
        credentials = await self._credential_headers(None)
        key, connection, answer = await self._send_once(call, credentials, stream=stream)
        if answer.status != 401 or self._credentials is None:
            return key, connection, answer
        try:
            others = await self._credential_headers(credentials)
        except BaseException:
            self._pool.release(key, connection)
            raise
        if others == credentials and self._key() is key:
            return key, connection, answer
        self._pool.release(key, connection)
        return await self._send_once(call, others, stream=stream)

    async def _send_once(
        self, call: Call, credentials: Mapping[str, str], *, stream: bool
    ) -> tuple[ssl.SSLContext | None, HttpConnection, Answer]:
        key = self._key()
        try:
            connection, answer = await self._pool.send(
                key,
                self._request(call, credentials),
                lambda: self._dial(HttpConnection),
                may_repeat=call.method in _HARMLESS,
                stream=stream,
            )
        except Broken as broken:
            why = "the client is closed" if self._pool.closed else _message(broken)
            raise TransportError(why, sent=True) from None
        return key, connection, answer

    def _request(self, call: Call, credentials: Mapping[str, str], *, chunked: bool = False) -> bytes:
        target = f"{self.endpoint.prefix}{call.target}"
        agent = call.headers.get("user-agent") or self._user_agent
        lines = [f"{call.method} {target} HTTP/1.1\r\nHost: {self.endpoint.authority}\r\nUser-Agent: {agent}\r\n"]
        for headers in (credentials, call.headers):
            for name, value in headers.items():
                if name == "user-agent":
                    continue
                lines += [f"{name}: {each}\r\n" for each in ((value,) if isinstance(value, str) else value)]
        if not chunked and (call.body or call.method in ("POST", "PUT", "PATCH")):
            lines.append(f"Content-Length: {len(call.body)}\r\n")
        lines.append("\r\n")
        head = "".join(lines)
        # The first element has three lines.
        if head.count("\n") != len(lines) + 2 or head.count("\r") != len(lines) + 2 or " " in target:
            raise TransportError("invalid request: a header or the path contains a line break or a space", sent=False)
        try:
            return head.encode() + call.body
        except UnicodeEncodeError as error:
            raise TransportError(f"invalid header: {error}", sent=False) from None

    def _key(self) -> ssl.SSLContext | None:
        return self._tls() if self._tls is not None and self.endpoint.tls is not None else self.endpoint.tls

    async def _dial(self, factory: Callable[[], P]) -> P:
        """Opens a new connection. Raises TransportError."""
        if self._pool.closed:
            raise TransportError("the client is closed", sent=False)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await dial(self.endpoint._replace(tls=self._key()), factory)
        except (OSError, TimeoutError, UnicodeError) as error:
            why = reason_of(error) if isinstance(error, OSError) and error.args else str(error)
            if isinstance(error, TimeoutError) and not error.args:
                why = f"no answer for {CONNECT_SECONDS:g} s"
            raise TransportError(f"cannot connect to {self.endpoint}: {why}", sent=False) from error


class _LoopCredentials:
    """Credentials from the event loop of another thread: their code may be bound to that loop."""

    def __init__(self, credentials: Credentials, loop: asyncio.AbstractEventLoop, headers: Mapping[str, str]) -> None:
        self._credentials, self._loop, self._headers = credentials, loop, headers

    async def __call__(self, refused: Mapping[str, str] | None) -> Mapping[str, str]:
        try:
            refreshed = asyncio.run_coroutine_threadsafe(self._refresh(refused), self._loop)
        except RuntimeError as error:
            raise CredentialsError(f"no credentials: {error}") from None
        if refused is not None and refused == self._headers:
            await asyncio.wrap_future(refreshed)
        return self._headers

    async def _refresh(self, refused: Mapping[str, str] | None) -> None:
        self._headers = await self._credentials(refused)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _message(broken: Broken) -> str:
    match broken.loss:
        case Loss.CLOSED:
            return f"the connection broke: {broken.error}" if broken.error else "the server closed the connection"
        case Loss.NOT_HTTP:
            return f"the answer is not HTTP and begins with {broken.text!r}"
        case Loss.LARGE_HEAD:
            return f"the response head is larger than {MAX_HEAD_BYTES} bytes"
        case Loss.SWITCHED:
            return "the server switched protocols without a request"
        case _:
            return str(broken)
