"""Immutable objects: readers that share an object must not change it for each other.

A frozen tree reads like any other; every mutation raises a TypeError that names the alternative. `thaw` returns a
mutable copy. `schema.types.frozen` freezes typed objects, and accepts trees as well.
"""

from collections.abc import Iterable
from typing import Any, NoReturn

from setpoint.objects.tree import Json, Object

_REMEDY = "this object is shared and cannot be changed: change a copy (thaw(tree), or obj.edit() for a typed one)"


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(_REMEDY)


class FrozenDict(dict[str, Any]):
    """An immutable dictionary."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> Object:
        """Returns a plain dictionary with the same, still frozen, values."""
        return dict(self)

    def __copy__(self) -> Object:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Object:
        return {name: thaw(value) for name, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """An immutable list."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def copy(self) -> list[Any]:
        """Returns a plain list of the same, still frozen, items."""
        return list(self)

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [thaw(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)


_CONTAINERS = (dict, list)
# Most lists and maps of an object are empty and share these instances.
_EMPTY_DICT = FrozenDict()
_EMPTY_LIST = FrozenList()


def frozen_dict(content: Object) -> FrozenDict:
    """Returns a frozen dictionary of values that are already frozen."""
    return FrozenDict(content) if content else _EMPTY_DICT


def frozen_list(items: Iterable[Any]) -> FrozenList:
    """Returns a frozen list of items that are already frozen."""
    return FrozenList(items) or _EMPTY_LIST


def freeze(tree: Json) -> Any:
    """Returns the tree, frozen at every level. Frozen parts are returned as they are."""
    kind = type(tree)
    if kind is dict:
        return frozen_dict(
            {name: freeze(value) if type(value) in _CONTAINERS else value for name, value in tree.items()}
        )
    if kind is list:
        return frozen_list([freeze(value) if type(value) in _CONTAINERS else value for value in tree])
    return tree


def thaw(tree: Json) -> Any:
    """Returns a deep copy that may be changed."""
    if isinstance(tree, dict):
        return {name: thaw(value) if isinstance(value, _CONTAINERS) else value for name, value in tree.items()}
    if isinstance(tree, list):
        return [thaw(value) if isinstance(value, _CONTAINERS) else value for value in tree]
    return tree


def is_frozen(tree: Json) -> bool:
    """Returns True if the tree is immutable."""
    return isinstance(tree, FrozenDict | FrozenList)
