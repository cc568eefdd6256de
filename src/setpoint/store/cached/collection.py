"""The current objects of one resource in memory, and the same objects at a recent revision.

Values are the bytes of the store.
"""

from collections.abc import Iterator
from itertools import islice

from setpoint.store.cached.past import Past
from setpoint.store.contract import Event, Item
from setpoint.store.keys import KeyOrder, prefix_end

# The approximate bytes of an object beside its key and value.
_OVERHEAD = 300


def collection_of(key: str) -> str:
    """Returns the prefix that a key shares with all objects of its resource: two segments. Empty if the key, or the
    prefix of keys, has fewer."""
    first = key.find("/", 1)
    return "" if first < 0 else key[: key.find("/", first + 1) + 1]


def cost(key: str, value: bytes) -> int:
    """Returns the approximate number of bytes of an item."""
    return _OVERHEAD + len(key) + len(value)


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
            self.size -= cost(old.key, old.value)

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
            self.size -= cost(old.key, old.value)
        self._items[item.key] = item
        self.size += cost(item.key, item.value)

    def release(self) -> dict[str, Item]:
        """Returns the objects, and forgets them."""
        items, self._items = self._items, {}
        return items

    # Reading

    def get(self, key: str, past: Past | None = None) -> Item | None:
        item = self._items.get(key)
        return item if past is None else past.item(key, item)

    def items(self, prefix: str, after: str, limit: int, past: Past | None = None) -> list[Item]:
        """Returns the items with a prefix after a key, at most `limit` unless 0."""
        items = self._items
        keys: Iterator[str] = self._order.after(after, prefix, prefix_end(prefix))
        if past is None:
            return [items[key] for key in (islice(keys, limit) if limit else keys)]
        return list(islice(past.items(keys, items.get, prefix, after), limit or None))

    def count(self, prefix: str, after: str = "", past: Past | None = None) -> int:
        """Returns the number of items with a prefix after a key."""
        end = prefix_end(prefix)
        start = prefix if after < prefix else after + "\0"
        number = self._order.rank(end) - self._order.rank(start)
        return number if past is None else number + past.difference(self._items.get, prefix, after)
