"""A store that other servers could write to: its reports are late, as those of etcd are."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from setpoint.store.bounds import Bounds
from setpoint.store.cached.publishing import Listener
from setpoint.store.contract import Closed, Event
from setpoint.store.memory import MemoryStore

_PASSED_ON = (
    *("commit", "transact", "compact", "count", "history", "log", "maintain", "oldest", "purge", "purges_single_keys"),
    *("restore", "revision", "scrub", "snapshot", "watch"),
)


class LateStore:
    """A store in memory whose listeners learn of each revision in a later turn of the event loop, or when the test says
    so. Watches are not late."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._listeners: list[Listener] = []
        self._late: deque[Sequence[Event]] = deque()
        self.current = store.current
        # True: reports wait for `release`.
        self.holds_back = False
        # The reads of the current revision that began, and the event that they wait for before they return.
        self.confirmations = 0
        self.gate: asyncio.Event | None = None
        self.gets = self.ranges = 0
        self.is_closed = False
        # Protocols are checked without `__getattr__` since Python 3.12.
        for name in _PASSED_ON:
            setattr(self, name, getattr(store, name))
        store.listen(self)

    def __getattr__(self, name: str) -> Any:
        # Not the parts of a store whose objects are known to be in memory.
        if name in ("holds", "scan", "peek", "times"):
            raise AttributeError(name)
        return getattr(self._store, name)

    # As the only listener of the store in memory.

    def published(self, events: Sequence[Event]) -> None:
        self._late.append(events)
        if not self.holds_back:
            asyncio.get_running_loop().call_soon(self._report)

    def restored(self) -> None:
        self._late.clear()
        self.current = self._store.current
        for listener in self._listeners:
            listener.restored()

    def _report(self) -> None:
        if self._late and not self.holds_back:
            events = self._late.popleft()
            self.current = events[-1].entry.revision
            for listener in self._listeners:
                listener.published(events)

    def release(self) -> None:
        """Makes all late reports."""
        self.holds_back = False
        while self._late:
            self._report()

    def miss(self) -> None:
        """Loses all late reports, as a watch does that was interrupted until etcd was compacted."""
        self.holds_back = False
        self.restored()

    # As a store.

    @property
    def bounds(self) -> Bounds:
        return self._store.bounds._replace(current=self.current)

    def check_open(self) -> None:
        if self.is_closed:
            raise Closed("the store is closed")

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def recent(self, after: int) -> Sequence[Event] | None:
        found = self._store.recent(after)
        return None if found is None else [event for event in found if event.entry.revision <= self.current]

    async def confirmed(self) -> int:
        self.confirmations += 1
        revision = self._store.current
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate.wait()
        return revision

    async def close(self) -> None:
        self.is_closed = True
        await self._store.close()

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        return await self._store.times(after, limit)

    async def get(self, key: str, at: int | None = None) -> Any:
        self.gets += 1
        return await self._store.get(key, at)

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Any:
        self.ranges += 1
        return await self._store.range(prefix, after, limit, at)
