"""Connections that are kept for the next request, apart by whatever tells them apart: their server, or their trust."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from setpoint.client.http.connection import Broken, Connection
from setpoint.client.transport import Answer

K = TypeVar("K", bound=Hashable)
# How long a connection is kept that nobody uses, unless told otherwise: below what servers and the boxes between wait.
IDLE_SECONDS = 90.0


class Pool(Generic[K]):
    """The connections of one client. `now` is its clock."""

    def __init__(self, now: Callable[[], float], *, max_idle: int, idle_seconds: float = IDLE_SECONDS) -> None:
        self._now = now
        self._max_idle = max_idle
        self._idle_seconds = idle_seconds
        # Those that wait, the last used at the end.
        self._idle: dict[K, list[Connection]] = {}
        self.open: set[Connection] = set()
        self.closed = False

    def take(self, key: K, *, surely_open: bool = False) -> Connection | None:
        """A connection that waits. `surely_open` also looks whether its end has just come: a request that may be sent
        only once would be lost in it."""
        waiting = self._idle.get(key)
        oldest = self._now() - self._idle_seconds
        while waiting:
            connection = waiting.pop()
            usable = not connection.lost and connection.idle_since > oldest
            if usable and not (surely_open and connection.is_stale()):
                return connection
            self.drop(connection)
        return None

    async def ask(
        self,
        key: K,
        request: bytes,
        dial: Callable[[], Awaitable[Connection]],
        *,
        may_repeat: bool,
        stream: bool = False,
        on: Callable[[Connection], None] | None = None,
    ) -> tuple[Connection, Answer]:
        """Sends a request over a connection that waits, or a new one from `dial`; `on` is told which it is. Whoever
        gets the answer gives the connection back. Raises Broken.

        The server may have closed a connection while it waited, which says nothing about this request: where that comes
        out before a byte of its answer, it is sent once more, if it may be.
        """
        while True:
            connection = self.take(key, surely_open=not may_repeat)
            if connection is None:
                connection = await dial()
                self.open.add(connection)
                if self.closed:
                    self.drop(connection)
            if on is not None:
                on(connection)
            was_used = connection.used
            try:
                return connection, await connection.ask(request, stream=stream)
            except BaseException as error:
                self.drop(connection)
                is_stale = isinstance(error, Broken) and was_used and not error.has_begun
                if not is_stale or not may_repeat or self.closed:
                    raise

    def give_back(self, key: K, connection: Connection) -> None:
        """An exchange is over: the connection is kept if it can be, and those that have waited for long are let go."""
        if not connection.keeps or self.closed:
            self.drop(connection)
            return
        connection.idle_since = self._now()
        self._idle.setdefault(key, []).append(connection)
        self._let_go(connection.idle_since - self._idle_seconds)

    def _let_go(self, oldest: float) -> None:
        for key, waiting in tuple(self._idle.items()):
            # The oldest are at the front; one look is enough where they are young.
            while waiting and (len(waiting) > self._max_idle or waiting[0].lost or waiting[0].idle_since <= oldest):
                self.drop(waiting.pop(0))
            if not waiting:
                del self._idle[key]

    def drop(self, connection: Connection) -> None:
        """Ends a connection."""
        connection.close()
        self.open.discard(connection)

    def close(self) -> None:
        """Ends all of them, and the exchanges on them."""
        self.closed = True
        for connection in tuple(self.open):
            self.drop(connection)
        self._idle.clear()
