"""The store of one informer: objects by key, in their namespaces, and by any index that is asked for.

Everything here is plain computing in one event loop: a reader sees the store between two changes, never half of one.
"""

import logging
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from setpoint.cache.entry import Held
from setpoint.cache.index import Index, IndexFunction

T = TypeVar("T")
_log = logging.getLogger(__name__)


class IndexExists(ValueError):  # noqa: N818 - says what is
    """An index of that name is there already, and it is another."""


class ObjectStore(Generic[T]):
    """Objects by key."""

    def __init__(self) -> None:
        self._held: dict[str, Held[T]] = {}
        self._namespaces: dict[str, dict[str, Held[T]]] = {}
        # Each with what was given for it.
        self._indexes: dict[str, tuple[object, Index[Held[T]]]] = {}
        # The sizes of all objects, as the server sent them.
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
        found = self._namespaces.get(namespace)
        return list(found.values()) if found is not None else []

    def put(self, key: str, held: Held[T]) -> Held[T] | None:
        """Puts an object in the place of what was there, which is returned."""
        before = self._held.get(key)
        self._held[key] = held
        self.bytes += held.raw_size - (before.raw_size if before is not None else 0)
        namespace = held.meta.namespace
        keys = self._namespaces.get(namespace)
        if keys is None:
            keys = self._namespaces[namespace] = {}
        keys[key] = held
        for _, index in self._indexes.values():
            index.put(key, held)
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

    # Indexes

    def add_index(self, name: str, values_of: IndexFunction[T]) -> None:
        """Keeps an index over objects from now on: what is there and what comes. The same one again changes nothing.

        The function gives the values of an object, any number of them. An object that it fails at has none.
        """
        self.keep_index(name, values_of, lambda held: values_of(held.object))

    def keep_index(self, name: str, given: object, values_of: IndexFunction[Held[T]]) -> None:
        """The same over what is held; `given` is what it was asked for by, which tells it from others."""
        known = self._indexes.get(name)
        if known is not None:
            if known[0] != given:
                raise IndexExists(f"there is another index with the name {name!r}")
            return

        def guarded(held: Held[T]) -> Iterable[Hashable]:
            try:
                return tuple(values_of(held))
            except Exception:
                _log.exception("the index %r failed at %s: it is not in it", name, held.meta.key)
                return ()

        index = Index(guarded)
        for key, held in self._held.items():
            index.put(key, held)
        self._indexes[name] = given, index

    def has_index(self, name: str) -> bool:
        return name in self._indexes

    def index(self, name: str) -> Index[Held[T]]:
        """An index. Raises KeyError where there is none of that name."""
        if name not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise KeyError(f"there is no index {name!r}; there are: {known}")
        return self._indexes[name][1]

    def by_index(self, name: str, value: Hashable) -> list[Held[T]]:
        """The objects with a value in an index. Raises KeyError where there is no such index."""
        return [self._held[key] for key in self.index(name).keys(value)]
