"""The current objects of one resource in memory, and the same objects at a recent revision.

Values are the bytes of the store. An older state is the current one with the changes since then undone: every event
has the value that the event replaced.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from setpoint.store.contract import Event, Item
from setpoint.store.keys import KeyOrder, prefix_end

# The approximate bytes of an object beside its key and value.
_OVERHEAD = 300

# The items that keys had before some events; None for a key that did not exist.
Undone: TypeAlias = Mapping[str, Item | None]


def collection_of(key: str) -> str:
    """Returns the prefix that a key shares with all objects of its resource: two segments. Empty if the key, or the
    prefix of keys, has fewer."""
    first = key.find("/", 1)
    return "" if first < 0 else key[: key.find("/", first + 1) + 1]


def cost(item: Item) -> int:
    """Returns the approximate number of bytes of an item."""
    return _OVERHEAD + len(item.key) + len(item.value)


def undo(events: Iterable[Event], prefix: str) -> Undone | None:
    """Returns the items of a prefix before some events; None if one of them was purged."""
    found: dict[str, Item | None] = {}
    for entry, previous_value in events:
        key = entry.key
        if key in found or not key.startswith(prefix):
            continue
        if not entry.previous:
            found[key] = None
        elif previous_value is None:
            return None
        else:
            found[key] = Item(key, previous_value, entry.previous, entry.created)
    return found


class Collection:
    """The objects of a resource. Complete once all of them have been read from the store; from the beginning, all
    events are applied."""

    __slots__ = ("_deleted", "_items", "_order", "estimate", "is_complete", "size")

    def __init__(self, *, is_complete: bool = False) -> None:
        self._items: dict[str, Item] = {}
        self._order = KeyOrder()
        # The deletions while the objects are read, so that a late read does not restore a deleted object.
        self._deleted: dict[str, int] = {}
        self.is_complete = is_complete
        self.size = 0
        # The expected size of a collection that did not fit into memory.
        self.estimate = 0

    def apply(self, event: Event) -> None:
        """Applies a change."""
        entry = event.entry
        if entry.value is not None:
            self._put(Item(entry.key, entry.value, entry.revision, entry.created))
            return
        if not self.is_complete:
            self._deleted[entry.key] = entry.revision
        old = self._items.pop(entry.key, None)
        if old is not None:
            self._order.discard(entry.key)
            self.size -= cost(old)

    def add_read(self, item: Item) -> None:
        """Adds an item that was read from the store, unless a later change of the key was applied."""
        known = self._items.get(item.key)
        if known is not None and known.revision >= item.revision:
            return
        if self._deleted.get(item.key, 0) <= item.revision:
            self._put(item)

    def complete(self) -> None:
        self.is_complete = True
        self._deleted.clear()

    def _put(self, item: Item) -> None:
        old = self._items.get(item.key)
        if old is None:
            self._order.add(item.key)
        else:
            self.size -= cost(old)
        self._items[item.key] = item
        self.size += cost(item)

    # Reading

    def get(self, key: str) -> Item | None:
        return self._items.get(key)

    def items(self, prefix: str, after: str, limit: int, undone: Undone | None = None) -> list[Item]:
        """Returns the items with a prefix after a key, at most `limit` unless 0."""
        items = self._items
        keys: Iterable[str] = self._order.after(after, prefix, prefix_end(prefix))
        if not undone:
            return [items[key] for key in (islice(keys, limit) if limit else keys)]
        found = (
            item
            for key in heapq.merge(keys, sorted(self._gone(prefix, after, undone)))
            if (item := undone[key] if key in undone else items[key]) is not None
        )
        return list(islice(found, limit or None))

    def count(self, prefix: str, after: str = "", undone: Undone | None = None) -> int:
        """Returns the number of items with a prefix after a key."""
        end = prefix_end(prefix)
        start = prefix if after < prefix else after + "\0"
        number = self._order.rank(end) - self._order.rank(start)
        if undone:
            number += sum(undone[key] is not None for key in self._gone(prefix, after, undone))
            number -= sum(
                item is None and key > after and key.startswith(prefix) and key in self._items
                for key, item in undone.items()
            )
        return number

    def _gone(self, prefix: str, after: str, undone: Undone) -> Iterator[str]:
        """Yields the keys with a prefix that existed before the undone events, but do not exist now."""
        return (key for key in undone if key > after and key.startswith(prefix) and key not in self._items)
