"""The structure of a model: the fields that hold other models, lists or maps, and their names.

Code that traverses an object (to keep undeclared fields, to freeze or to copy the object) uses this structure instead
of inspecting every value.
"""

import types
import typing
from datetime import date, datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Union
from uuid import UUID

import msgspec

from setpoint.objects.frozen import FrozenDict
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object

_NEVER_CHANGE = (str, int, float, bool, bytes, type(None), datetime, date, timedelta, UUID, Quantity, Enum)


class _Untouched(FrozenDict):
    def __reduce__(self) -> Any:
        return "UNTOUCHED"


# The marker for the undeclared fields of a part that was created because the part was absent.
UNTOUCHED = _Untouched()


class Made:
    """A factory of parts that always exist in Python; they are written to JSON only if they were read or changed."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    def __call__(self) -> Any:
        made = self.cls()
        made.__unknown__ = UNTOUCHED
        return made


class Shape(NamedTuple):
    """The structure of a value: a model, a list or a map of values with a structure, or a union of these."""

    model: type | None = None
    items: "Shape | None" = None
    values: "Shape | None" = None


class ModelField(NamedTuple):
    """A field of a model."""

    name: str
    wire: str
    is_nullable: bool
    # None if there is no model inside.
    shape: Shape | None
    # The JSON of a newly created part, which is not written; None if the part is always written.
    made: Object | None


class Container(NamedTuple):
    """A field with a mutable value: a model, a list, a map."""

    name: str
    # True if the contents are immutable: a list of strings can be copied shallowly, a list of models cannot.
    is_flat: bool


class Fields(NamedTuple):
    """The fields of a model."""

    by_wire: dict[str, ModelField]
    # The JSON names of the fields, by name.
    wires: dict[str, str]
    with_models: tuple[ModelField, ...]
    containers: tuple[Container, ...]
    # The JSON names of lists and maps that are omitted if empty.
    left_out: tuple[str, ...]


def is_model(cls: Any) -> bool:
    """Returns True if a type is a Model."""
    return isinstance(cls, type) and issubclass(cls, msgspec.Struct) and hasattr(cls, "__unknown__")


@lru_cache(maxsize=4096)
def fields_of(cls: Any) -> Fields:
    """Returns the fields of a class."""
    infos = msgspec.structs.fields(cls)
    found = [
        ModelField(info.name, info.encode_name, _is_nullable(info.type), _shape(info.type), _made(info.default_factory))
        for info in infos
    ]
    return Fields(
        {field.wire: field for field in found},
        {field.name: field.wire for field in found},
        tuple(field for field in found if field.shape is not None),
        tuple(Container(info.name, _is_flat(info.type)) for info in infos if not _is_scalar(info.type)),
        tuple(info.encode_name for info in infos if info.default_factory in (list, dict, set)),
    )


def _made(factory: Any) -> Object | None:
    return factory.cls().to_json() if isinstance(factory, Made) else None


def _plain(annotation: Any) -> Any:
    """Returns the type inside `Annotated`, aliases and new types."""
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation


def _members(annotation: Any) -> tuple[Any, ...]:
    """Returns the members of a union; for any other type, the type itself."""
    annotation = _plain(annotation)
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return tuple(member for argument in typing.get_args(annotation) for member in _members(argument))
    return (annotation,)


def _is_nullable(annotation: Any) -> bool:
    return any(member in (None, type(None), Any, object) for member in _members(annotation))


def _shape(annotation: Any) -> Shape | None:
    found = Shape()
    for member in _members(annotation):
        origin, arguments = typing.get_origin(member), typing.get_args(member)
        if is_model(member):
            found = found._replace(model=member)
        elif origin in (list, tuple) and arguments:
            found = found._replace(items=_shape(arguments[0]))
        elif origin is dict:
            found = found._replace(values=_shape(arguments[1]))
    return found if any(found) else None


def _is_scalar(annotation: Any) -> bool:
    return all(
        typing.get_origin(member) is Literal or (isinstance(member, type) and issubclass(member, _NEVER_CHANGE))
        for member in _members(annotation)
    )


def _is_flat(annotation: Any) -> bool:
    return all(
        member is type(None)
        or (typing.get_origin(member) in (list, dict) and all(map(_is_scalar, typing.get_args(member))))
        for member in _members(annotation)
    )
