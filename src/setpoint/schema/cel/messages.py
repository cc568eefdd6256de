"""Messages that an expression can construct: `Object{spec: Object.spec{replicas: 1}}`, `JSONPatch{op: "remove"}`.

Only mutating policies have them. An `Object` has no schema: each of its parts names its own path, and `misplaced`
checks these names after construction. `plain` converts a message to JSON.
"""

import math
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from setpoint.objects.gotext import quote
from setpoint.objects.tree import Json
from setpoint.schema.cel.libraries.conversions import to_string
from setpoint.schema.cel.types import DYN, STRING, Type, list_of, struct
from setpoint.schema.cel.values import (
    ABSENT,
    Duration,
    EvaluationError,
    Mapping,
    MapValue,
    Optional,
    Steps,
    Timestamp,
    equal,
)
from setpoint.schema.cel.views import UntypedView

OBJECT, JSON_PATCH = struct("Object"), struct("JSONPatch")
JSON_PATCHES = list_of(JSON_PATCH)
_PATCH_FIELDS = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}


class Message(Mapping):
    """A value that an expression constructed by the name of its type."""

    __slots__ = ("cel_type", "fields")

    def __init__(self, cel_type: Type, fields: dict[str, Any]) -> None:
        self.cel_type = cel_type
        self.fields = fields

    def find(self, key: Any) -> Any:
        return self.fields.get(key, ABSENT) if type(key) is str else ABSENT

    def keys(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def equals(self, other: Mapping, steps: Steps) -> bool:
        if not isinstance(other, Message) or other.cel_type != self.cel_type or len(other) != len(self):
            return False
        return all(name in other.fields and equal(self.fields[name], other.fields[name], steps) for name in self.fields)


def message_type(name: str) -> Type | None:
    """Returns the message type of a name, or None."""
    if name == JSON_PATCH.name:
        return JSON_PATCH
    return struct(name) if name == OBJECT.name or name.startswith(f"{OBJECT.name}.") else None


def message_field(name: str, field: str) -> Type | None:
    """Returns the type of a field of a message type, or None for an unknown field. An `Object` has any field."""
    return _PATCH_FIELDS.get(field) if name == JSON_PATCH.name else DYN


def misplaced(value: Any) -> list[str]:
    """Returns the errors in the type names of the parts of an `Object`: each must be that of its parent and field."""
    found: list[str] = []
    _check_names(value, value.cel_type.name, found, Steps())
    return found


def _check_names(value: Any, path: str, found: list[str], steps: Steps) -> None:
    if isinstance(value, Message):
        name = value.cel_type.name
        if name != path:
            why = "which matches field name path from root Object type"
            found.append(f"unexpected type name {quote(name)}, expected {quote(path)}, {why}")
        Steps.into(value, steps)
        for field, part in value.fields.items():
            _check_names(part, f"{path}.{field}", found, steps)
    elif isinstance(value, list):
        Steps.into(value, steps)
        for part in value:
            _check_names(part, path, found, steps)
    elif isinstance(value, MapValue):
        Steps.into(value, steps)
        for key in value.keys():  # noqa: SIM118 - a value of CEL, no dict
            _check_names(value.find(key), path, found, steps)


def plain(value: Any, steps: Steps | None = None) -> Json:
    """Converts a value to JSON. Raises EvaluationError for values that JSON cannot represent."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, UntypedView):
        return value.tree
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise EvaluationError(f"{to_string(value)} has no form in JSON")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, list):
        steps = Steps.into(value, steps)
        return [plain(item, steps) for item in value]
    if isinstance(value, Mapping):
        steps = Steps.into(value, steps)
        return {_key(key): plain(value.find(key), steps) for key in value.keys()}  # noqa: SIM118 - as above
    if isinstance(value, Duration | Timestamp):
        return to_string(value)
    if isinstance(value, Optional) and value.present:
        return plain(value.value, steps)
    raise EvaluationError(f"a value of type {type(value).__name__} has no form in JSON")


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    raise EvaluationError(f"map key {quote(str(key))} is not a string")
