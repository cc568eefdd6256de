"""Markers for constraints beyond the Python type of a field: `size: Annotated[int, Minimum(1), Maximum(10)]`.

The server enforces the markers. Reading an object into a class does not check them, so that objects accepted under an
older schema stay readable; `msgspec.Meta(ge=1)` is supported as well, and msgspec does check its constraints when
reading.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeVar

from setpoint.objects.tree import Json

_C = TypeVar("_C", bound=type)

_NUMBERS = ("integer", "number")


class Marker:
    """The base of all markers in an annotation."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@dataclass(frozen=True)
class Constraint(Marker):
    """A marker for one keyword of the schema. `types` are the types that allow the keyword; all types if empty."""

    keyword: ClassVar[str] = ""
    types: ClassVar[tuple[str, ...]] = ()

    value: Any

    def __hash__(self) -> int:
        # The value may be any JSON, and annotations must be hashable.
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
    """The minimum number of characters of a string."""

    keyword = "minLength"
    types = ("string",)


class MaxLength(Constraint):
    """The maximum number of characters of a string. Such bounds keep CEL rules within their cost limit."""

    keyword = "maxLength"
    types = ("string",)


class Pattern(Constraint):
    """A regular expression (RE2) that must match a part of the string: anchor the expression with `^` and `$`."""

    keyword = "pattern"
    types = ("string", "int-or-string")


class Format(Constraint):
    """A named format: `ipv4`, `uri`, `int32`, `k8s-short-name` and so on."""

    keyword = "format"
    types = ("string", "integer", "number")


class MinItems(Constraint):
    """The minimum number of items of a list."""

    keyword = "minItems"
    types = ("array",)


class MaxItems(Constraint):
    """The maximum number of items of a list."""

    keyword = "maxItems"
    types = ("array",)


class MinProperties(Constraint):
    """The minimum number of entries of a map."""

    keyword = "minProperties"
    types = ("object",)


class MaxProperties(Constraint):
    """The maximum number of entries of a map."""

    keyword = "maxProperties"
    types = ("object",)


class Title(Constraint):
    """A short human-readable name."""

    keyword = "title"


class Description(Constraint):
    """The purpose of the field. A docstring below the field has the same effect and is shorter."""

    keyword = "description"


class Example(Constraint):
    """A value for documentation."""

    keyword = "example"


class Default(Constraint):
    """The default that the server sets, if different from the Python default (which may be None for "not given")."""

    keyword = "default"


class NoDefault(Marker):
    """Keeps the Python default out of the schema: the server sets no default."""


class Nullable(Marker):
    """Allows null as a value, and preserves null. `X | None = None` alone only means that the field may be absent."""


class PreserveUnknownFields(Marker):
    """Preserves fields that the schema does not declare, instead of dropping them."""


class EmbeddedResource(Marker):
    """Declares a field that holds a whole object of the API, with apiVersion, kind and metadata."""


@dataclass(frozen=True)
class KubernetesType(Marker):
    """Declares a field of a built-in type: `KubernetesType("v1", "PodTemplateSpec")`."""

    api_version: str
    name: str


class ListType(Enum):
    """The merge rule of a list in server-side apply: as one value, or by item. For items with keys see `ListMap`."""

    ATOMIC = "atomic"
    SET = "set"


@dataclass(frozen=True, init=False)
class ListMap(Marker):
    """Merges the list by item in server-side apply; these fields identify an item."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


class MapType(Enum):
    """The merge rule of an object or map in server-side apply: by field (the default), or as one value."""

    GRANULAR = "granular"
    ATOMIC = "atomic"


@dataclass(frozen=True, kw_only=True)
class Rule(Marker):
    """A CEL rule on the annotated field. On a class, use `@rule(...)`."""

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
    """Decorates a class with a CEL rule: every object of the class, named `self`, must satisfy the expression."""
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
        # Decorators run from the last to the first; rules are listed from the first to the last.
        cls.__rules__ = (made, *cls.__rules__)
        return cls

    return decorate
