"""The transport over HTTP: a pool of connections to one server.

A connection that was kept may have been closed by the server the moment we use it: a request that met this fate before
a byte of its answer came is sent once more on a new connection, as long as doing it twice does no harm.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from setpoint.client.http.connection import Connection
from setpoint.client.http.dial import dial
from setpoint.client.http.endpoint import Endpoint
from setpoint.client.transport import Answer, Call, Stream, TransportError

# How many idle connections are kept; how long connecting may take; how long one that is kept may have been idle.
MAX_IDLE = 32
CONNECT_SECONDS = 30.0
IDLE_SECONDS = 90.0
_HARMLESS = frozenset(("GET", "HEAD", "OPTIONS"))

T = TypeVar("T")


class Flow:
    """An answer that comes bit by bit."""

    def __init__(self, answer: Answer, connection: Connection) -> None:
        self.answer = answer
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._connection.pieces()


class HttpTransport:
    """Carries requests to an endpoint. `credentials` gives the headers that say who asks, for every request anew; it is
    told when the server did not know them."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        credentials: "Callable[[bool], Awaitable[Mapping[str, str]]] | None" = None,
        user_agent: str = "setpoint",
    ) -> None:
        self.endpoint = endpoint
        self._credentials = credentials
        self._fixed = f"Host: {endpoint.authority}\r\nUser-Agent: {user_agent}\r\n"
        # The ones that wait for their next request, the last used first, each with when it began to.
        self._idle: list[tuple[Connection, float]] = []
        self._open: set[Connection] = set()
        self._closed = False

    async def send(self, call: Call) -> Answer:
        answer = await self._within(call.timeout, self._send(call, await self._who(refresh=False)))
        if answer.status == 401 and self._credentials is not None:
            answer = await self._within(call.timeout, self._send(call, await self._who(refresh=True)))
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        connection, answer = await self._within(call.timeout, self._begin(call, await self._who(refresh=False)))
        if answer.status == 401 and self._credentials is not None:
            self._give_back(connection)
            connection, answer = await self._within(call.timeout, self._begin(call, await self._who(refresh=True)))
        try:
            yield Flow(answer, connection)
        finally:
            self._give_back(connection)

    async def close(self) -> None:
        self._closed = True
        for connection in list(self._open):
            connection.close()
        self._open.clear()
        self._idle.clear()

    async def _who(self, *, refresh: bool) -> Mapping[str, str]:
        return await self._credentials(refresh) if self._credentials is not None else {}

    async def _within(self, seconds: float | None, answer: Awaitable[T]) -> T:
        if seconds is None:
            return await answer
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise TransportError(f"{self.endpoint} did not answer within {seconds:g} s", sent=True) from None

    async def _send(self, call: Call, who: Mapping[str, str]) -> Answer:
        connection, answer = await self._ask(call, who, stream=False)
        self._give_back(connection)
        return answer

    async def _begin(self, call: Call, who: Mapping[str, str]) -> tuple[Connection, Answer]:
        return await self._ask(call, who, stream=True)

    async def _ask(self, call: Call, who: Mapping[str, str], *, stream: bool) -> tuple[Connection, Answer]:
        request = self._request(call, who)
        while True:
            connection, kept = await self._connection()
            try:
                return connection, await connection.ask(request, stream=stream)
            except TransportError:
                self._give_back(connection)
                if kept and not connection.answered and call.method in _HARMLESS:
                    continue
                raise
            except BaseException:
                connection.close()
                self._give_back(connection)
                raise

    def _request(self, call: Call, who: Mapping[str, str]) -> bytes:
        lines = [f"{call.method} {self.endpoint.prefix}{call.target} HTTP/1.1\r\n{self._fixed}"]
        for headers in (who, call.headers):
            for name, value in headers.items():
                lines += [f"{name}: {each}\r\n" for each in ((value,) if isinstance(value, str) else value)]
        if call.body or call.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(call.body)}\r\n")
        lines.append("\r\n")
        try:
            return "".join(lines).encode("latin-1") + call.body
        except UnicodeEncodeError as error:
            raise TransportError(f"a header cannot be sent: {error}", sent=False) from None

    async def _connection(self) -> tuple[Connection, bool]:
        """A connection to use, and whether it was used before."""
        if self._closed:
            raise TransportError("the client is closed", sent=False)
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.lost and since > oldest:
                return connection, True
            connection.close()
            self._open.discard(connection)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await dial(self.endpoint)
        except (OSError, TimeoutError) as error:
            why = f"no answer for {CONNECT_SECONDS:g} s" if isinstance(error, TimeoutError) else _reason(error)
            raise TransportError(f"cannot connect to {self.endpoint}: {why}", sent=False) from error
        self._open.add(connection)
        return connection, False

    def _give_back(self, connection: Connection) -> None:
        if connection.keeps and not self._closed and len(self._idle) < MAX_IDLE:
            self._idle.append((connection, asyncio.get_running_loop().time()))
            return
        connection.close()
        self._open.discard(connection)


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
