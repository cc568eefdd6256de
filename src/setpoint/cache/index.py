"""Indexes: objects by the values of an index function."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")
IndexFunction = Callable[[T], Iterable[Hashable]]

_NONE: Mapping[str, None] = {}


class Index(Generic[T]):
    """The keys of objects, by the values that `values_of` returns for each object. An object can have any number of
    values."""

    def __init__(self, values_of: IndexFunction[T]) -> None:
        self.values_of = values_of
        self._keys: dict[Hashable, dict[str, None]] = {}
        # The values of each key, for removal: the function could return others later.
        self._values: dict[str, tuple[Hashable, ...]] = {}
        # The sorted values for range queries, by comparable type; None until the first range query.
        self._sorted: dict[str, list[Any]] | None = None

    def put(self, key: str, obj: T) -> None:
        values = tuple(self.values_of(obj))
        before = self._values.get(key, ())
        if values == before:
            return
        self._discard(key, before)
        if values:
            self._values[key] = values
            for value in values:
                keys = self._keys.get(value)
                if keys is None:
                    keys = self._keys[value] = {}
                    self._sorted = None
                keys[key] = None
        else:
            self._values.pop(key, None)

    def remove(self, key: str) -> None:
        self._discard(key, self._values.pop(key, ()))

    def keys(self, value: Hashable) -> Mapping[str, None]:
        """Returns the keys of the objects with a value, in the order of insertion. The mapping belongs to the index:
        read the mapping before the next change."""
        return self._keys.get(value, _NONE)

    def values(self) -> Iterable[Hashable]:
        """Returns every value that occurs."""
        return self._keys.keys()

    def range(self, operator: str, bound: Any) -> list[Hashable]:
        """Returns the values that are `<`, `<=`, `>` or `>=` a bound, in order. Values that cannot be compared with the
        bound are left out, except true and false: in Python they are equal to 1 and 0, and share their keys."""
        if self._sorted is None:
            self._sorted = {}
            for value in self._keys:
                if group := "number" if isinstance(value, bool) else comparable(value):
                    self._sorted.setdefault(group, []).append(value)
            for values in self._sorted.values():
                values.sort()
        ordered = self._sorted.get(comparable(bound), [])
        if operator in ("<", "<="):
            return ordered[: (bisect_left if operator == "<" else bisect_right)(ordered, bound)]
        return ordered[(bisect_right if operator == ">" else bisect_left)(ordered, bound) :]

    def _discard(self, key: str, values: tuple[Hashable, ...]) -> None:
        for value in values:
            keys = self._keys.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._keys[value]
                    self._sorted = None


def comparable(value: Any) -> str:
    """Returns the name of the type that a value can be compared with: "number", "text", or "" for values without an
    order."""
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else ""
