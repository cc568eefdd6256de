"""JSON as CEL values: the schema determines the value of a piece of JSON, when an expression reads it.

A view copies only the parts that are read, and caches them.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from typing import Any

from setpoint.objects import duration as go_duration
from setpoint.objects.tree import Json
from setpoint.schema.cel.declarations import Declaration, escape
from setpoint.schema.cel.timestamps import parse_date, parse_date_time
from setpoint.schema.cel.values import (
    ABSENT,
    Duration,
    EvaluationError,
    MapList,
    Mapping,
    SetList,
    Steps,
    equal,
    no_such_overload,
)
from setpoint.schema.ratchet import same


class ObjectView(Mapping):
    """An object with declared properties. A property that is null counts as missing."""

    __slots__ = ("_cached", "declaration", "tree")

    def __init__(self, tree: dict[str, Json], declaration: Declaration) -> None:
        self.tree = tree
        self.declaration = declaration
        self._cached: dict[str, Any] = {}

    def find(self, key: Any) -> Any:
        if type(key) is not str:
            raise no_such_overload()
        known = self._cached.get(key, ABSENT)
        if known is ABSENT:
            field = self.declaration.fields.get(key)
            value = None if field is None else self.tree.get(self.declaration.names[key])
            if field is None or value is None:
                return ABSENT
            known = self._cached[key] = view(value, field)
        return known

    def keys(self) -> Iterator[str]:
        properties = self.declaration.properties or {}
        return (properties[name] or name for name in self.tree if name in properties)

    def __len__(self) -> int:
        return len(self.tree)

    def equals(self, other: Mapping, steps: Steps) -> bool:
        if len(self) != len(other):
            return False
        properties = self.declaration.properties or {}
        for name, value in self.tree.items():
            escaped = properties.get(name) or escape(name)
            if escaped in self.declaration.fields:
                mine, its = self.find(escaped), other.find(escaped)
                if (mine is ABSENT) is not (its is ABSENT) or (mine is not ABSENT and not equal(mine, its, steps)):
                    return False
            else:
                if not isinstance(other, ObjectView):
                    raise no_such_overload()
                if name in other.tree and not same(value, other.tree[name]):
                    return False
        return True


class MapView(Mapping):
    """An object with values of one type under any key."""

    __slots__ = ("_cached", "elements", "tree")

    def __init__(self, tree: dict[str, Json], elements: Declaration) -> None:
        self.tree = tree
        self.elements = elements
        self._cached: dict[str, Any] = {}

    def find(self, key: Any) -> Any:
        if type(key) is not str:
            raise no_such_overload()
        known = self._cached.get(key, ABSENT)
        if known is ABSENT:
            if key not in self.tree:
                return ABSENT
            known = self._cached[key] = view(self.tree[key], self.elements)
        return known

    def keys(self) -> Iterator[str]:
        return iter(self.tree)

    def __len__(self) -> int:
        return len(self.tree)


class UntypedView(Mapping):
    """An object without a schema, as in policies."""

    __slots__ = ("_cached", "tree")

    def __init__(self, tree: dict[str, Json]) -> None:
        self.tree = tree
        self._cached: dict[str, Any] = {}

    def find(self, key: Any) -> Any:
        if type(key) is not str or key not in self.tree:
            return ABSENT
        if key not in self._cached:
            self._cached[key] = untyped(self.tree[key])
        return self._cached[key]

    def keys(self) -> Iterator[str]:
        return iter(self.tree)

    def __len__(self) -> int:
        return len(self.tree)


def untyped(tree: Json) -> Any:
    """Returns the value of a piece of JSON without a schema."""
    if type(tree) is dict:
        return UntypedView(tree)
    if type(tree) is list:
        return [untyped(item) for item in tree]
    return tree


def view(tree: Json, declaration: Declaration) -> Any:
    """Returns the value of a piece of JSON. Raises `EvaluationError` if the JSON does not match the schema."""
    kind = declaration.type.kind
    if tree is None:
        if declaration.nullable:
            return None
        raise EvaluationError("invalid data, got null for schema with nullable=false")
    if kind == "string":
        return _expect(tree, str, "string")
    if kind == "int":
        if type(tree) is float and tree.is_integer():
            return int(tree)
        return _expect(tree, int, "int")
    if kind == "double":
        if type(tree) not in (int, float):
            raise EvaluationError(f"invalid data, expected float, got {_go_type(tree)}")
        return float(tree)
    if kind == "bool":
        return _expect(tree, bool, "bool")
    if kind == "dyn":
        if type(tree) not in (str, int):
            raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")
        return tree
    if kind == "list":
        return _list(tree, declaration)
    if kind in ("map", "struct"):
        if type(tree) is not dict:
            raise EvaluationError("invalid data, expected a map for the provided schema with type=object")
        if declaration.elements is not None:
            return MapView(tree, declaration.elements)
        return ObjectView(tree, declaration)
    return _formatted(_expect(tree, str, "string"), declaration.format)


def _expect(tree: Json, wanted: type, word: str) -> Any:
    if type(tree) is wanted:
        return tree
    raise EvaluationError(f"invalid data, expected {word}, got {_go_type(tree)}")


def _go_type(tree: Json) -> str:
    names = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}"}
    return names.get(type(tree), "map[string]interface {}")


def _list(tree: Json, declaration: Declaration) -> list[Any]:
    if type(tree) is not list or declaration.elements is None:
        raise EvaluationError("invalid data, expected an array for the provided schema with type=array")
    elements = declaration.elements
    finished = elements.type.kind == "string" and all(type(item) is str for item in tree)
    items = tree if finished else [view(item, elements) for item in tree]
    if declaration.list_type == "set":
        return SetList(items)
    if declaration.list_type == "map":
        return MapList(items, declaration.keys)
    return items


def _formatted(text: str, format_: str) -> Any:
    try:
        if format_ == "duration":
            return Duration(go_duration.parse(text))
        if format_ == "date":
            return parse_date(text)
        if format_ == "date-time":
            return parse_date_time(text)
        return b64decode(text, validate=True)
    except (ValueError, Base64Error) as error:
        word = {"duration": "duration", "byte": "byte formatted string"}.get(format_, f"{format_} formatted string")
        raise EvaluationError(f"Invalid {word} {text}: {error}") from None
