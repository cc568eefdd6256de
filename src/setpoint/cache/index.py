"""Indexes: objects by whatever a function says of them."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")
IndexFunction = Callable[[T], Iterable[Hashable]]

_NONE: Mapping[str, None] = {}


class Index(Generic[T]):
    """The keys of objects, by the values that `values_of` gives for each. An object may have any number of values."""

    def __init__(self, values_of: IndexFunction[T]) -> None:
        self._values_of = values_of
        self._keys: dict[Hashable, dict[str, None]] = {}
        # What each key stands under, to take it out again: the function might say something else later.
        self._values: dict[str, tuple[Hashable, ...]] = {}

    def put(self, key: str, obj: T) -> None:
        values = tuple(self._values_of(obj))
        before = self._values.get(key, ())
        if values == before:
            return
        self._take_out(key, before)
        if values:
            self._values[key] = values
            for value in values:
                self._keys.setdefault(value, {})[key] = None
        else:
            self._values.pop(key, None)

    def remove(self, key: str) -> None:
        self._take_out(key, self._values.pop(key, ()))

    def clear(self) -> None:
        self._keys.clear()
        self._values.clear()

    def keys(self, value: Hashable) -> Mapping[str, None]:
        """The keys of the objects with a value, in the order they got it. The index's own: read it at once."""
        return self._keys.get(value, _NONE)

    def values(self) -> Iterable[Hashable]:
        """Every value that some object has."""
        return self._keys.keys()

    def _take_out(self, key: str, values: tuple[Any, ...]) -> None:
        for value in values:
            keys = self._keys.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._keys[value]
