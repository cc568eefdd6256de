"""One index: the keys of the objects of a resource by the values of one term, such as a label or a field."""

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from setpoint.store.contract import Item
from setpoint.store.keys import KeyOrder, prefix_end

# The prefix of the indexed objects, and the identity of the term.
Place: TypeAlias = tuple[str, Hashable]
_NOTHING = KeyOrder()


class Term(NamedTuple):
    """A property of objects. `parse` reads an object, once for all terms with the same function; `pick` returns the
    values of this term."""

    name: str
    parse: Callable[[Item], Any]
    pick: Callable[[Any], Sequence[str]]

    @property
    def identity(self) -> Hashable:
        return self.name, self.parse


class Wanted(NamedTuple):
    """A value that a term of every wanted object has."""

    term: Term
    value: str


class TermIndex:
    """The keys by the value of a term, in order."""

    __slots__ = ("_keys", "_values", "cost", "is_complete", "since", "term", "unused", "users")

    def __init__(self, term: Term, since: int) -> None:
        self.term = term
        # The changes after this revision have been applied.
        self.since = since
        # The users that the index counts for.
        self.users: set[str] = set()
        # The number of objects that were read to build the index, and of changes since the last use.
        self.cost = self.unused = 0
        self.is_complete = False
        # A single key is kept without an order: the values of a name or of an owner have few keys.
        self._keys: dict[str, KeyOrder | str] = {}
        # The values of each key: the text itself if there is one.
        self._values: dict[str, str | tuple[str, ...]] = {}

    def __len__(self) -> int:
        """Returns the number of objects with the term."""
        return len(self._values)

    def put(self, key: str, values: Sequence[str]) -> None:
        """Sets the values of a key; none for a deleted object, or for one without the term."""
        new = tuple(dict.fromkeys(values)) if len(values) > 1 else values
        known = self._values.get(key, ())
        old = (known,) if isinstance(known, str) else known
        if len(new) == len(old) and all(value in old for value in new):
            return
        for value in old:
            if value not in new:
                self._remove(value, key)
        for value in new:
            if value not in old:
                self._add(value, key)
        if new:
            # Many objects have the same value, which is kept once.
            kept = tuple(map(sys.intern, new))
            self._values[key] = kept[0] if len(kept) == 1 else kept
        else:
            del self._values[key]

    def _add(self, value: str, key: str) -> None:
        keys = self._keys.get(value)
        if keys is None:
            self._keys[value] = key
        elif isinstance(keys, str):
            self._keys[value] = KeyOrder((keys, key))
        else:
            keys.add(key)

    def _remove(self, value: str, key: str) -> None:
        keys = self._keys[value]
        if isinstance(keys, KeyOrder):
            keys.discard(key)
            if keys:
                return
        del self._keys[value]

    def keys(self, value: str, prefix: str, after: str) -> Iterator[str]:
        """Yields the keys with a value and a prefix, in order, after a key."""
        found = self._keys.get(value, _NOTHING)
        if isinstance(found, KeyOrder):
            return found.after(after, prefix, prefix_end(prefix))
        return iter((found,) if found > after and found.startswith(prefix) else ())

    def count(self, value: str) -> int:
        """Returns the number of keys with a value."""
        found = self._keys.get(value, _NOTHING)
        return len(found) if isinstance(found, KeyOrder) else 1
