"""Immutable typed objects: readers that share an object must not change that object for each other.

`freeze` makes an object immutable in place: the object and its parts become instances of subclasses that reject
changes, and its lists and maps become frozen ones (`objects.frozen`). Readers see no difference: the object is an
instance of its class and equal to its copy. `edit()` returns a mutable copy.
"""

import copy
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import msgspec

from setpoint.objects import frozen
from setpoint.objects.frozen import FrozenDict, FrozenList
from setpoint.schema.types.model import Model, set_field
from setpoint.schema.types.shape import fields_of

T = TypeVar("T")

_NO_LIST = frozen.frozen_list(())


def _refuse(self: Any, name: str, value: Any = None) -> NoReturn:
    raise TypeError(
        f"this {type(self).__name__} is shared and cannot be changed ({name} was to be): change a copy, obj.edit()"
    )


def _equals(self: Any, other: Any) -> Any:
    if type(other) is type(self):
        return msgspec.Struct.__eq__(self, other)
    if type(other) is not self.__thawed__:
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__)


def _differs(self: Any, other: Any) -> Any:
    equal = _equals(self, other)
    return equal if equal is NotImplemented else not equal


def _copy(self: Any) -> Any:
    """Returns a copy with fields that may be changed; its parts are still frozen."""
    made = Model.__copy__(self)
    msgspec.Struct.__setattr__(made, "__class__", self.__thawed__)
    return made


def _repr(self: Any) -> str:
    return repr(self.edit())


def _reduce(self: Any) -> tuple[Any, ...]:
    return freeze, (self.edit(),)


@lru_cache(maxsize=4096)
def _twin(cls: Any) -> Any:
    """Returns the class of the frozen objects of a class."""
    return type(cls)(
        cls.__name__,
        (cls,),
        {
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            "__doc__": cls.__doc__,
            "__rules__": cls.__rules__,
            "__thawed__": cls,
            "__setattr__": _refuse,
            "__delattr__": _refuse,
            "__eq__": _equals,
            "__ne__": _differs,
            "__repr__": _repr,
            "__copy__": _copy,
            "__reduce__": _reduce,
        },
    )


def freeze(value: T) -> T:
    """Freezes an object at every level. A typed object is changed in place; a tree is copied to a frozen one."""
    return _frozen(value)  # type: ignore[no-any-return]


def _frozen(value: Any) -> Any:
    if isinstance(value, Model):
        return _freeze_model(value)
    if isinstance(value, list):
        return value if type(value) is FrozenList else frozen.frozen_list(map(_frozen, value))
    if isinstance(value, dict):
        return value if type(value) is FrozenDict else frozen.frozen_dict({k: _frozen(v) for k, v in value.items()})
    if isinstance(value, tuple):
        return tuple(map(_frozen, value))
    return frozenset(value) if isinstance(value, set) else value


def _freeze_model(model: Any) -> Any:
    cls: Any = type(model)
    if cls.__thawed__ is not None:
        return model
    for name, is_flat in fields_of(cls).containers:
        value = getattr(model, name)
        if value is None:
            continue
        kind = type(value)
        if kind is list:
            value = frozen.frozen_list(value if is_flat else [_frozen(item) for item in value]) if value else _NO_LIST
        elif kind is dict and (is_flat or not value):
            value = frozen.frozen_dict(value)
        else:
            value = _frozen(value)
        set_field(model, name, value)
    if model.__unknown__:
        model.__unknown__ = frozen.freeze(model.__unknown__)
    model.__class__ = _twin(cls)
    return model


_LEAVES = frozenset((str, int, bool, float, type(None)))


def thaw(value: T) -> T:
    """Returns a deep copy, of a typed object or of a tree, that may be changed."""
    return _thawed(value)  # type: ignore[no-any-return]


def _thawed(value: Any) -> Any:
    if isinstance(value, Model):
        return _thaw_model(value)
    if isinstance(value, list):
        return [item if type(item) in _LEAVES else _thawed(item) for item in value]
    if isinstance(value, dict):
        return {key: item if type(item) in _LEAVES else _thawed(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_thawed, value))
    return set(value) if isinstance(value, set | frozenset) else value


def _thaw_model(model: Any) -> Any:
    made = copy.copy(model)
    cls: Any = type(made)
    for name, is_flat in fields_of(cls).containers:
        value = getattr(made, name)
        if value is None:
            continue
        if not is_flat:
            value = _thawed(value)
        elif isinstance(value, list):
            value = list(value)
        else:
            value = dict(value)
        set_field(made, name, value)
    if made.__unknown__:
        made.__unknown__ = frozen.thaw(made.__unknown__)
    return made


def is_frozen(value: Any) -> bool:
    """Returns True if an object, typed or a tree, is immutable."""
    return value.__thawed__ is not None if isinstance(value, Model) else frozen.is_frozen(value)


def plain_class(cls: type[T]) -> type[T]:
    """Returns the original class of a kind, given that class or the class of its frozen objects."""
    thawed: type[T] | None = getattr(cls, "__thawed__", None)
    return thawed or cls
