"""The store in memory: starts in microseconds, takes a snapshot in constant time, and keeps the configured past.

A store belongs to one event loop at a time: a commit runs without suspending, which makes it atomic.
"""

import asyncio
from collections.abc import Sequence
from itertools import islice
from math import inf
from typing import Self

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.cached.collection import collection_of
from setpoint.store.cached.past import Past, Pasts
from setpoint.store.cached.publishing import Listener
from setpoint.store.contract import (
    EXPIRY,
    Closed,
    Event,
    Expect,
    ExpectationFailed,
    Item,
    LogEntry,
    NotHeld,
    Page,
    Purge,
    PurgedPage,
    Retention,
    Selection,
    Snapshot,
    TooEarly,
    Write,
)
from setpoint.store.dump import load
from setpoint.store.follow import STEP, Cursor, Followers, complete_revisions, first_after
from setpoint.store.keys import check_key, check_writes
from setpoint.store.memory.log_state import MemorySnapshot, State, cost, exists_at, item_at, item_of
from setpoint.store.upkeep import Upkeep

# Compaction runs in strides: the past may exceed its bounds by this fraction of them.
_STRIDE = 4
# The number of keys that a purge, or a read of an old revision, visits before yielding to other tasks.
_PURGED_AT_ONCE, _VISITED_AT_ONCE = 100, 1000


# The default retention.
MEMORY_RETENTION = Retention(revisions=100_000, size=256 * 1024 * 1024)


def in_memory(snapshot: Snapshot) -> MemorySnapshot:
    """Returns a snapshot of any store in memory. Takes time in proportion to the size of another kind of store."""
    return snapshot if isinstance(snapshot, MemorySnapshot) else State.of(load(snapshot.dump())).snapshot()


class MemoryStore:
    """The log in memory; `retention` bounds its past."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        retention: Retention = MEMORY_RETENTION,
    ) -> None:
        self._clock = clock or SystemClock()
        self._retention = retention
        self._followers = Followers()
        self._listeners: list[Listener] = []
        self._upkeep = Upkeep(self._clock, self._due, self.maintain)
        self._state = State()
        # The revisions that were read last, and the number of purges that they know of.
        self._pasts, self._purges = Pasts(), 0
        self.closed = False
        self.restored = 0
        self._plan_trim()

    @classmethod
    def fork(
        cls,
        snapshot: MemorySnapshot,
        *,
        at: int | None = None,
        clock: Clock | None = None,
        retention: Retention = MEMORY_RETENTION,
    ) -> Self:
        """Returns a store that continues from a snapshot, or from an earlier revision, with the same revisions and the
        same past. Raises TooEarly or TooLate for a revision that cannot be read."""
        return cls.of(State.fork(snapshot, at), clock=clock, retention=retention)

    @classmethod
    def of(cls, state: State, *, clock: Clock | None = None, retention: Retention = MEMORY_RETENTION) -> Self:
        """Returns a store with a state, which belongs to the store from now on."""
        made = cls(clock=clock, retention=retention)
        made._state = state
        made._plan_trim()
        made._expect_upkeep()
        return made

    @property
    def current(self) -> int:
        return self._state.current

    @property
    def bounds(self) -> Bounds:
        return self._state.bounds

    # Reading

    async def revision(self) -> int:
        self._open()
        return self._state.current

    async def oldest(self) -> int:
        self._open()
        return self._state.oldest

    async def get(self, key: str, at: int | None = None) -> Item | None:
        self._open()
        if at is not None:
            self._state.bounds.check(at)
        return self._state.get(key, at)

    def peek(self, key: str) -> Item | None:
        """Returns the current item of a key as `get` does, synchronously."""
        self._open()
        return self._state.get(key, None)

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        self._open()
        state = self._state
        if at is None or at == state.current:
            items, remaining = state.items(prefix, after, limit)
            return Page(items, state.current, remaining)
        past = self._past(prefix, at)
        if past is None:
            return await self._old_page(prefix, after, limit, at)
        items = list(islice(state.items_of(past, prefix, after), limit or None))
        remaining = state.count_of(past, prefix, items[-1].key) if limit and len(items) == limit else 0
        return Page(items, at, remaining)

    async def uncounted(self, prefix: str, after: str, limit: int, at: int | None = None) -> Page:
        """Returns the page of `range`. `remaining` is 1 if there may be further items."""
        revision = self._state.current if at is None else at
        try:
            items = self.scan(prefix, after, limit, at)
        except NotHeld:
            return await self._old_page(prefix, after, limit, revision, counted=False)
        return Page(items, revision, int(bool(limit) and len(items) == limit))

    def _past(self, prefix: str, at: int) -> Past | None:
        """Returns the past to read at a revision; None if too much has changed since then."""
        state = self._state
        state.bounds.check(at)
        if self._purges != state.purges:
            self._pasts.clear()
            self._purges = state.purges
        return self._pasts.at(self, collection_of(prefix), at)

    async def _old_page(self, prefix: str, after: str, limit: int, at: int, *, counted: bool = True) -> Page:
        """Returns the page of `range` at a revision, from the versions of all keys. Other tasks run in between."""
        items: list[Item] = []
        remaining = 0
        while keys := self._visited(prefix, after, at):
            after = keys[-1]
            for versions in map(self._state.versions.__getitem__, keys):
                if limit and len(items) == limit:
                    remaining += exists_at(versions, at)
                elif (item := item_at(versions, at)) is not None:
                    items.append(item)
            if remaining and not counted:
                break
            await asyncio.sleep(0)
        return Page(items, at, remaining)

    def _visited(self, prefix: str, after: str, at: int) -> Sequence[str]:
        """Returns the next keys of a read of an old revision."""
        self._open()
        self._state.bounds.check(at)
        return self._state.keys_after(prefix, after, _VISITED_AT_ONCE)

    async def holds(self, prefix: str) -> bool:
        """Returns True: all objects are in memory."""
        return True

    def scan(self, prefix: str, after: str, limit: int, at: int | None) -> Sequence[Item]:
        """Returns the items of `range`, synchronously, without counting the items after them. Raises NotHeld for a
        revision since which too much has changed."""
        self._open()
        state = self._state
        if at is None or at == state.current:
            return state.items(prefix, after, limit, counted=False)[0]
        past = self._past(prefix, at)
        if past is None:
            raise NotHeld("too much has changed since the revision")
        return list(islice(state.items_of(past, prefix, after), limit or None))

    async def count(self, prefix: str, at: int | None = None) -> int:
        self._open()
        if at is None or at == self._state.current:
            return self._state.count(prefix)
        past = self._past(prefix, at)
        if past is not None:
            return self._state.count_of(past, prefix)
        number, after = 0, ""
        while keys := self._visited(prefix, after, at):
            after = keys[-1]
            number += sum(exists_at(self._state.versions[key], at) for key in keys)
            await asyncio.sleep(0)
        return number

    async def history(self, key: str, before: int | None = None, limit: int = 0) -> Sequence[LogEntry]:
        self._open()
        return self._state.history(key, before, limit)

    async def log(self, after: int = 0, limit: int = 0) -> Sequence[LogEntry]:
        self._open()
        return self._state.log(after, limit)

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        """Returns only the revisions and times of entries after a revision."""
        self._open()
        return [(entry.revision, entry.time) for entry in self._state.log(after, limit)]

    # Writing

    async def commit(
        self,
        key: str,
        value: bytes | None,
        expect: Expect,
        actor: Actor,
        cause: Cause | None = None,
        ttl: float | None = None,
    ) -> int:
        self._open()
        state = self._state
        versions = state.versions.get(key)
        if versions is None:
            if not key or not key.isascii():
                check_key(key)
            old = None
        else:
            newest = versions[-1]
            old = None if newest[2] is None else newest
        if expect is not None and expect != (old[0] if old else 0):
            raise ExpectationFailed(key, expect, item_of(old) if old else None)
        if old is None:
            if value is None:
                return state.current
        elif value == old[2]:
            return old[0]
        time = self._clock.now().timestamp()
        revision = state.current + 1
        deadline = None if ttl is None else self._deadline(time, value, ttl)
        state.append(revision, key, value, old, time, actor, cause, deadline)
        self._committed(revision, (key,))
        return revision

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        self._open()
        check_writes(writes)
        state = self._state
        changes: list[tuple[Write, LogEntry | None]] = []
        for write in writes:
            versions = state.versions.get(write.key)
            old = versions[-1] if versions and versions[-1].value is not None else None
            if write.expect is not None and write.expect != (old.revision if old else 0):
                raise ExpectationFailed(write.key, write.expect, item_of(old) if old else None)
            if write.value != (old.value if old else None):
                changes.append((write, old))
        if not changes:
            return state.current
        time = self._clock.now().timestamp()
        revision = state.current + 1
        for (key, value, _, ttl), old in changes:
            state.append(revision, key, value, old, time, actor, cause, self._deadline(time, value, ttl))
        self._committed(revision, [write.key for write, _ in changes])
        return revision

    def _deadline(self, time: float, value: bytes | None, ttl: float | None) -> float | None:
        if ttl is None or value is None:
            return None
        self._upkeep.expect(time + ttl)
        return time + ttl

    def _committed(self, revision: int, keys: Sequence[str]) -> None:
        """Makes a revision the current one, after all its entries are in the log."""
        state = self._state
        state.current = revision
        if self._listeners:
            events = state.events[first_after(state.events, revision - 1) :]
            for listener in self._listeners:
                listener.published(events)
        if self._followers.waiting:
            self._followers.publish(revision, keys)
        if revision >= self._trim_revision or state.size > self._trim_size:
            self._trim()

    # Following

    @property
    def purged(self) -> int:
        return self._state.purged

    def listen(self, listener: Listener) -> None:
        """Reports all further revisions to a listener, before commits return and before watches receive events."""
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        """Ends the reports to a listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def watch(self, prefix: str, after: int | None = None) -> Cursor:
        return Cursor(self, self._followers, prefix, after)

    def recent(self, after: int) -> Sequence[Event] | None:
        if after < self._state.oldest:
            return None
        events = self._state.events
        return complete_revisions(events, first_after(events, after), STEP)

    async def older(self, after: int) -> Sequence[Event]:
        self._state.bounds.check(after)
        return ()

    # Expiry and compaction

    async def compact(self, to: int) -> None:
        self._open()
        if to > self._state.current:
            raise TooEarly(to, self._state.current)
        if to > self._state.oldest:
            self._state.compact(to)
            self._plan_trim()

    @property
    def purges_single_keys(self) -> bool:
        return True

    async def purge(self, selection: Selection, purge: Purge, after: str = "", limit: int = 0) -> PurgedPage:
        self._open()
        keys = [selection.key]
        if selection.is_prefix:
            keys = self._state.keys_after(selection.key, after, limit)
        removed = []
        for place, key in enumerate(keys):
            if place and place % _PURGED_AT_ONCE == 0:
                await asyncio.sleep(0)
                self._open()
            if number := self._state.purge(key, selection, purge):
                removed.append((key, number))
        more = selection.is_prefix and limit and len(keys) == limit
        return PurgedPage(removed, keys[-1] if more else None)

    async def scrub(self, *, always: bool = False) -> None:
        """Only checks that the store is open: there is no file, and the values are freed with their last reference."""
        self._open()

    async def maintain(self) -> None:
        self._open()
        state, now = self._state, self._clock.now().timestamp()
        for key in state.deadlines.due(now):
            revision = state.current + 1
            state.append(revision, key, None, state.versions[key][-1], now, EXPIRY, None, None)
            self._committed(revision, (key,))
        self._trim()

    def _trim(self) -> None:
        """Compacts to the retention policy."""
        age, revisions, size = self._retention
        state = self._state
        to = state.oldest
        if revisions is not None:
            to = max(to, state.current - revisions)
        if size is not None and state.size > size:
            excess = state.size - size
            for event in state.events:
                excess -= cost(event)
                if excess <= 0:
                    to = max(to, event.entry.revision)
                    break
        if age is not None:
            before = self._clock.now().timestamp() - age
            for event in state.events:
                if event.entry.time > before:
                    break
                to = max(to, event.entry.revision)
        if to > state.oldest:
            state.compact(to)
        self._plan_trim()

    def _plan_trim(self) -> None:
        """Sets the revision and the size at which to trim next, and the timer for entries that grow too old."""
        # A compaction or a restoration has just happened: the log no longer has some of the values.
        self._pasts.clear()
        age, revisions, size = self._retention
        state = self._state
        self._trim_size = inf if size is None else size + size // _STRIDE
        self._trim_revision = inf if revisions is None else state.oldest + revisions + revisions // _STRIDE + 1
        if age is not None:
            if state.events:
                self._upkeep.expect(self._too_old(age))
            else:  # the first event after an idle period starts the timer
                self._trim_revision = state.current + 1

    def _too_old(self, age: float) -> float:
        """Returns the time at which a stride of events will be older than `age`."""
        return self._state.events[0].entry.time + age + age / _STRIDE

    def _due(self) -> float | None:
        """Returns the time of the next expiry or compaction by age, or None."""
        times = [self._state.deadlines.next()]
        if self._retention.age is not None and self._state.events:
            times.append(self._too_old(self._retention.age))
        return min((time for time in times if time is not None), default=None)

    # Snapshots

    async def snapshot(self) -> MemorySnapshot:
        self._open()
        return self._state.snapshot()

    async def restore(self, snapshot: Snapshot | bytes) -> int:
        self._open()
        if isinstance(snapshot, MemorySnapshot):
            self._state.restore(snapshot)
        else:
            self._state.load(load(snapshot if isinstance(snapshot, bytes) else snapshot.dump()))
        self.restored = self._state.current
        for listener in self._listeners:
            listener.restored()
        self._followers.wake_all(self.restored)
        self._plan_trim()
        self._expect_upkeep()
        return self.restored

    def _expect_upkeep(self) -> None:
        due = self._due()
        if due is not None:
            self._upkeep.expect(due)

    async def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._followers.wake_all(self._state.current)
            await self._upkeep.close()

    def _open(self) -> None:
        if self.closed:
            raise Closed("the store is closed")
