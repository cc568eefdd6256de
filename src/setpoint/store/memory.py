"""The store in memory: starts in microseconds, takes a snapshot in constant time, keeps as much past as it is told to.

Every key has the list of its versions, oldest first, so the past is a bisection away. Those lists and the log only ever
grow at their end; forgetting makes new ones. That is why a snapshot is O(1): it keeps references and its revision, and
what the store appends later lies beyond that revision. Restoring costs one pass over the keys.

A store belongs to one event loop at a time: a commit runs from beginning to end without a pause, which makes it atomic.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.contract import (
    EXPIRY,
    Closed,
    Entry,
    Event,
    Expect,
    ExpectationFailed,
    Item,
    Page,
    Retention,
    Snapshot,
    TooEarly,
    Write,
)
from setpoint.store.dump import Contents, dump, load
from setpoint.store.follow import STEP, Cursor, Followers, first_after, whole_revisions
from setpoint.store.keys import KeyOrder, check_key, check_writes, prefix_end
from setpoint.store.upkeep import Upkeep

# What an entry occupies beside its key and value, roughly.
_OVERHEAD = 400
# Forgetting is done in strides: the past may grow beyond its bounds by this part of them.
_STRIDE = 4

_new = tuple.__new__  # makes a named tuple in half the time


def _revision(entry: Entry) -> int:
    return entry[0]


def _cost(event: Event) -> int:
    entry = event.entry
    return _OVERHEAD + len(entry.key) + len(entry.value or b"")


def _item(entry: Entry) -> Item | None:
    revision, key, value, _, created, *_ = entry
    return None if value is None else _new(Item, (key, value, revision, created))


def _at(versions: list[Entry], revision: int) -> Item | None:
    place = bisect_right(versions, revision, key=_revision)
    return _item(versions[place - 1]) if place else None


class MemorySnapshot:
    """A store at one revision. What it refers to may grow, but only by what is later than that."""

    def __init__(
        self,
        owner: object,
        bounds: Bounds,
        versions: Mapping[str, list[Entry]],
        events: list[Event],
        live: KeyOrder,
        dead: KeyOrder,
        deadlines: Mapping[str, float],
    ) -> None:
        self.owner = owner
        self.bounds = bounds
        self.versions = versions
        self.events = events
        self.live = live
        self.dead = dead
        self.deadlines = deadlines

    @property
    def revision(self) -> int:
        return self.bounds.current

    def dump(self) -> bytes:
        events = self.events[: first_after(self.events, self.revision)]
        entries = [*_survivors(self.versions, self.bounds.oldest), *(event.entry for event in events)]
        return dump(Contents(self.bounds, entries, self.deadlines))


def _survivors(versions: Mapping[str, list[Entry]], oldest: int) -> list[Entry]:
    """The entries at or before the oldest revision that make up its state."""
    return sorted(kept[0] for kept in versions.values() if kept[0].revision <= oldest)


class MemoryStore:
    """The log in memory; `retention` bounds its past."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        retention: Retention = Retention(revisions=100_000, size=256 * 1024 * 1024),  # noqa: B008 - immutable
    ) -> None:
        self._clock = clock or SystemClock()
        self._retention = retention
        self._followers = Followers()
        self._upkeep = Upkeep(self._clock, self._due, self.maintain)
        self.closed = False
        self.current = 0  # the current revision
        self.restored = 0
        self._oldest = 0
        self._gaps: tuple[tuple[int, int], ...] = ()
        # The versions of each key, never empty; at most the first is at or before `_oldest`, and that is no deletion.
        self._versions: dict[str, list[Entry]] = {}
        # Every event after `_oldest`, and what all of them occupy.
        self._events: list[Event] = []
        self._size = 0
        # The keys that are there, and those that are not but have versions.
        self._live = KeyOrder()
        self._dead = KeyOrder()
        # When which key expires; the heap may also hold what no longer does.
        self._deadlines: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        # A snapshot refers to these: the first must not lose anything in place, the others must not change in place.
        self._log_is_shared = False
        self._keys_are_shared = False
        self._trim_revision = self._trim_size = inf
        self._limits()

    # Reading

    @property
    def bounds(self) -> Bounds:
        return Bounds(self._oldest, self.current, self._gaps)

    async def revision(self) -> int:
        self._open()
        return self.current

    async def oldest(self) -> int:
        self._open()
        return self._oldest

    async def get(self, key: str, at: int | None = None) -> Item | None:
        self._open()
        if at is not None:
            self.bounds.check(at)
        versions = self._versions.get(key)
        if versions is None:
            return None
        return _item(versions[-1]) if at is None else _at(versions, at)

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        self._open()
        if at is not None and at != self.current:
            return self._range_at(prefix, after, limit, at)
        end = prefix_end(prefix)
        items: list[Item] = []
        versions = self._versions
        for key in self._live.after(after, prefix, end):
            if limit and len(items) == limit:
                break
            revision, _, value, _, created, *_ = versions[key][-1]
            items.append(_new(Item, (key, value, revision, created)))
        remaining = 0
        if limit and len(items) == limit:
            remaining = self._live.rank(end) - self._live.rank(items[-1].key) - 1
        return Page(items, self.current, remaining)

    def _range_at(self, prefix: str, after: str, limit: int, at: int) -> Page:
        self.bounds.check(at)
        found = [item for item in self._items_at(prefix, at) if item.key > after]
        items = found[:limit] if limit else found
        return Page(items, at, len(found) - len(items))

    def _items_at(self, prefix: str, at: int) -> Iterator[Item]:
        end = prefix_end(prefix)
        for key in heapq.merge(self._live.between(prefix, end), self._dead.between(prefix, end)):
            item = _at(self._versions[key], at)
            if item is not None:
                yield item

    async def count(self, prefix: str, at: int | None = None) -> int:
        self._open()
        if at is None or at == self.current:
            return self._live.rank(prefix_end(prefix)) - self._live.rank(prefix)
        self.bounds.check(at)
        return sum(1 for _ in self._items_at(prefix, at))

    async def history(self, key: str, before: int | None = None, limit: int = 0) -> Sequence[Entry]:
        self._open()
        versions = self._versions.get(key, [])
        end = len(versions) if before is None else bisect_right(versions, before - 1, key=_revision)
        return versions[max(0, end - limit) if limit else 0 : end][::-1]

    async def log(self, after: int = 0, limit: int = 0) -> Sequence[Entry]:
        self._open()
        entries = [event.entry for event in self._events[first_after(self._events, after) :]]
        if after < self._oldest:
            survivors = _survivors(self._versions, self._oldest)
            entries[:0] = survivors[bisect_right(survivors, after, key=_revision) :]
        if 0 < limit < len(entries):
            del entries[bisect_right(entries, entries[limit - 1].revision, limit, key=_revision) :]
        return entries

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
        versions = self._versions.get(key)
        if versions is None:
            check_key(key)
            old = None
        else:
            newest = versions[-1]
            old = None if newest[2] is None else newest
        if expect is not None and expect != (old[0] if old else 0):
            raise ExpectationFailed(key, expect, _item(old) if old else None)
        if old is None:
            if value is None:
                return self.current
        elif value == old[2]:
            return old[0]
        revision = self.current + 1
        self._append(revision, key, value, old, self._clock.now().timestamp(), actor, cause, ttl)
        self.current = revision
        if self._followers.waiting:
            self._followers.publish(revision, (key,))
        if revision >= self._trim_revision or self._size > self._trim_size:
            self._trim()
        return revision

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        self._open()
        check_writes(writes)
        changes: list[tuple[Write, Entry | None]] = []
        for write in writes:
            versions = self._versions.get(write.key)
            old = versions[-1] if versions and versions[-1].value is not None else None
            if write.expect is not None and write.expect != (old.revision if old else 0):
                raise ExpectationFailed(write.key, write.expect, _item(old) if old else None)
            if write.value != (old.value if old else None):
                changes.append((write, old))
        if not changes:
            return self.current
        revision = self.current + 1
        time = self._clock.now().timestamp()
        for write, old in changes:
            self._append(revision, write.key, write.value, old, time, actor, cause, write.ttl)
        self.current = revision
        if self._followers.waiting:
            self._followers.publish(revision, [write.key for write, _ in changes])
        if revision >= self._trim_revision or self._size > self._trim_size:
            self._trim()
        return revision

    def _append(
        self,
        revision: int,
        key: str,
        value: bytes | None,
        old: Entry | None,
        time: float,
        actor: Actor,
        cause: Cause | None,
        ttl: float | None,
    ) -> None:
        """One line of the log, and all that follows from it."""
        if old is None:
            entry: Entry = _new(Entry, (revision, key, value, 0, revision, time, actor, cause))
            self._events.append(_new(Event, (entry, None)))
        else:
            entry = _new(Entry, (revision, key, value, old[0], old[4], time, actor, cause))
            self._events.append(_new(Event, (entry, old[2])))
        if old is not None and value is not None:
            self._versions[key].append(entry)
        else:
            self._move_key(key, entry, appears=value is not None)
        self._size += _OVERHEAD + len(key) + (len(value) if value else 0)
        if ttl is not None or self._deadlines:
            self._set_deadline(key, None if ttl is None or value is None else time + ttl)

    def _move_key(self, key: str, entry: Entry, appears: bool) -> None:
        """A key appears or vanishes: it changes from one order to the other."""
        if self._keys_are_shared:
            self._unshare_keys()
        versions = self._versions.get(key)
        if versions is None:
            self._versions[key] = [entry]
        else:
            versions.append(entry)
            (self._dead if appears else self._live).discard(key)
        (self._live if appears else self._dead).add(key)

    def _set_deadline(self, key: str, deadline: float | None) -> None:
        if self._keys_are_shared:
            self._unshare_keys()
        if deadline is None:
            self._deadlines.pop(key, None)
            return
        self._deadlines[key] = deadline
        heapq.heappush(self._heap, (deadline, key))
        if len(self._heap) > 2 * len(self._deadlines) + 1000:
            self._heap = sorted((time, key) for key, time in self._deadlines.items())
        self._upkeep.expect(deadline)

    def _unshare_keys(self) -> None:
        self._live, self._dead, self._deadlines = self._live.copy(), self._dead.copy(), dict(self._deadlines)
        self._keys_are_shared = False

    # Following

    def watch(self, prefix: str, after: int | None = None) -> Cursor:
        return Cursor(self, self._followers, prefix, after)

    def recent(self, after: int) -> Sequence[Event] | None:
        if after < self._oldest:
            return None
        return whole_revisions(self._events, first_after(self._events, after), STEP)

    async def older(self, after: int) -> Sequence[Event]:
        self.bounds.check(after)
        return ()

    # Forgetting

    async def compact(self, to: int) -> None:
        self._open()
        if to > self.current:
            raise TooEarly(to, self.current)
        if to > self._oldest:
            self._compact(to)
            self._limits()

    async def maintain(self) -> None:
        self._open()
        self._expire()
        self._trim()

    def _compact(self, to: int) -> None:
        cut = first_after(self._events, to)
        gone = self._events[:cut]
        if self._log_is_shared:
            self._events, self._versions = self._events[cut:], dict(self._versions)
            self._log_is_shared = False
        else:
            del self._events[:cut]
        self._size -= sum(map(_cost, gone))
        for key in {event.entry.key for event in gone}:
            versions = self._versions[key]
            place = bisect_right(versions, to, key=_revision) - 1
            if versions[place].value is None:
                place += 1
            if place == len(versions):
                del self._versions[key]
                if self._keys_are_shared:
                    self._unshare_keys()
                self._dead.discard(key)
            elif place:
                self._versions[key] = versions[place:]
        self._oldest, _, self._gaps = self.bounds.compacted(to)

    def _trim(self) -> None:
        """Forgets what lies beyond the retention policy."""
        age, revisions, size = self._retention
        to = self._oldest
        if revisions is not None:
            to = max(to, self.current - revisions)
        if size is not None and self._size > size:
            excess = self._size - size
            for event in self._events:
                excess -= _cost(event)
                if excess <= 0:
                    to = max(to, event.entry.revision)
                    break
        if age is not None:
            before = self._clock.now().timestamp() - age
            for event in self._events:
                if event.entry.time > before:
                    break
                to = max(to, event.entry.revision)
        if to > self._oldest:
            self._compact(to)
        self._limits()

    def _limits(self) -> None:
        """Sets the revision and the size at which to trim next, and the timer for what grows too old."""
        age, revisions, size = self._retention
        self._trim_size = inf if size is None else size + size // _STRIDE
        self._trim_revision = inf if revisions is None else self._oldest + revisions + revisions // _STRIDE + 1
        if age is not None:
            if self._events:
                self._upkeep.expect(self._too_old(age))
            else:  # the first event after a silence starts the timer
                self._trim_revision = self.current + 1

    def _too_old(self, age: float) -> float:
        """When there will be a stride of events that are older than that."""
        return self._events[0].entry.time + age + age / _STRIDE

    def _expire(self) -> None:
        now = self._clock.now().timestamp()
        while self._heap and self._heap[0][0] <= now:
            deadline, key = heapq.heappop(self._heap)
            if self._deadlines.get(key) == deadline:
                revision = self.current + 1
                self._append(revision, key, None, self._versions[key][-1], now, EXPIRY, None, None)
                self.current = revision
                self._followers.publish(revision, (key,))

    def _due(self) -> float | None:
        """When there is next something to expire, or to forget for its age."""
        while self._heap and self._deadlines.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        times = [self._heap[0][0]] if self._heap else []
        if self._retention.age is not None and self._events:
            times.append(self._too_old(self._retention.age))
        return min(times, default=None)

    # The whole

    async def snapshot(self) -> MemorySnapshot:
        self._open()
        self._log_is_shared = self._keys_are_shared = True
        return MemorySnapshot(self, self.bounds, self._versions, self._events, self._live, self._dead, self._deadlines)

    async def restore(self, snapshot: Snapshot | bytes) -> int:
        self._open()
        if isinstance(snapshot, MemorySnapshot):
            self._adopt(snapshot)
        else:
            self._load(load(snapshot if isinstance(snapshot, bytes) else snapshot.dump()))
        self._size = sum(map(_cost, self._events))
        self._heap = sorted((deadline, key) for key, deadline in self._deadlines.items())
        self.restored = self.current
        self._limits()
        self._followers.wake_all(self.current)
        due = self._due()
        if due is not None:
            self._upkeep.expect(due)
        return self.current

    def _adopt(self, snapshot: MemorySnapshot) -> None:
        until = snapshot.revision
        versions = {}
        for key, kept in snapshot.versions.items():
            if kept[-1].revision > until:
                kept = kept[: bisect_right(kept, until, key=_revision)]
            elif snapshot.owner is not self:
                kept = kept.copy()
            if kept:
                versions[key] = kept
        self._versions = versions
        self._events = snapshot.events[: first_after(snapshot.events, until)]
        self._live, self._dead, self._deadlines = snapshot.live, snapshot.dead, dict(snapshot.deadlines)
        self._log_is_shared, self._keys_are_shared = False, True
        self._oldest, self.current, self._gaps = self.bounds.restored(snapshot.bounds)

    def _load(self, contents: Contents) -> None:
        versions: dict[str, list[Entry]] = {}
        events: list[Event] = []
        for entry in contents.entries:
            kept = versions.setdefault(entry.key, [])
            if entry.revision > contents.bounds.oldest:
                events.append(Event(entry, kept[-1].value if kept else None))
            kept.append(entry)
        self._versions, self._events = versions, events
        self._live = KeyOrder(key for key, kept in versions.items() if kept[-1].value is not None)
        self._dead = KeyOrder(key for key, kept in versions.items() if kept[-1].value is None)
        self._deadlines = dict(contents.deadlines)
        self._log_is_shared = self._keys_are_shared = False
        self._oldest, self.current, self._gaps = self.bounds.restored(contents.bounds)

    async def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._followers.wake_all(self.current)
            await self._upkeep.close()

    def _open(self) -> None:
        if self.closed:
            raise Closed("the store is closed")
