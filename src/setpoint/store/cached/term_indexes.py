"""Indexes of the current objects by the terms in them, such as labels: a selector reads only the objects that match.

An index of a resource and a name of a term has the keys of all objects by the value of that term. The second use
builds the index, in slices; from its beginning all changes are applied. The number of indexes is bounded: a new one
replaces the one whose last use is the longest ago. So is the number of objects in all of them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from setpoint.store.cached.collection import collection_of
from setpoint.store.cached.publishing import Listener
from setpoint.store.contract import Event, Item

# Returns the terms of a value, by name.
Terms: TypeAlias = Callable[[bytes], Mapping[str, str] | None]

# The number of indexes of a server, and of the terms that were used once.
_INDEXES, _USED = 16, 256
# The number of objects in all indexes together, each about 200 bytes.
_ENTRIES = 250_000
# The number of objects that are added before other tasks run.
_SLICE = 128
# More matches are not selected at once: reading them in slices costs little more.
_SELECTED = 2000


@runtime_checkable
class HeldState(Protocol):
    """A store with current objects in memory, which reports all changes."""

    @property
    def current(self) -> int: ...

    async def holds(self, prefix: str) -> bool: ...

    def scan(self, prefix: str, after: str, limit: int, at: int | None) -> Sequence[Item]: ...

    def peek(self, key: str) -> Item | None: ...

    def listen(self, listener: Listener) -> None: ...

    def unlisten(self, listener: Listener) -> None: ...


class Selected(NamedTuple):
    """All objects with a term, in key order, at the current revision."""

    items: Sequence[Item]
    revision: int


class _Index:
    """The keys of a resource by the value of one term."""

    __slots__ = ("_values", "is_complete", "keys", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: dict[str, dict[str, None]] = {}
        self._values: dict[str, str] = {}
        self.is_complete = False

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: str, terms: Mapping[str, str] | None) -> None:
        """Sets the terms of a key; None for a deleted object, or for one without terms."""
        value = terms.get(self.name) if terms else None
        old = self._values.get(key)
        if value == old:
            return
        if old is not None:
            keys = self.keys[old]
            del keys[key], self._values[key]
            if not keys:
                del self.keys[old]
        if value is not None:
            self.keys.setdefault(value, {})[key] = None
            self._values[key] = value


class TermIndexes:
    """The indexes of a server."""

    def __init__(self, store: HeldState, terms: Terms) -> None:
        self._store = store
        self._terms = terms
        # By resource and name, the least recently used first.
        self._indexes: dict[tuple[str, str], _Index] = {}
        self._by_resource: dict[str, list[_Index]] = {}
        self._used: dict[tuple[str, str], None] = {}
        self._building: dict[tuple[str, str], asyncio.Task[None]] = {}
        # Without indexes, the changes are of no interest.
        self._listens = False

    def __len__(self) -> int:
        """Returns the number of objects in all indexes."""
        return sum(map(len, self._indexes.values()))

    def close(self) -> None:
        """Ends the indexes."""
        self._store.unlisten(self)
        for task in self._building.values():
            task.cancel()

    # Following

    def published(self, events: Sequence[Event]) -> None:
        for event in events:
            entry = event.entry
            indexes = self._by_resource.get(collection_of(entry.key))
            if indexes:
                terms = None if entry.value is None else self._terms(entry.value)
                for index in indexes:
                    index.put(entry.key, terms)

    def restored(self) -> None:
        self._indexes.clear()
        self._by_resource.clear()
        self._building.clear()

    # Selecting

    async def select(self, prefix: str, name: str, value: str) -> Selected | None:
        """Returns the objects with a prefix whose term has a value. Returns None at the first use of a term, if the
        objects are not in memory, or if there are very many matches: the caller then reads all objects."""
        place = collection_of(prefix), name
        index = self._indexes.pop(place, None)
        if index is None:
            if place not in self._used:
                self._used[place] = None
                if len(self._used) > _USED:
                    del self._used[next(iter(self._used))]
                return None
            index = _Index(name)
        self._indexes[place] = index
        if not index.is_complete:
            await self._complete(place, index)
        if not await self._store.holds(prefix) or not index.is_complete or self._indexes.get(place) is not index:
            return None
        keys = index.keys.get(value, ())
        if len(keys) > _SELECTED:
            return None
        found = [item for key in sorted(keys) if key.startswith(prefix) and (item := self._store.peek(key)) is not None]
        return Selected(found, self._store.current)

    async def _complete(self, place: tuple[str, str], index: _Index) -> None:
        """Builds an index, or waits until another task has built the index."""
        task = self._building.get(place)
        if task is None:
            task = self._building[place] = asyncio.ensure_future(self._build(place, index))
            task.add_done_callback(lambda done: self._built(place, done))
        # A failed or cancelled build leaves an incomplete index, which is not used.
        await asyncio.wait([task])

    def _built(self, place: tuple[str, str], task: asyncio.Task[None]) -> None:
        if self._building.get(place) is task:
            del self._building[place]
        if not task.cancelled():
            task.exception()  # the caller reads all objects, and meets the same error

    async def _build(self, place: tuple[str, str], index: _Index) -> None:
        resource, _ = place
        if not await self._store.holds(resource):
            self._remove(place, index)
            return
        if not self._listens:
            self._listens = True
            self._store.listen(self)
        self._by_resource.setdefault(resource, []).append(index)
        while len(self._indexes) > _INDEXES:
            oldest = next(iter(self._indexes))
            self._remove(oldest, self._indexes[oldest])
        after = ""
        try:
            # Each slice has the objects of its moment; the changes after that moment are applied.
            while items := self._store.scan(resource, after, _SLICE, None):
                for item in items:
                    index.put(item.key, self._terms(item.value))
                after = items[-1].key
                while len(self) > _ENTRIES:
                    oldest = next(iter(self._indexes))
                    self._remove(oldest, self._indexes[oldest])
                if self._indexes.get(place) is not index:
                    return
                await asyncio.sleep(0)
            index.is_complete = True
        finally:
            if not index.is_complete:
                self._remove(place, index)

    def _remove(self, place: tuple[str, str], index: _Index) -> None:
        if self._indexes.get(place) is index:
            del self._indexes[place]
        indexes = self._by_resource.get(place[0], [])
        if index in indexes:
            indexes.remove(index)
