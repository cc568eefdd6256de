"""Converts Python types to structural schemas.

A field without a default is required. A field that may be absent is `X | None = None`; null is not allowed there. For a
field that may be null, use `Annotated[X | None, Nullable()]`, or `X | None` without a default if the field is required.
A default becomes the default of the schema, so that all clients see the same value; None and empty lists and maps do
not, because they are equivalent to an absent field.
"""

import enum
import types
import typing
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Union
from uuid import UUID

import msgspec

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object
from setpoint.schema.types.builtin_schemas import (
    INT_OR_STRING,
    QUANTITY,
    UnknownTypeError,
    builtin_schema,
    definition_schema,
)
from setpoint.schema.types.docs import class_description, field_descriptions
from setpoint.schema.types.markers import (
    Constraint,
    Default,
    EmbeddedResource,
    ExclusiveMaximum,
    ExclusiveMinimum,
    KubernetesType,
    ListMap,
    ListType,
    MapType,
    Marker,
    NoDefault,
    Nullable,
    PreserveUnknownFields,
    Rule,
)
from setpoint.schema.types.model import ModelError
from setpoint.schema.types.scalars import Duration, MicroTime, encode_scalar

_SCALARS: dict[Any, Object] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    MicroTime: {"type": "string", "format": "date-time"},
    Duration: {"type": "string", "format": "duration"},
    UUID: {"type": "string", "format": "uuid"},
    Quantity: QUANTITY,
    Any: {"x-kubernetes-preserve-unknown-fields": True},
    object: {"x-kubernetes-preserve-unknown-fields": True},
}
_REMEDIES: dict[Any, str] = {
    timedelta: "a timedelta is written as ISO 8601, which the API does not take for a duration; use Duration",
    Decimal: "JSON has no exact decimals; use Quantity, or str with a Pattern",
    complex: "JSON has no complex numbers",
    dict: "say what its values are: dict[str, str], or dict[str, Any] for anything",
    list: "say what its items are: list[str]",
    set: "say what its items are: set[str]",
    tuple: "say what its items are: tuple[str, ...]",
}
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


class Where(NamedTuple):
    """The context of a schema: the class and field for error messages, and the enclosing classes."""

    place: str
    above: tuple[type, ...] = ()

    def error(self, problem: str) -> ModelError:
        return ModelError(f"{self.place}: {problem}")


def struct_schema(cls: type, above: tuple[type, ...] = ()) -> Object:
    """Returns the schema of a model, with its fields, its description and its rules."""
    properties: Object = {}
    required: list[str] = []
    texts = field_descriptions(cls)
    try:
        fields = msgspec.structs.fields(cls)
    except (NameError, TypeError) as error:
        raise ModelError(f"{cls.__name__}: an annotation cannot be understood: {error}") from None
    for field in fields:
        if field.name.startswith("_"):
            continue  # a private field of the class
        where = Where(f"{cls.__name__}.{field.name}", (*above, cls))
        properties[field.encode_name] = _field_schema(field, where, texts.get(field.name, ""))
        if field.required:
            required.append(field.encode_name)
    schema: Object = {"type": "object"}
    if description := class_description(cls):
        schema["description"] = description
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = sorted(required)
    map_type = getattr(cls, "__map_type__", None)
    if map_type is not None:
        schema["x-kubernetes-map-type"] = map_type.value
    if getattr(cls, "__preserve_unknown_fields__", False):
        schema["x-kubernetes-preserve-unknown-fields"] = True
    rules = [rule.to_json() for base in reversed(cls.__mro__) for rule in base.__dict__.get("__rules__", ())]
    if rules:
        schema["x-kubernetes-validations"] = rules
    return schema


def _field_schema(field: msgspec.structs.FieldInfo, where: Where, description: str) -> Object:
    base, markers = _unwrap(field.type, where)
    inner, optional = _without_none(base)
    if optional:
        base, more = _unwrap(inner, where)
        markers = [*more, *markers]
        if field.required:
            markers.append(Nullable())
    schema = _typed(base, where, markers)
    if description:
        schema["description"] = description
    _apply(markers, schema, base, where)
    if "default" not in schema and not any(isinstance(marker, NoDefault) for marker in markers):
        value = _default_of(field, where)
        if value is not None:
            schema["default"] = value
    return schema


def _default_of(field: msgspec.structs.FieldInfo, where: Where) -> Json:
    if field.default is not msgspec.NODEFAULT:
        value = field.default
    elif field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
        if isinstance(value, list | dict | set | frozenset | tuple) and not value:
            return None
    else:
        return None
    if value is msgspec.UNSET:
        return None
    return json_of(value, where)


def json_of(value: Any, where: Where) -> Json:
    """Converts a Python value to JSON; sets are sorted, so that a definition is deterministic."""
    try:
        if isinstance(value, set | frozenset):
            value = sorted(value)
        return msgspec.to_builtins(value, enc_hook=encode_scalar)
    except TypeError as error:
        raise where.error(f"the default {value!r} has no JSON form: {error}") from None


def type_schema(annotation: Any, where: Where) -> Object:
    """Returns the schema of an annotation of a field, a list item or a map value."""
    base, markers = _unwrap(annotation, where)
    inner, optional = _without_none(base)
    if optional:
        base, more = _unwrap(inner, where)
        markers = [*more, *markers, Nullable()]
    schema = _typed(base, where, markers)
    _apply(markers, schema, base, where)
    return schema


def _unwrap(annotation: Any, where: Where) -> tuple[Any, list[Any]]:
    """Returns the type inside `Annotated`, and the metadata beside that type."""
    markers: list[Any] = []
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation, *found = typing.get_args(annotation)
            markers = [*found, *markers]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        elif isinstance(annotation, str | typing.ForwardRef | typing.TypeVar):
            raise where.error(f"{annotation} is not a type by the time the definition is made; name a concrete one")
        else:
            return annotation, markers


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """Returns a union without None, and True if the union contained None."""
    if typing.get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    members = [member for member in typing.get_args(annotation) if member not in (None, type(None), msgspec.UnsetType)]
    if len(members) == len(typing.get_args(annotation)):
        return annotation, False
    rest = Union[tuple(members)] if members else type(None)  # noqa: UP007
    return rest, True


def _typed(base: Any, where: Where, markers: Iterable[Any]) -> Object:
    for marker in markers:
        if isinstance(marker, KubernetesType):
            try:
                return builtin_schema(marker)
            except (UnknownTypeError, ValueError) as error:
                raise where.error(f"{error}; Annotated[Object, PreserveUnknownFields()] holds anything") from None
    origin, arguments = typing.get_origin(base), typing.get_args(base)
    if origin is None:
        return _plain(base, where)
    if origin is Literal:
        return _enum(arguments, where)
    if origin in (Union, types.UnionType):
        if set(arguments) == {int, str}:
            return dict(INT_OR_STRING)
        raise where.error(f"a field has one type, and {base} is several; the one exception is int | str (IntOrString)")
    if origin in (list, set, frozenset):
        schema: Object = {"type": "array", "items": type_schema(arguments[0], where)}
        return schema if origin is list else schema | {"x-kubernetes-list-type": "set"}
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": type_schema(arguments[0], where)}
        raise where.error("items of a list have one type; use tuple[X, ...], list[X] or a Model with named fields")
    if origin is dict:
        return _map(arguments, where)
    raise where.error(f"{base} has no schema; use list, set, dict or a Model")


def _map(arguments: tuple[Any, ...], where: Where) -> Object:
    key, value = arguments
    if _unwrap(key, where)[0] is not str:
        raise where.error(f"keys of a map are text on the wire; use dict[str, ...] instead of dict[{key}, ...]")
    if value in (Any, object):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "additionalProperties": type_schema(value, where)}


def _plain(base: Any, where: Where) -> Object:
    if base in _SCALARS:
        return dict(_SCALARS[base])
    if base in _REMEDIES:
        raise where.error(_REMEDIES[base])
    if isinstance(base, type):
        if issubclass(base, enum.Enum):
            return _enum(tuple(member.value for member in base), where)
        if issubclass(base, msgspec.Struct):
            return _nested(base, where)
    name = getattr(base, "__name__", str(base))
    raise where.error(f"{name} has no schema; derive it from Model, or use a type of setpoint.schema.types")


def _nested(cls: type, where: Where) -> Object:
    if cls in where.above:
        chain = " -> ".join(found.__name__ for found in (*where.above[where.above.index(cls) :], cls))
        remedy = "make the inner one Annotated[dict[str, Any], PreserveUnknownFields()]"
        raise where.error(f"{cls.__name__} contains itself ({chain}), which no schema of the API can say; {remedy}")
    if definition := cls.__dict__.get("__definition__"):
        try:
            return definition_schema(definition)
        except UnknownTypeError as error:
            raise where.error(f"{error}; Annotated[Object, PreserveUnknownFields()] holds anything") from None
    if hasattr(cls, "__resource__"):
        # A whole object inside another: the server itself defines its metadata.
        schema = struct_schema(cls, where.above)
        properties = {key: value for key, value in schema.get("properties", {}).items() if key != "metadata"}
        return schema | {
            "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, **properties},
            "x-kubernetes-embedded-resource": True,
        }
    return struct_schema(cls, where.above)


def _enum(values: tuple[Any, ...], where: Where) -> Object:
    named = [value.value if isinstance(value, enum.Enum) else value for value in values]
    present = [value for value in named if value is not None]
    kinds = {type(value) for value in present}
    if len(kinds) != 1 or not kinds <= _JSON_TYPES.keys():
        raise where.error(f"the values of an enum must be all text, all numbers or all booleans, not {named}")
    schema: Object = {"type": _JSON_TYPES[kinds.pop()], "enum": present}
    return schema if len(present) == len(named) else schema | {"enum": named, "nullable": True}


def _apply(markers: Iterable[Any], schema: Object, base: Any, where: Where) -> None:
    for marker in markers:
        if isinstance(marker, Constraint):
            _constrain(schema, marker, where)
        elif isinstance(marker, msgspec.Meta):
            _apply_meta(schema, marker)
        elif isinstance(marker, Rule):
            schema["x-kubernetes-validations"] = [*schema.get("x-kubernetes-validations", ()), marker.to_json()]
        elif isinstance(marker, Nullable):
            schema["nullable"] = True
        elif isinstance(marker, PreserveUnknownFields):
            _require(schema, "object", marker, where)
            schema.pop("additionalProperties", None)
            schema["x-kubernetes-preserve-unknown-fields"] = True
        elif isinstance(marker, EmbeddedResource):
            _require(schema, "object", marker, where)
            schema["x-kubernetes-embedded-resource"] = True
            schema["x-kubernetes-preserve-unknown-fields"] = True
        elif isinstance(marker, ListType):
            _require(schema, "array", marker, where)
            schema["x-kubernetes-list-type"] = marker.value
        elif isinstance(marker, ListMap):
            _require(schema, "array", marker, where)
            schema["x-kubernetes-list-type"] = "map"
            schema["x-kubernetes-list-map-keys"] = [_key(key, base, schema, where) for key in marker.keys]
        elif isinstance(marker, MapType):
            _require(schema, "object", marker, where)
            schema["x-kubernetes-map-type"] = marker.value
        elif isinstance(marker, type) and issubclass(marker, Marker | enum.Enum):
            raise where.error(f"write {marker.__name__}(), not the class alone")


def _require(schema: Object, kind: str, marker: object, where: Where) -> None:
    if schema.get("type") != kind:
        name = type(marker).__name__
        raise where.error(f"{name} is for type {kind}, and this is {_kind_of(schema)}")


def _kind_of(schema: Object) -> str:
    if "x-kubernetes-int-or-string" in schema:
        return "int-or-string"
    return str(schema.get("type", "anything"))


def _constrain(schema: Object, marker: Constraint, where: Where) -> None:
    kind = _kind_of(schema)
    if marker.types and kind not in marker.types:
        wanted = " or ".join(marker.types)
        raise where.error(f"{type(marker).__name__} is for type {wanted}, and this is {kind}")
    value = json_of(marker.value, where) if isinstance(marker, Default) else marker.value
    schema[marker.keyword] = value
    if isinstance(marker, ExclusiveMinimum):
        schema["exclusiveMinimum"] = True
    if isinstance(marker, ExclusiveMaximum):
        schema["exclusiveMaximum"] = True


_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def _apply_meta(schema: Object, meta: msgspec.Meta) -> None:
    """Adds the constraints of msgspec as keywords of the schema."""
    unit = _LENGTHS.get(schema.get("type", ""), "Length")
    found = {
        "minimum": meta.ge if meta.ge is not None else meta.gt,
        "maximum": meta.le if meta.le is not None else meta.lt,
        "exclusiveMinimum": True if meta.gt is not None else None,
        "exclusiveMaximum": True if meta.lt is not None else None,
        "multipleOf": meta.multiple_of,
        "pattern": meta.pattern,
        f"min{unit}": meta.min_length,
        f"max{unit}": meta.max_length,
        "title": meta.title,
        "description": meta.description,
        "example": meta.examples[0] if meta.examples else None,
    }
    schema.update({key: value for key, value in found.items() if value is not None})
    schema.update(meta.extra_json_schema or {})


def _key(key: str, base: Any, schema: Object, where: Where) -> str:
    """Returns the JSON name of a key of a list, given by its JSON or Python name."""
    item = typing.get_args(base)[0] if typing.get_args(base) else None
    item = _unwrap(item, where)[0] if item is not None else None
    if isinstance(item, type) and issubclass(item, msgspec.Struct):
        renamed = {field.name: field.encode_name for field in msgspec.structs.fields(item)}
        key = renamed.get(key, key)
    known = schema.get("items", {}).get("properties", {})
    if key not in known:
        names = ", ".join(sorted(known)) or "none: its items are no models"
        raise where.error(f"ListMap names the key {key}, which is no field of an item (there are: {names})")
    return key
