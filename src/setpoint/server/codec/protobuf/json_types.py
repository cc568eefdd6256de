"""Types with which msgspec reads the JSON of a message, as the first step of writing protobuf.

A struct has one attribute for each JSON field, including those of embedded messages, with None for an absent field.
Reading into structs is as fast as reading into dictionaries; their attributes are read faster, and embedded JSON, such
as managed fields, remains undecoded. Fields that protobuf does not have are ignored.

The types of a kind are made on first use, because a client reads few of the kinds.
"""

import re
from collections.abc import Iterator
from types import GenericAlias
from typing import Any

import msgspec

from setpoint.server.codec.protobuf.message_table import META, SCALARS, MessageField, table
from setpoint.server.codec.protobuf.special_messages import SPECIAL

_SCALAR_TYPES: dict[str, Any] = {
    "string": str,
    "bytes": bytes,
    "bool": bool,
    "int32": int,
    "int64": int,
    "double": float,
}
# Messages whose JSON is embedded as text, and remains undecoded.
TEXTS = frozenset((f"{META}.FieldsV1", "k8s.io.apimachinery.pkg.runtime.RawExtension"))

# At most one type per message of the table.
_types: dict[str, Any] = {}


def json_type(message: str) -> Any:
    """Returns the type of the JSON of a message, given its full name."""
    found = _types.get(message)
    return _made(message) if found is None else found


def attribute(name: str) -> str:
    """Returns the attribute of a JSON field; the prefix separates attributes from keywords and methods."""
    return "j_" + re.sub(r"\W", "_", name)


def is_list(message: str) -> bool:
    """Returns True if a message is just a list, in Go and in JSON."""
    fields = table().messages[message]
    return bool(fields) and fields[0].stands_for_message


def _made(message: str) -> Any:
    if message in SPECIAL:
        return str | int | float if SPECIAL[message].is_scalar else Any
    if is_list(message):
        return GenericAlias(list, (_value_type(table().messages[message][0].type),))
    # Meanwhile, a message inside that contains this one leaves its JSON to the writer, as a dictionary.
    _types[message] = Any
    fields = list(_flat(table().messages[message]))
    attributes = [(attribute(field.name), _field_type(field), None) for field in fields]
    names = {attribute(field.name): field.name for field in fields}
    # The structs cannot be part of a cycle, so that the garbage collector need not know them.
    made = msgspec.defstruct(message.rpartition(".")[2], attributes, rename=names, gc=False)
    _types[message] = made
    return made


def _flat(fields: list[MessageField]) -> Iterator[MessageField]:
    """Yields the JSON fields of a message, including those of embedded messages."""
    for field in fields:
        if field.is_embedded:
            yield from _flat(table().messages[field.type])
        else:
            yield field


def _field_type(field: MessageField) -> Any:
    value = _value_type(field.type)
    if field.is_map:
        return GenericAlias(dict, (str, value)) | None
    return GenericAlias(list, (value,)) | None if field.is_list else value


def _value_type(kind: str) -> Any:
    # Undecoded text includes null.
    return msgspec.Raw if kind in TEXTS else (_SCALAR_TYPES[kind] if kind in SCALARS else json_type(kind)) | None
