"""The state of a recent revision: the current one with the events since then undone.

Every event has the value that it replaced, so the first event of a key after a revision has the item of the key at
that revision. A request reads one revision in many parts, and pages of a list are requests of their own; the events
are therefore undone once, and only newer events later.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import groupby
from typing import Protocol

from setpoint.store.contract import Event, Item
from setpoint.store.keys import KeyOrder, prefix_end

# The maximum number of events that are undone.
_UNDONE = 5000
# The number of revisions that are kept, and the bytes of their values; a past that no read used while as many events
# arrived is dropped.
_KEPT, _KEPT_BYTES = 16, 16 << 20
_IDLE = 500
# More new keys are sorted together.
_MANY = 50


class Recent(Protocol):
    """A log with its newest events in memory."""

    @property
    def current(self) -> int: ...

    def recent(self, after: int) -> "Iterable[Event] | None":
        """Returns a step of the events after a revision, whole revisions; None if they are not in memory."""


class Past:
    """The items of the keys that changed after a revision, as they were at that revision."""

    __slots__ = ("_absent", "_items", "_present", "is_lost", "is_used", "number", "reached", "size")

    def __init__(self, revision: int) -> None:
        self._items: dict[str, Item | None] = {}
        # The changed keys that existed at the revision, and those that did not.
        self._present, self._absent = KeyOrder(), KeyOrder()
        # The revision up to which events were undone, and the number of these events.
        self.reached = revision
        self.number = 0
        # The bytes of the values.
        self.size = 0
        self.is_used = True
        # True if memory does not have all events since the revision.
        self.is_lost = False

    def undo(self, events: Iterable[Event], prefix: str) -> bool:
        """Undoes the next events. Returns False if one of the replaced values was purged."""
        items = self._items
        present: list[str] = []
        absent: list[str] = []
        for entry, previous_value in events:
            key = entry.key
            if key in items or not key.startswith(prefix):
                continue
            if not entry.previous:
                items[key] = None
                absent.append(key)
            elif previous_value is None:
                return False
            else:
                items[key] = Item(key, previous_value, entry.previous, entry.created)
                present.append(key)
                self.size += len(previous_value)
        self._present = _with(self._present, present)
        self._absent = _with(self._absent, absent)
        return True

    def item(self, key: str, current: Item | None) -> Item | None:
        """Returns the item of a key at the revision; `current` is the current item."""
        return self._items.get(key, current)

    def items(
        self, keys: Iterator[str], current: Callable[[str], Item | None], prefix: str, after: str
    ) -> Iterator[Item]:
        """Yields the items with a prefix after a key at the revision; `keys` are the current keys of this part."""
        present = self._present.after(after, prefix, prefix_end(prefix))
        for key, _ in groupby(merge(keys, present)):
            item = self._items[key] if key in self._items else current(key)
            if item is not None:
                yield item

    def difference(self, current: Callable[[str], Item | None], prefix: str, after: str) -> int:
        """Returns how many more items with a prefix after a key existed at the revision than exist now."""
        end = prefix_end(prefix)
        more = sum(current(key) is None for key in self._present.after(after, prefix, end))
        return more - sum(current(key) is not None for key in self._absent.after(after, prefix, end))


class Pasts:
    """The pasts of the revisions that were read last, by the prefix of their keys."""

    def __init__(self) -> None:
        # The one that was read last is the last.
        self._kept: dict[tuple[str, int], Past] = {}
        self._published = 0

    def clear(self) -> None:
        """Forgets everything, because values were purged or another state was restored."""
        self._kept.clear()

    def published(self, number: int) -> None:
        """Learns of a number of new events."""
        if not self._kept:
            return
        self._published += number
        if self._published >= _IDLE:
            self._published = 0
            self._kept = {place: past for place, past in self._kept.items() if past.is_used}
            for past in self._kept.values():
                past.is_used = False

    def at(self, log: Recent, prefix: str, revision: int) -> Past | None:
        """Returns the past of a revision; None if memory does not have all events since then."""
        place = prefix, revision
        past = self._kept.pop(place, None) or Past(revision)
        past.is_used = True
        if past.is_lost or log.recent(revision) is None or not _advance(past, log, prefix):
            past = Past(revision)
            past.is_lost = True
        self._kept[place] = past
        while len(self._kept) > _KEPT or (len(self._kept) > 1 and self._size() > _KEPT_BYTES):
            del self._kept[next(iter(self._kept))]
        return None if past.is_lost else past

    def _size(self) -> int:
        return sum(past.size for past in self._kept.values())


def _with(order: KeyOrder, keys: list[str]) -> KeyOrder:
    """Returns an order with further keys. Many keys cost less together than one by one."""
    if len(keys) > _MANY:
        return KeyOrder([*order.between("", None), *keys])
    for key in keys:
        order.add(key)
    return order


def _advance(past: Past, log: Recent, prefix: str) -> bool:
    """Undoes the events that have arrived since the last read. Returns False if memory does not have them, or if there
    are too many."""
    while past.reached < log.current:
        step = log.recent(past.reached)
        if step is None:
            return False
        events = list(step)
        past.number += len(events)
        if past.number > _UNDONE or not past.undo(events, prefix):
            return False
        past.reached = events[-1].entry.revision if events else log.current
    return True
