"""The store of one informer: objects by key, in their namespaces, and by any index that is asked for.

Everything here is plain computing in one event loop: a reader sees the store between two changes, never half of one.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from setpoint.cache.held import Held
from setpoint.cache.index import Index, IndexFunction

T = TypeVar("T")


class IndexExists(ValueError):  # noqa: N818 - says what is
    """An index of that name is there already, and it is another."""


class ObjectStore(Generic[T]):
    """Objects by key."""

    def __init__(self) -> None:
        self._held: dict[str, Held[T]] = {}
        self._namespaces: dict[str, dict[str, None]] = {}
        self._indexes: dict[str, tuple[IndexFunction[T], Index[T]]] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: str) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def get(self, key: str) -> Held[T] | None:
        return self._held.get(key)

    def all(self) -> Iterable[Held[T]]:
        """Every object. Take what is needed before the next `await`."""
        return self._held.values()

    def in_namespace(self, namespace: str) -> list[Held[T]]:
        """The objects of a namespace, in the order they came."""
        return [self._held[key] for key in self._namespaces.get(namespace, ())]

    def put(self, key: str, held: Held[T]) -> Held[T] | None:
        """Puts an object in the place of what was there, which is returned."""
        before = self._held.get(key)
        self._held[key] = held
        self.bytes += held.raw_size - (before.raw_size if before is not None else 0)
        if before is None:
            self._namespaces.setdefault(held.meta.namespace, {})[key] = None
        for _, index in self._indexes.values():
            index.put(key, held.object)
        return before

    def remove(self, key: str) -> Held[T] | None:
        """Takes an object out, and returns it."""
        before = self._held.pop(key, None)
        if before is None:
            return None
        self.bytes -= before.raw_size
        keys = self._namespaces[before.meta.namespace]
        del keys[key]
        if not keys:
            del self._namespaces[before.meta.namespace]
        for _, index in self._indexes.values():
            index.remove(key)
        return before

    def add_index(self, name: str, values_of: IndexFunction[T]) -> None:
        """Keeps an index from now on, over what is there and what comes. The same one again changes nothing."""
        known = self._indexes.get(name)
        if known is not None:
            if known[0] is not values_of:
                raise IndexExists(f"there is another index with the name {name!r}")
            return
        index = Index(values_of)
        for key, held in self._held.items():
            index.put(key, held.object)
        self._indexes[name] = values_of, index

    def has_index(self, name: str) -> bool:
        return name in self._indexes

    def by_index(self, name: str, value: Hashable) -> list[Held[T]]:
        """The objects with a value in an index. Raises KeyError where there is no such index."""
        if name not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise KeyError(f"there is no index {name!r}; there are: {known}")
        return [self._held[key] for key in self._indexes[name][1].keys(value)]

    def index_values(self, name: str) -> list[Hashable]:
        """The values that an index has."""
        return list(self._indexes[name][1].values())
