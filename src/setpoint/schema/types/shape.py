"""Where the parts of a model are: which of its fields hold other models, lists or maps, and under which names.

What walks an object (to keep what its class does not know, to freeze it, to copy it) asks this instead of looking at
every value.
"""

import types
import typing
from datetime import date, datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Union
from uuid import UUID

import msgspec

from setpoint.objects.quantity import Quantity

_NEVER_CHANGE = (str, int, float, bool, bytes, type(None), datetime, date, timedelta, UUID, Quantity, Enum)


class Shape(NamedTuple):
    """What a value can be: a model, or a list (`[]`) or map (`{}`) of something that has a shape."""

    model: type | None = None
    items: "Shape | None" = None
    values: "Shape | None" = None


class Field(NamedTuple):
    """A field of a model."""

    name: str
    wire: str
    takes_null: bool
    # None where no model is inside.
    shape: Shape | None
    # Whether a part that is not there is made empty on reading, and so need not be written when it is empty.
    is_made: bool


class Container(NamedTuple):
    """A field whose value can be changed: a model, a list, a map."""

    name: str
    # Whether what is inside it cannot: a list of texts can be copied as one, a list of models cannot.
    is_flat: bool


class Fields(NamedTuple):
    """The fields of a model."""

    by_wire: dict[str, Field]
    with_models: tuple[Field, ...]
    containers: tuple[Container, ...]
    # The names on the wire of lists and maps that are left out when they are empty.
    left_out: tuple[str, ...]


def is_model(cls: Any) -> bool:
    """Whether a type is a Model."""
    return isinstance(cls, type) and issubclass(cls, msgspec.Struct) and hasattr(cls, "__unknown__")


@lru_cache(maxsize=4096)
def fields_of(cls: Any) -> Fields:
    """The fields of a class."""
    infos = msgspec.structs.fields(cls)
    found = [
        Field(info.name, info.encode_name, _takes_null(info.type), _shape(info.type), is_model(info.default_factory))
        for info in infos
    ]
    return Fields(
        {field.wire: field for field in found},
        tuple(field for field in found if field.shape is not None),
        tuple(Container(info.name, _is_flat(info.type)) for info in infos if not _is_scalar(info.type)),
        tuple(info.encode_name for info in infos if info.default_factory in (list, dict, set)),
    )


def _plain(annotation: Any) -> Any:
    """The type inside `Annotated`, aliases and new types."""
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
    """What a union is made of; of anything else, itself."""
    annotation = _plain(annotation)
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return tuple(member for argument in typing.get_args(annotation) for member in _members(argument))
    return (annotation,)


def _takes_null(annotation: Any) -> bool:
    return any(member in (None, type(None), Any, object) for member in _members(annotation))


def _shape(annotation: Any) -> Shape | None:
    for member in _members(annotation):
        origin, arguments = typing.get_origin(member), typing.get_args(member)
        if is_model(member):
            return Shape(model=member)
        if origin in (list, tuple) and arguments and (inner := _shape(arguments[0])) is not None:
            return Shape(items=inner)
        if origin is dict and (inner := _shape(arguments[1])) is not None:
            return Shape(values=inner)
    return None


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
