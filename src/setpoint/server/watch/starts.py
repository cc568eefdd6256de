"""Starts of watches: those with the same initial events share the bytes, and many starts are divided among turns of the
event loop."""

import asyncio
from collections import deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from setpoint.server.message import Frame

# The bytes of initial events that are sent in one turn of the event loop, and the starts that continue in one turn.
_TURN_BYTES, _TURN_STARTS = 256 << 10, 4
# The bytes of the shared initial events of a resource. Larger ones are rare, and are encoded in several turns.
SHARED_BYTES = 512 << 10
# The approximate bytes of a selector and its place, which count as well: most selectors may have no objects.
_OVERHEAD = 1 << 10


class StartTurns:
    """The starts of watches in one server. A start waits while others have sent many bytes in the same turn."""

    def __init__(self) -> None:
        self._sent = 0
        self._is_scheduled = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def next(self) -> None:
        """Returns in a turn in which initial events may be sent."""
        wait = self._waiting.append
        while self._sent >= _TURN_BYTES:
            waiting = asyncio.get_running_loop().create_future()
            wait(waiting)
            await waiting
            # Others of the same turn sent much: the next turn is for this start.
            wait = self._waiting.appendleft

    def sent(self, size: int) -> None:
        """Counts sent bytes until the end of the turn."""
        self._sent += size
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_turn)

    def _begin_turn(self) -> None:
        self._sent, self._is_scheduled = 0, False
        for _ in range(min(_TURN_STARTS, len(self._waiting))):
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
        if self._waiting:
            self._schedule()


class InitialEvents(NamedTuple):
    """The initial events of a watch: complete frames, the bytes after them, and the sizes of all events."""

    frames: Sequence[Frame]
    rest: bytes
    sizes: Sequence[int]


class SharedStarts:
    """The initial events of the latest watches of a resource: those of one revision, by form and selector."""

    def __init__(self) -> None:
        self._revision = 0
        self._known: dict[Hashable, InitialEvents] = {}
        self._size = 0

    def get(self, revision: int, key: Hashable) -> InitialEvents | None:
        return self._known.get(key) if revision == self._revision else None

    def put(self, revision: int, key: Hashable, events: InitialEvents) -> None:
        """Keeps initial events for other watches, unless there are too many."""
        if revision != self._revision:
            self.clear()
            self._revision = revision
        size = _OVERHEAD + sum(events.sizes)
        if key not in self._known and self._size + size <= SHARED_BYTES:
            self._known[key] = events
            self._size += size

    def clear(self) -> None:
        self._known.clear()
        self._size = 0
