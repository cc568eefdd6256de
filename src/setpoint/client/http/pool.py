"""A pool of idle connections, grouped by a key such as the server or the TLS context."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from setpoint.client.http.connection import Broken, HttpConnection
from setpoint.client.transport import Answer

K = TypeVar("K", bound=Hashable)
# The default time that an idle connection is kept: shorter than the idle timeouts of servers and middleboxes.
IDLE_SECONDS = 90.0


class Pool(Generic[K]):
    """The connections of one client. `now` returns the current time."""

    def __init__(self, now: Callable[[], float], *, max_idle: int, idle_seconds: float = IDLE_SECONDS) -> None:
        self._now = now
        self._max_idle = max_idle
        self._idle_seconds = idle_seconds
        # Idle connections, the most recently used last.
        self._idle: dict[K, list[HttpConnection]] = {}
        self.open: set[HttpConnection] = set()
        self.closed = False

    def acquire(self, key: K, *, surely_open: bool = False) -> HttpConnection | None:
        """Returns an idle connection, or None. With `surely_open`, also checks that the server has not just closed the
        connection, for a request that must not be sent twice."""
        waiting = self._idle.get(key)
        oldest = self._now() - self._idle_seconds
        while waiting:
            connection = waiting.pop()
            usable = not connection.closed and connection.idle_since > oldest
            if usable and not (surely_open and connection.is_stale()):
                return connection
            self.drop(connection)
        return None

    async def send(
        self,
        key: K,
        request: bytes,
        dial: Callable[[], Awaitable[HttpConnection]],
        *,
        may_repeat: bool,
        stream: bool = False,
        on: Callable[[HttpConnection], None] | None = None,
    ) -> tuple[HttpConnection, Answer]:
        """Sends a request over an idle connection, or a new one from `dial`, and calls `on` with the connection. The
        caller must give the connection back. Raises Broken.

        The server may have closed an idle connection, regardless of this request. If the connection ends before the
        first byte of the answer and `may_repeat` is set, the request is sent once more.
        """
        while True:
            connection = self.acquire(key, surely_open=not may_repeat)
            if connection is None:
                connection = await dial()
                self.open.add(connection)
                if self.closed:
                    self.drop(connection)
            if on is not None:
                on(connection)
            was_used = connection.used
            try:
                return connection, await connection.send(request, stream=stream)
            except BaseException as error:
                self.drop(connection)
                is_stale = isinstance(error, Broken) and was_used and not error.has_begun
                if not is_stale or not may_repeat or self.closed:
                    raise

    def release(self, key: K, connection: HttpConnection) -> None:
        """Returns a connection to the pool after an exchange, if the connection can be reused, and closes connections
        that were idle for too long."""
        if not connection.keeps or self.closed:
            self.drop(connection)
            return
        connection.idle_since = self._now()
        self._idle.setdefault(key, []).append(connection)
        self._close_idle(connection.idle_since - self._idle_seconds)

    def _close_idle(self, oldest: float) -> None:
        for key, waiting in tuple(self._idle.items()):
            # The oldest connections are first, so the loop stops at the first young one.
            while waiting and (len(waiting) > self._max_idle or waiting[0].closed or waiting[0].idle_since <= oldest):
                self.drop(waiting.pop(0))
            if not waiting:
                del self._idle[key]

    def drop(self, connection: HttpConnection) -> None:
        """Closes a connection."""
        connection.close()
        self.open.discard(connection)

    def close(self) -> None:
        """Closes all connections, and fails their exchanges."""
        self.closed = True
        for connection in tuple(self.open):
            self.drop(connection)
        self._idle.clear()
