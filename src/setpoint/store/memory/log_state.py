"""The log in memory: the versions of every key, the events in order, and the sorted keys.

Every key has a list of its versions, oldest first, so past values are found by bisection. Those lists and the log are
only appended to; compaction makes new lists. That is why a snapshot is O(1): the snapshot keeps references and its
revision, and later entries are beyond that revision. Restoring costs one pass over the keys.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.cached.past import Past
from setpoint.store.contract import Event, Item, LogEntry, Purge, Purged, Selection
from setpoint.store.deadlines import Deadlines
from setpoint.store.dump import Contents, dump
from setpoint.store.follow import complete_revisions, first_after, revision_of
from setpoint.store.keys import KeyOrder, prefix_end
from setpoint.store.purge_rules import emptied, last_purged, selected

# The approximate bytes of an entry beside its key and value.
_OVERHEAD = 400

_new = tuple.__new__  # makes a named tuple in half the time


def _revision(entry: LogEntry) -> int:
    return entry[0]


def cost(event: Event) -> int:
    """Returns the approximate number of bytes of an event."""
    entry = event.entry
    return _OVERHEAD + len(entry.key) + len(entry.value or b"")


def item_of(entry: LogEntry) -> Item | None:
    value = entry[2]
    return None if value is None else _new(Item, (entry[1], value, entry[0], entry[4]))


def item_at(versions: list[LogEntry], revision: int) -> Item | None:
    """Returns the item of a key at a revision. Raises Purged."""
    place = bisect_right(versions, revision, key=_revision)
    if not place:
        return None
    entry = versions[place - 1]
    if entry.purged is not None:
        oldest = versions[place].revision if place < len(versions) else entry.revision
        raise Purged(revision, oldest, entry.key, entry.purged)
    return item_of(entry)


def exists_at(versions: list[LogEntry], revision: int) -> bool:
    """Returns whether a key existed at a revision, also one whose value was purged."""
    place = bisect_right(versions, revision, key=_revision)
    return place > 0 and (versions[place - 1].value is not None or versions[place - 1].purged is not None)


def _survivors(versions: Mapping[str, list[LogEntry]], oldest: int) -> list[LogEntry]:
    """Returns the entries at or before the oldest revision that make up its state."""
    return sorted((kept[0] for kept in versions.values() if kept[0].revision <= oldest), key=lambda entry: entry[:2])


class _Removed(NamedTuple):
    """The loss of one key in a purge: the number and the bytes of the values, and the last event that lost one."""

    number: int = 0
    size: int = 0
    last: int = 0


def _purge(versions: list[LogEntry], events: list[Event], places: list[int], purge: Purge) -> _Removed:
    """Removes the values at some indexes of a key's versions, in place, so that all sharers of the lists lose them."""
    size = 0
    for place in places:
        size += len(versions[place].value or b"")
        versions[place] = emptied(versions[place], purge)
    last = 0
    # An event also holds the value that its entry replaced.
    touched = {near for each in places for near in (each, each + 1) if near < len(versions)}
    for place in sorted(touched):
        entry = versions[place]
        at = bisect_left(events, entry.revision, key=revision_of)
        while at < len(events) and events[at].entry.revision == entry.revision:
            if events[at].entry.key == entry.key:
                replaced = versions[place - 1].value if place and entry.previous else None
                events[at] = Event(entry, replaced)
                last = entry.revision
            at += 1
    return _Removed(len(places), size, last)


class MemorySnapshot:
    """The state at one revision. The shared lists may grow, but only by entries after that revision."""

    def __init__(self, owner: "State") -> None:
        self.owner = owner
        self.bounds = owner.bounds
        self.versions = owner.versions
        self.events = owner.events
        self.live = owner.live
        self.deleted = owner.deleted
        self.deadlines = owner.deadlines.freeze()
        self.purged = owner.purged

    @property
    def revision(self) -> int:
        return self.bounds.current

    def dump(self) -> bytes:
        events = self.events[: first_after(self.events, self.revision)]
        entries = [*_survivors(self.versions, self.bounds.oldest), *(event.entry for event in events)]
        return dump(Contents(self.bounds, entries, self.deadlines))


class State:
    """The complete state of a store in memory."""

    def __init__(self) -> None:
        self.current = 0
        self.oldest = 0
        self._gaps: tuple[tuple[int, int], ...] = ()
        # The versions of each key, never empty; at most the first is at or before `oldest`, and that is no deletion.
        self.versions: dict[str, list[LogEntry]] = {}
        # Every event after `oldest`, and the bytes of all of them.
        self.events: list[Event] = []
        self.size = 0
        # The existing keys, and the deleted keys that still have versions.
        self.live = KeyOrder()
        self.deleted = KeyOrder()
        self.deadlines = Deadlines()
        # True if a snapshot refers to the log and the versions, which then must not lose entries in place, or to the
        # key orders, which then must not change in place.
        self._log_is_shared = False
        self._keys_are_shared = False
        # No event after this revision has lost a value in a purge.
        self.purged = 0
        # The number of purges so far, of any key.
        self.purges = 0
        # The snapshots that are still referenced: a purge covers them too.
        self._snapshots: WeakSet[MemorySnapshot] = WeakSet()
        # The stores that were restored from snapshots of this store, and the revision up to which they share its past.
        self._forks: WeakKeyDictionary[State, int] = WeakKeyDictionary()

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.oldest, self.current, self._gaps)

    # Reading

    def get(self, key: str, at: int | None) -> Item | None:
        versions = self.versions.get(key)
        if versions is None:
            return None
        return item_of(versions[-1]) if at is None else item_at(versions, at)

    def items(self, prefix: str, after: str, limit: int, *, counted: bool = True) -> tuple[list[Item], int]:
        """Returns at most `limit` items with a prefix after a key, and the number of further items."""
        end = prefix_end(prefix)
        items: list[Item] = []
        versions = self.versions
        for key in self.live.after(after, prefix, end):
            if limit and len(items) == limit:
                break
            revision, _, value, _, created, *_ = versions[key][-1]
            items.append(_new(Item, (key, value, revision, created)))
        full = counted and limit and len(items) == limit
        return items, self.live.rank(end) - self.live.rank(items[-1].key) - 1 if full else 0

    def item(self, key: str) -> Item | None:
        """Returns the current item of a key."""
        versions = self.versions.get(key)
        return None if versions is None else item_of(versions[-1])

    def items_of(self, past: Past, prefix: str, after: str) -> Iterator[Item]:
        """Yields the items with a prefix after a key in a recent past."""
        return past.items(self.live.after(after, prefix, prefix_end(prefix)), self.item, prefix, after)

    def count_of(self, past: Past, prefix: str, after: str = "") -> int:
        """Returns the number of items with a prefix after a key in a recent past."""
        start = prefix if after < prefix else after + "\0"
        now = self.live.rank(prefix_end(prefix)) - self.live.rank(start)
        return now + past.difference(self.item, prefix, after)

    def count(self, prefix: str) -> int:
        return self.live.rank(prefix_end(prefix)) - self.live.rank(prefix)

    def history(self, key: str, before: int | None, limit: int) -> list[LogEntry]:
        versions = self.versions.get(key, [])
        end = len(versions) if before is None else bisect_right(versions, before - 1, key=_revision)
        return versions[max(0, end - limit) if limit else 0 : end][::-1]

    def log(self, after: int, limit: int) -> list[LogEntry]:
        entries: list[LogEntry] = []
        if after < self.oldest:
            survivors = _survivors(self.versions, self.oldest)
            entries = survivors[bisect_right(survivors, after, key=_revision) :]
        if not limit or len(entries) < limit:
            events, start = self.events, first_after(self.events, after)
            wanted = complete_revisions(events, start, limit - len(entries)) if limit else events[start:]
            return [*entries, *(event.entry for event in wanted)]
        return entries[: bisect_right(entries, entries[limit - 1].revision, limit, key=_revision)]

    # Writing

    def append(
        self,
        revision: int,
        key: str,
        value: bytes | None,
        old: LogEntry | None,
        time: float,
        actor: Actor,
        cause: Cause | None,
        deadline: float | None,
    ) -> None:
        """Appends an entry to the log and updates the versions, keys, size and deadlines; `old` is the entry of the
        replaced value."""
        if old is None:
            entry: LogEntry = _new(LogEntry, (revision, key, value, 0, revision, time, actor, cause, None))
            self.events.append(_new(Event, (entry, None)))
        else:
            entry = _new(LogEntry, (revision, key, value, old[0], old[4], time, actor, cause, None))
            self.events.append(_new(Event, (entry, old[2])))
        if old is not None and value is not None:
            self.versions[key].append(entry)
        else:
            self._move_key(key, entry, appears=value is not None)
        self.size += _OVERHEAD + len(key) + (len(value) if value else 0)
        if deadline is not None or self.deadlines.times:
            self.deadlines.set(key, deadline)

    def _move_key(self, key: str, entry: LogEntry, *, appears: bool) -> None:
        """Records the creation or deletion of a key: moves the key between the orders of live and dead keys."""
        if self._keys_are_shared:
            self._unshare_keys()
        versions = self.versions.get(key)
        if versions is None:
            self.versions[key] = [entry]
        else:
            versions.append(entry)
            (self.deleted if appears else self.live).discard(key)
        (self.live if appears else self.deleted).add(key)

    def _unshare_keys(self) -> None:
        self.live, self.deleted = self.live.copy(), self.deleted.copy()
        self._keys_are_shared = False

    def compact(self, to: int) -> None:
        """Removes the entries that were superseded at or before a revision."""
        cut = first_after(self.events, to)
        gone = self.events[:cut]
        if self._log_is_shared:
            self.events, self.versions = self.events[cut:], dict(self.versions)
            self._log_is_shared = False
        else:
            del self.events[:cut]
        self.size -= sum(map(cost, gone))
        for key in {event.entry.key for event in gone}:
            self._compact_key(key, to)
        self.oldest, _, self._gaps = self.bounds.compacted(to)

    def _compact_key(self, key: str, to: int) -> None:
        versions = self.versions[key]
        place = bisect_right(versions, to, key=_revision) - 1
        if versions[place].value is None and versions[place].purged is None:
            place += 1
        if place == len(versions):
            del self.versions[key]
            if self._keys_are_shared:
                self._unshare_keys()
            self.deleted.discard(key)
        elif place:
            self.versions[key] = versions[place:]

    # Purging

    def keys_after(self, prefix: str, after: str, limit: int) -> list[str]:
        """Returns at most `limit` keys with a prefix after a key, including deleted keys that have versions."""
        end = prefix_end(prefix)
        keys = heapq.merge(self.live.after(after, prefix, end), self.deleted.after(after, prefix, end))
        return list(islice(keys, limit) if limit else keys)

    def purge(self, key: str, selection: Selection, purge: Purge) -> int:
        """Removes past values of a key from this store, from every snapshot, and from every store restored from a
        snapshot, as far as they share this past; returns the number of values that this store lost."""
        self.purges += 1
        versions = self.versions.get(key, [])
        removed = _purge(versions, self.events, selected(selection, versions), purge)
        self.size -= removed.size
        self.purged = max(self.purged, removed.last)
        for snapshot in self._snapshots:
            # A snapshot may share these lists, or have its own since a compaction.
            kept = snapshot.versions.get(key, [])
            inside = kept[: bisect_right(kept, snapshot.revision, key=_revision)]
            places = selected(selection, inside, versions)
            snapshot.purged = max(snapshot.purged, removed.last, _purge(kept, snapshot.events, places, purge).last)
        for fork, shared in list(self._forks.items()):
            until = shared if selection.through is None else min(shared, selection.through)
            fork.purge(key, selection._replace(through=until), purge)
        return removed.number

    # Snapshots

    def snapshot(self) -> MemorySnapshot:
        self._log_is_shared = self._keys_are_shared = True
        snapshot = MemorySnapshot(self)
        self._snapshots.add(snapshot)
        return snapshot

    def restore(self, snapshot: MemorySnapshot) -> None:
        """Replaces the state by that of a snapshot, under a new revision."""
        before = self.bounds
        self._adopt(snapshot)
        self.share_purges(snapshot)
        self.oldest, self.current, self._gaps = before.restored(snapshot.bounds)

    @classmethod
    def fork(cls, snapshot: MemorySnapshot, at: int | None = None) -> "State":
        """Returns a new state that continues from a snapshot, or from an earlier revision, with the same revisions and
        the same past. Raises TooEarly or TooLate for a revision that cannot be read."""
        made = cls.copied(snapshot, at)
        made.share_purges(snapshot)
        return made

    @classmethod
    def copied(cls, snapshot: MemorySnapshot, at: int | None = None) -> "State":
        """Returns the same as `fork`, and may run in a thread while the original store changes. The caller must then
        call `share_purges` in the thread of the original store, after checking that its `purges` is unchanged."""
        if at is not None:
            snapshot.bounds.check(at)
        made = cls()
        made._adopt(snapshot)
        if at is not None and at != made.current:
            made._rewind(at)
        return made

    def share_purges(self, snapshot: MemorySnapshot) -> None:
        """Lets purges of the original store remove values from the copied past as well."""
        if snapshot.owner is not self:
            snapshot.owner._forks[self] = snapshot.revision

    def _rewind(self, at: int) -> None:
        """Removes everything after a revision."""
        cut = first_after(self.events, at)
        later = {event.entry.key for event in self.events[cut:]}
        del self.events[cut:]
        self.size = sum(map(cost, self.events))
        self._unshare_keys()
        for key in later:
            kept = self.versions[key][: bisect_right(self.versions[key], at, key=_revision)]
            self.live.discard(key)
            self.deleted.discard(key)
            # The deadline of an earlier value is not recorded, and that of the removed value does not apply.
            self.deadlines.set(key, None)
            if kept:
                self.versions[key] = kept
                (self.deleted if kept[-1].value is None else self.live).add(key)
            else:
                del self.versions[key]
        self.current, self._gaps = at, tuple(gap for gap in self._gaps if gap[1] <= at)

    def _adopt(self, snapshot: MemorySnapshot) -> None:
        until = snapshot.revision
        versions = {}
        # The original store may add keys meanwhile, in another thread.
        for key, kept in list(snapshot.versions.items()):
            if kept[-1].revision > until:
                kept = kept[: bisect_right(kept, until, key=_revision)]
            elif snapshot.owner is not self:
                kept = kept.copy()
            if kept:
                versions[key] = kept
        events = snapshot.events[: first_after(snapshot.events, until)]
        self._replace_state(versions, events, snapshot.bounds, snapshot.deadlines)
        self.live, self.deleted, self._keys_are_shared = snapshot.live, snapshot.deleted, True
        self.purged = snapshot.purged
        # A value that was current in the snapshot and has been purged since cannot be restored.
        for key in [key for key, kept in versions.items() if kept[-1].purged is not None]:
            if self._keys_are_shared:
                self._unshare_keys()
            self.live.discard(key)
            self.deleted.discard(key)
            self.deleted.add(key)
            self.deadlines.set(key, None)

    def load(self, contents: Contents) -> None:
        """Replaces the state by the contents of a dump, under a new revision."""
        before = self.bounds
        self._load(contents)
        self.oldest, self.current, self._gaps = before.restored(contents.bounds)

    @classmethod
    def of(cls, contents: Contents) -> "State":
        """Returns a new state with the contents of a dump, and with its revisions."""
        made = cls()
        made._load(contents)
        return made

    def _load(self, contents: Contents) -> None:
        versions: dict[str, list[LogEntry]] = {}
        events: list[Event] = []
        for entry in contents.entries:
            kept = versions.setdefault(entry.key, [])
            if entry.revision > contents.bounds.oldest:
                events.append(Event(entry, kept[-1].value if kept else None))
            kept.append(entry)
        self._replace_state(versions, events, contents.bounds, contents.deadlines)
        self.purged = last_purged(contents.entries)
        self.live = KeyOrder(key for key, kept in versions.items() if kept[-1].value is not None)
        self.deleted = KeyOrder(key for key, kept in versions.items() if kept[-1].value is None)
        self._keys_are_shared = False

    def _replace_state(
        self,
        versions: dict[str, list[LogEntry]],
        events: list[Event],
        bounds: Bounds,
        deadlines: Mapping[str, float],
    ) -> None:
        self.versions, self.events, self._log_is_shared = versions, events, False
        self.size = sum(map(cost, events))
        self.deadlines = Deadlines(deadlines)
        self.oldest, self.current, self._gaps = bounds
