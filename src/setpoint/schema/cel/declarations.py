"""The CEL types, names and sizes of the values below a schema node.

A `Declaration` describes the schema as expressions see it: fields under their escaped names, only content with a type
(content kept only by `x-kubernetes-preserve-unknown-fields` is invisible), and the largest size that the schema, or the
size limit of a request, allows for each value.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from setpoint.schema.cel.lexer import RESERVED
from setpoint.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct,
)
from setpoint.schema.openapi import Schema

MAX_REQUEST = 3 * 1024 * 1024
_NAME_LENGTH = 253
_RESERVED = frozenset(["true", "false", "null", "in"]) | RESERVED
_ESCAPED = re.compile(r"__|[-./]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPABLE = re.compile(r"[a-zA-Z_./\-][a-zA-Z0-9_./\-]*")
# format of a string -> (type, smallest size as JSON, largest length)
_FORMATS = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}


def escape(name: str) -> str | None:
    """Returns the name of a property in expressions, or None if the property is not accessible."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], name)


class Declaration:
    """A schema node in CEL."""

    __slots__ = (
        "elements",
        "fields",
        "format",
        "keys",
        "list_type",
        "max_elements",
        "min_size",
        "names",
        "nullable",
        "plain",
        "properties",
        "type",
    )

    def __init__(self, found: Type, min_size: int, max_elements: int = 0) -> None:
        self.type = found
        self.min_size = min_size
        self.max_elements = max_elements
        self.format = ""
        self.nullable = False
        # True if two values are equal exactly if their JSON is.
        self.plain = found.kind in ("bool", "int", "double", "string", "dyn")
        # Objects: declarations by escaped name, and for each property of the schema its escaped name (None: invisible).
        self.fields: dict[str, Declaration] = {}
        self.names: dict[str, str] = {}
        self.properties: dict[str, str | None] | None = None
        # Lists and maps.
        self.elements: Declaration | None = None
        self.list_type = ""
        self.keys: tuple[str, ...] = ()


Refer: TypeAlias = Callable[[str], Declaration | None]


def declare(schema: Schema, *, root: bool, name: str = "selfType0", refer: Refer | None = None) -> Declaration | None:
    """Returns the declaration of a schema node, or None if expressions cannot access the node.

    `root` marks the root of a resource. `refer` declares the target of a reference; the schemas of custom resources
    have none.
    """
    if schema.ref and refer is not None:
        return refer(schema.ref)
    found = _declare(schema, root, name, refer)
    if found is not None:
        found.nullable = schema.nullable
    return found


def _declare(schema: Schema, root: bool, name: str, refer: Refer | None) -> Declaration | None:
    if schema.int_or_string:
        return Declaration(DYN, 1, _max_length(schema, MAX_REQUEST - 2))
    if schema.type == "array":
        return _declare_list(schema, name, refer)
    if schema.type == "object" or root:
        if isinstance(schema.additional_properties, Schema) and not root:
            return _declare_map(schema, schema.additional_properties, name, refer)
        return _declare_object(schema, root, name, refer)
    if schema.type == "string":
        return _declare_string(schema)
    simple = {"boolean": (BOOL, 4), "number": (DOUBLE, 1), "integer": (INT, 1)}.get(schema.type)
    return Declaration(*simple) if simple else None


def _max_length(schema: Schema, default: int) -> int:
    # A character may take four bytes.
    return default if schema.max_length is None else max(schema.max_length, 0) * 4


def _declare_string(schema: Schema) -> Declaration:
    if schema.format in _FORMATS:
        declaration = Declaration(*_FORMATS[schema.format])
    elif schema.format == "byte":
        size = MAX_REQUEST - 2 if schema.max_length is None else max(schema.max_length, 0)
        declaration = Declaration(BYTES, 2, size)
    else:
        longest = MAX_REQUEST - 2
        if schema.enum and schema.max_length is None:
            longest = max((len(item.encode()) for item in schema.enum if isinstance(item, str)), default=0)
        return Declaration(STRING, 2, _max_length(schema, longest))
    declaration.format = schema.format
    return declaration


def _declare_list(schema: Schema, name: str, refer: Refer | None) -> Declaration | None:
    if not isinstance(schema.items, Schema):
        return None
    elements = declare(schema.items, root=schema.items.embedded_resource, name=f"{name}.@idx", refer=refer)
    if elements is None:
        return None
    size = (MAX_REQUEST - 2) // (elements.min_size + 1) if schema.max_items is None else max(schema.max_items, 0)
    declaration = Declaration(list_of(elements.type), 2, size)
    declaration.elements = elements
    declaration.list_type = schema.list_type or ""
    declaration.keys = tuple(escape(key) or key for key in schema.list_map_keys)
    declaration.plain = elements.plain and not elements.nullable and declaration.list_type in ("", "atomic")
    return declaration


def _declare_map(schema: Schema, values: Schema, name: str, refer: Refer | None) -> Declaration | None:
    elements = declare(values, root=values.embedded_resource, name=f"{name}.@elem", refer=refer)
    if elements is None:
        return None
    size = (MAX_REQUEST - 2) // (elements.min_size + 6)
    declaration = Declaration(
        map_of(STRING, elements.type), 2, size if schema.max_properties is None else max(schema.max_properties, 0)
    )
    declaration.elements = elements
    declaration.plain = elements.plain and not elements.nullable
    return declaration


def _declare_object(schema: Schema, root: bool, name: str, refer: Refer | None) -> Declaration:
    properties = with_object_metadata(schema) if root else schema.properties
    declaration = Declaration(struct(name), 2)
    declaration.properties = {} if properties or root else None
    declaration.plain = not schema.preserve_unknown_fields and bool(properties)
    required = frozenset(schema.required)
    for property_name, property_schema in properties.items():
        escaped = escape(property_name)
        field_name = escaped or property_name
        inner_name, is_root = f"{name}.{field_name}", property_schema.embedded_resource
        field = declare(property_schema, root=is_root, name=inner_name, refer=refer)
        visible = escaped if field is not None else None
        if declaration.properties is not None:
            declaration.properties[property_name] = visible
        if field is None:
            declaration.plain = False
            continue
        if escaped is not None:
            declaration.fields[escaped] = field
            declaration.names[escaped] = property_name
        declaration.plain = declaration.plain and field.plain and not field.nullable and escaped is not None
        if property_name in required and _without_default(property_schema):
            declaration.min_size += len(property_name.encode("utf-8", "surrogatepass")) + field.min_size + 4
    return declaration


def _without_default(schema: Schema) -> bool:
    default: Any = schema.default
    return default is msgspec.UNSET or default is None


def with_object_metadata(schema: Schema) -> Mapping[str, Schema]:
    """Returns the properties of a resource's root: always with apiVersion, kind, and metadata's name and
    generateName."""
    properties = schema.properties
    metadata = properties.get("metadata")
    known = metadata.properties if metadata is not None else {}
    if (
        _has_type(properties, "kind", "string")
        and _has_type(properties, "apiVersion", "string")
        and _has_type(properties, "metadata", "object")
        and _has_type(known, "name", "string")
        and _has_type(known, "generateName", "string")
    ):
        return properties
    names = {
        "name": _capped(known.get("name"), _NAME_LENGTH),
        "generateName": _capped(known.get("generateName"), _NAME_LENGTH - 1),
    }
    text = Schema(type="string")
    return {
        **properties,
        "kind": text,
        "apiVersion": text,
        "metadata": Schema(type="object", properties=names),
    }


def _has_type(properties: Mapping[str, Schema], name: str, wanted: str) -> bool:
    return name in properties and properties[name].type == wanted


def _capped(schema: Schema | None, limit: int) -> Schema:
    if schema is not None and schema.max_length is not None:
        limit = min(limit, schema.max_length)
    return Schema(type="string", max_length=limit)
