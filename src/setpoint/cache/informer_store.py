"""The store of one informer: objects by key, by namespace, and by any added index.

All methods are synchronous and run in one event loop: a reader never sees half of a change.
"""

import logging
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from setpoint.cache.entry import CachedObject
from setpoint.cache.index import Index, IndexFunction

T = TypeVar("T")
_log = logging.getLogger(__name__)


class IndexExists(ValueError):  # noqa: N818 - named for the state
    """A different index with that name exists already."""


class ObjectStore(Generic[T]):
    """Objects by key."""

    def __init__(self) -> None:
        self._entries: dict[str, CachedObject[T]] = {}
        self._namespaces: dict[str, dict[str, CachedObject[T]]] = {}
        # Each index with its definition.
        self._indexes: dict[str, tuple[object, Index[CachedObject[T]]]] = {}
        # The total size of the objects, as sent by the server.
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def get(self, key: str) -> CachedObject[T] | None:
        return self._entries.get(key)

    def all(self) -> Iterable[CachedObject[T]]:
        """Returns all entries. Use the result before the next `await`."""
        return self._entries.values()

    def in_namespace(self, namespace: str) -> list[CachedObject[T]]:
        """Returns the objects of a namespace, in the order of insertion."""
        found = self._namespaces.get(namespace)
        return list(found.values()) if found is not None else []

    def put(self, key: str, entry: CachedObject[T]) -> CachedObject[T] | None:
        """Stores an object, and returns the previous one."""
        before = self._entries.get(key)
        self._entries[key] = entry
        self.bytes += entry.raw_size - (before.raw_size if before is not None else 0)
        namespace = entry.meta.namespace
        keys = self._namespaces.get(namespace)
        if keys is None:
            keys = self._namespaces[namespace] = {}
        keys[key] = entry
        for _, index in self._indexes.values():
            index.put(key, entry)
        return before

    def remove(self, key: str) -> CachedObject[T] | None:
        """Removes an object, and returns the removed one."""
        before = self._entries.pop(key, None)
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
        """Adds an index over the existing and all future objects. Adding the same index again has no effect.

        The function returns any number of values for an object. An object for which the function raises has no values.
        """
        self.ensure_index(name, values_of, lambda entry: values_of(entry.object))

    def ensure_index(self, name: str, definition: object, values_of: IndexFunction[CachedObject[T]]) -> None:
        """Adds an index over entries; `definition` identifies the definition of the index."""
        known = self._indexes.get(name)
        if known is not None:
            if known[0] != definition:
                raise IndexExists(f"a different index with the name {name!r} exists already")
            return

        def guarded(entry: CachedObject[T]) -> Iterable[Hashable]:
            try:
                return tuple(values_of(entry))
            except Exception:
                _log.exception("the index %r failed for %s: the object is not indexed", name, entry.meta.key)
                return ()

        index = Index(guarded)
        for key, entry in self._entries.items():
            index.put(key, entry)
        self._indexes[name] = definition, index

    def has_index(self, name: str) -> bool:
        return name in self._indexes

    def index(self, name: str) -> Index[CachedObject[T]]:
        """Returns an index. Raises KeyError if the index does not exist."""
        if name not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise KeyError(f"no index {name!r}; known indexes: {known}")
        return self._indexes[name][1]

    def by_index(self, name: str, value: Hashable) -> list[CachedObject[T]]:
        """Returns the objects with a value in an index. Raises KeyError if the index does not exist."""
        return [self._entries[key] for key in self.index(name).keys(value)]
