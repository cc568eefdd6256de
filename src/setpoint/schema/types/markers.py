"""What an annotation can say about a field beyond its Python type: `size: Annotated[int, Minimum(1), Maximum(10)]`.

Markers say what the server enforces. Reading an object into a class does not check them, so that objects an older
schema let through stay readable; `msgspec.Meta(ge=1)` is understood as well, and msgspec does check that when it reads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeVar

from setpoint.objects.tree import Json

_C = TypeVar("_C", bound=type)

_NUMBERS = ("integer", "number")


class Marker:
    """Anything that stands in an annotation beside the type."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@dataclass(frozen=True)
class Constraint(Marker):
    """A marker that is one keyword of the schema. `types` are the types it makes sense for, all when empty."""

    keyword: ClassVar[str] = ""
    types: ClassVar[tuple[str, ...]] = ()

    value: Any

    def __hash__(self) -> int:
        # The value may be any JSON, and what stands in annotations must be hashable.
        return hash((type(self), repr(self.value)))


class Minimum(Constraint):
    """The smallest number allowed."""

    keyword = "minimum"
    types = _NUMBERS


class Maximum(Constraint):
    """The largest number allowed."""

    keyword = "maximum"
    types = _NUMBERS


class ExclusiveMinimum(Minimum):
    """The number must be larger than this."""


class ExclusiveMaximum(Maximum):
    """The number must be smaller than this."""


class MultipleOf(Constraint):
    """The number must be a multiple of this."""

    keyword = "multipleOf"
    types = _NUMBERS


class MinLength(Constraint):
    """How many characters a text has at least."""

    keyword = "minLength"
    types = ("string",)


class MaxLength(Constraint):
    """How many characters a text has at most. Bounds like this one keep CEL rules within their cost limit."""

    keyword = "maxLength"
    types = ("string",)


class Pattern(Constraint):
    """A regular expression (RE2) that the text must match somewhere: anchor it with `^` and `$`."""

    keyword = "pattern"
    types = ("string", "int-or-string")


class Format(Constraint):
    """A named format: `ipv4`, `uri`, `int32`, `k8s-short-name` and so on."""

    keyword = "format"
    types = ("string", "integer", "number")


class MinItems(Constraint):
    """How many items a list has at least."""

    keyword = "minItems"
    types = ("array",)


class MaxItems(Constraint):
    """How many items a list has at most."""

    keyword = "maxItems"
    types = ("array",)


class MinProperties(Constraint):
    """How many entries a map has at least."""

    keyword = "minProperties"
    types = ("object",)


class MaxProperties(Constraint):
    """How many entries a map has at most."""

    keyword = "maxProperties"
    types = ("object",)


class Title(Constraint):
    """A short name for people."""

    keyword = "title"


class Description(Constraint):
    """What the field is for. A docstring below the field says the same with less noise."""

    keyword = "description"


class Example(Constraint):
    """A value to show in documentation."""

    keyword = "example"


class Default(Constraint):
    """What the server fills in, where that is not the Python default (which may be None, to tell "not given")."""

    keyword = "default"


class NoDefault(Marker):
    """The Python default stays in Python: the server fills in nothing."""


class Nullable(Marker):
    """The field may be sent as null, and keeps it. `X | None = None` alone only means that it may be absent."""


class PreserveUnknownFields(Marker):
    """Fields that the schema does not name are kept instead of dropped."""


class EmbeddedResource(Marker):
    """The field holds a whole object of the API, with apiVersion, kind and metadata."""


@dataclass(frozen=True)
class KubernetesType(Marker):
    """The field has the type of a built-in kind or part of one: `KubernetesType("v1", "PodTemplateSpec")`."""

    api_version: str
    name: str


class ListType(Enum):
    """How server-side apply merges a list: as one value, or item by item. For items with keys see `ListMap`."""

    ATOMIC = "atomic"
    SET = "set"


@dataclass(frozen=True, init=False)
class ListMap(Marker):
    """Server-side apply merges the list item by item; these fields of an item tell which is which."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


class MapType(Enum):
    """How server-side apply merges an object or map: field by field (the default), or as one value."""

    GRANULAR = "granular"
    ATOMIC = "atomic"


@dataclass(frozen=True, kw_only=True)
class Rule(Marker):
    """A CEL rule on the field it annotates. On a class it is written `@rule(...)`."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None

    def to_json(self) -> Json:
        found = {
            "rule": self.rule,
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        return {key: value for key, value in found.items() if value not in (None, "")}


def rule(
    expression: str,
    *,
    message: str = "",
    message_expression: str = "",
    reason: str | None = None,
    field_path: str = "",
    optional_old_self: bool | None = None,
) -> Callable[[_C], _C]:
    """A class decorator: every object of the class must satisfy the CEL expression, which sees it as `self`."""
    made = Rule(
        rule=expression,
        message=message,
        message_expression=message_expression,
        reason=reason,
        field_path=field_path,
        optional_old_self=optional_old_self,
    )

    def decorate(cls: _C) -> _C:
        if not hasattr(cls, "__rules__"):
            raise TypeError(f"@rule belongs on a class that derives from Model, and {cls.__name__} does not")
        # Decorators run from the last to the first; rules read from the first to the last.
        cls.__rules__ = (made, *cls.__rules__)
        return cls

    return decorate
