"""Indexes of the current objects by the terms in them, such as labels, fields and owners: a selector reads only the
objects that match.

The second use of a term by a user builds an index, in slices; from its beginning all changes are applied. Objects at a
recent revision are those in the index and those that changed since then.

The number of indexes and of the objects in them is bounded, in total and for each user (`index_users`): beyond its own
bound a user replaces only its own indexes. An index is dropped when more changes were applied since its last use than
a new one would read.
"""

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from setpoint.store.bounds import Bounds
from setpoint.store.cached.collection import collection_of
from setpoint.store.cached.index_users import IndexUsers
from setpoint.store.cached.publishing import Listener
from setpoint.store.cached.term_index import Place, TermIndex, Wanted
from setpoint.store.contract import Event, Item, TooEarly, TooLate

# The number of indexes of a server, and of the objects in all of them, each about 150 bytes.
_INDEXES, _ENTRIES = 64, 500_000
# The number of objects that are added or read before other tasks run, and of the bytes of added ones: a field may need
# the decoded object.
_SLICE, _SLICE_BYTES = 128, 256 << 10
# Fewer changes than these drop no index.
_UNUSED = 1000
# The number of changes that are remembered for reads of recent revisions.
_REMEMBERED = 5000
# Of fewer objects, an index is not worth its place: another one may have to go.
_LEAST = 100
# With more matches, a second index may be worth its cost.
_MANY = 256

Pause: TypeAlias = Callable[[], Awaitable[None]]
_log = logging.getLogger(__name__)


@runtime_checkable
class HeldState(Protocol):
    """A store with current objects in memory, which reports all changes."""

    @property
    def current(self) -> int: ...

    @property
    def bounds(self) -> Bounds: ...

    async def revision(self) -> int: ...

    async def get(self, key: str, at: int | None = None) -> Item | None: ...

    async def count(self, prefix: str, at: int | None = None) -> int: ...

    async def holds(self, prefix: str) -> bool: ...

    def scan(self, prefix: str, after: str, limit: int, at: int | None) -> Sequence[Item]: ...

    def peek(self, key: str) -> Item | None: ...

    def listen(self, listener: Listener) -> None: ...

    def unlisten(self, listener: Listener) -> None: ...


class Selected(NamedTuple):
    """The objects with a term at a revision, in key order, and possibly others; `more` if there are further ones."""

    items: Sequence[Item]
    revision: int
    more: bool


class Range(NamedTuple):
    """The wanted part of the objects: a prefix, the key to start after, the maximum number, and the revision. The
    collections are those of a prefix that has several of them."""

    prefix: str
    after: str = ""
    limit: int = 0
    at: int | None = None
    collections: Sequence[str] = ()


async def _turn() -> None:
    await asyncio.sleep(0)


class TermIndexes:
    """The indexes of a server."""

    def __init__(self, store: HeldState) -> None:
        self._store = store
        # The number of objects of a resource from which on indexes are built.
        self.least = _LEAST
        self._indexes: dict[Place, TermIndex] = {}
        self._users = IndexUsers(self._indexes)
        self._by_prefix: dict[str, dict[Place, TermIndex]] = {}
        self._building: dict[Place, asyncio.Task[None]] = {}
        # The last changes of indexed objects: all of them after the revision.
        self._changes: deque[tuple[int, str]] = deque()
        self._changes_after = 0
        # Without indexes, the changes are of no interest.
        self._listens = False

    def __len__(self) -> int:
        """Returns the number of objects in all indexes."""
        return sum(map(len, self._indexes.values()))

    @property
    def number(self) -> int:
        """The number of indexes."""
        return len(self._indexes)

    def close(self) -> None:
        """Ends the indexes."""
        self._store.unlisten(self)
        for task in self._building.values():
            task.cancel()

    # Following

    def published(self, events: Sequence[Event]) -> None:
        for event in events:
            entry = event.entry
            places = [*self._by_prefix.get(collection_of(entry.key), {}).items(), *self._by_prefix.get("", {}).items()]
            if not places:
                continue
            item = None if entry.value is None else Item(entry.key, entry.value, entry.revision, entry.created)
            self._put(places, entry.key, item)
            self._changes.append((entry.revision, entry.key))
            if len(self._changes) > _REMEMBERED:
                self._changes_after = self._changes.popleft()[0]
            for place, index in places:
                index.unused += 1
                if index.unused > max(_UNUSED, index.cost):
                    self._drop([place])
        while len(self) > _ENTRIES:
            self._drop(self._users.displace(by_number=False))

    def _put(self, places: Iterable[tuple[Place, TermIndex]], key: str, item: Item | None) -> None:
        """Sets the terms of an object, or of a deleted one, in indexes."""
        parsed: dict[Callable[[Item], Any], Any] = {}
        for place, index in places:
            term = index.term
            try:
                if item is not None and term.parse not in parsed:
                    parsed[term.parse] = term.parse(item)
                index.put(key, () if item is None else term.pick(parsed[term.parse]))
            except Exception as error:  # the writer of the object must not fail, and the reader meets the same error
                _log.debug("the index of %s was dropped: %s: %s", term.name, key, error)
                self._drop([place])

    def restored(self) -> None:
        self._drop(list(self._indexes))
        self._users.clear()
        self._changes.clear()

    # Selecting

    async def select(self, user: str, wanted: Sequence[Wanted], within: Range, pause: Pause = _turn) -> Selected | None:
        """Returns the objects that have one of the wanted terms, the rarest one with an index. Returns None at the
        first use of the terms, or if an index does not have the objects: the caller then reads all objects."""
        await self._store.revision()  # the state contains all writes before the request from here on
        prefix = collection_of(within.prefix)
        if within.at is None:
            await self._ensure(user, wanted, prefix, within)
        known = [
            (index.count(value), place, value)
            for term, value in wanted
            if (index := self._indexes.get(place := (prefix, term.identity))) is not None and index.is_complete
        ]
        if not known:
            return None
        _, place, value = min(known, key=lambda each: each[0])
        index = self._indexes[place]
        self._users.use(user, place)
        self._drop(self._users.excess((user,)))
        revision = self._store.current if within.at is None else within.at
        most = within.limit + 1 if within.limit else None
        keys = self._keys(index, value, within, revision, most)
        if keys is None or self._store.bounds.too_late(revision) is not None:
            return None
        try:
            items = await self._read(keys, revision, most, pause)
        except (TooLate, TooEarly):
            return None
        more = most is not None and len(items) == most
        return Selected(items[:-1] if more else items, revision, more)

    def _keys(
        self, index: TermIndex, value: str, within: Range, revision: int, most: int | None
    ) -> Sequence[str] | None:
        """Returns the keys of all objects that had a value at a revision, or of the first `most` of them, and possibly
        of others; None if that is not known."""
        keys = index.keys(value, within.prefix, within.after)
        if revision >= self._store.current:
            return list(islice(keys, most)) if revision == self._store.current else None
        if revision < index.since or revision < self._changes_after:
            return None
        changed: set[str] = set()
        for changed_at, key in reversed(self._changes):
            if changed_at <= revision:
                break
            if key > within.after and key.startswith(within.prefix):
                changed.add(key)
        merged = heapq.merge((key for key in keys if key not in changed), sorted(changed))
        # Each of the changed objects may not have existed.
        return list(islice(merged, None if most is None else most + len(changed)))

    async def _read(self, keys: Sequence[str], revision: int, most: int | None, pause: Pause) -> list[Item]:
        """Reads the first `most` objects at a revision. Others may change the index meanwhile, but not these keys."""
        found: list[Item] = []
        for number, key in enumerate(keys):
            if number and number % _SLICE == 0:
                await pause()
            item = self._store.peek(key)
            if item is None or item.revision > revision:
                item = await self._store.get(key, revision)
            if item is not None:
                found.append(item)
                if len(found) == most:
                    break
        return found

    # Building

    async def _ensure(self, user: str, wanted: Sequence[Wanted], prefix: str, within: Range) -> None:
        """Builds the index of the first term at the second use, and those of further terms while the matches are
        many."""
        read = cost = 0
        if prefix and any((prefix, term.identity) not in self._indexes for term, _ in wanted):
            read, cost = await self._store.count(within.prefix), await self._store.count(prefix)
            if cost < self.least:
                return
        for term, value in wanted:
            place = prefix, term.identity
            index = self._indexes.get(place)
            if index is None:
                if not self._users.is_due(user, place, read, cost):
                    continue
                index = self._add(place, TermIndex(term, self._store.current))
                self._users.use(user, place)
                self._start(place, index, within.collections or (prefix,))
            if not index.is_complete and place in self._building:
                # A failed or cancelled build leaves no index.
                await asyncio.wait([self._building[place]])
            if index.is_complete and index.count(value) <= _MANY:
                return

    def _add(self, place: Place, index: TermIndex) -> TermIndex:
        if not self._listens:
            self._listens = True
            self._store.listen(self)
        self._indexes[place] = index
        self._by_prefix.setdefault(place[0], {})[place] = index
        return index

    def _start(self, place: Place, index: TermIndex, collections: Sequence[str]) -> None:
        task = self._building[place] = asyncio.ensure_future(self._build(place, index, collections))
        task.add_done_callback(lambda done: self._built(place, index, done))

    def _built(self, place: Place, index: TermIndex, task: asyncio.Task[None]) -> None:
        if self._building.get(place) is task:
            del self._building[place]
        if not task.cancelled():
            task.exception()  # the caller reads all objects, and meets the same error
        if not index.is_complete and self._indexes.get(place) is index:
            self._drop([place])

    async def _build(self, place: Place, index: TermIndex, collections: Sequence[str]) -> None:
        for prefix in collections:
            if not await self._store.holds(prefix):
                return
            after = ""
            # Each slice has the objects of its moment; the changes after that moment are applied.
            while items := self._store.scan(prefix, after, _SLICE, None):
                size = 0
                for item in items:
                    self._put(((place, index),), item.key, item)
                    index.cost += 1
                    after = item.key
                    size += len(item.value)
                    if size >= _SLICE_BYTES:
                        break
                self._bound(index)
                if self._indexes.get(place) is not index:
                    return
                await asyncio.sleep(0)
        self._bound(index)
        index.is_complete = self._indexes.get(place) is index

    def _bound(self, index: TermIndex) -> None:
        """Applies the bounds, of the users of an index and of all users."""
        self._drop(self._users.excess(list(index.users)))
        while len(self._indexes) > _INDEXES:
            self._drop(self._users.displace(by_number=True))
        while len(self) > _ENTRIES:
            self._drop(self._users.displace(by_number=False))

    def _drop(self, places: Iterable[Place]) -> None:
        for place in places:
            index = self._indexes.get(place)
            if index is not None:
                self._users.dropped(place, index)
                del self._indexes[place], self._by_prefix[place[0]][place]
