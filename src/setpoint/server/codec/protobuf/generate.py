"""Generates the Python function that reads each message.

A function `read(data, pos, end, found=None)` returns the fields between `pos` and `end` in the JSON form that Go
writes, or adds them to `found`, because a message that occurs twice is merged. All known encoders write fields in the
order of their numbers, so the function tests for one field after the other, in a loop that runs once; another order
costs more rounds. Unknown tags go to `wire.unmatched`.

Functions are generated on first call, as no client sends all of the thousand messages.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import setpoint.server.codec.protobuf.fields as rare
import setpoint.server.codec.protobuf.wire as wire
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.protobuf.message_table import ENVELOPE, SCALARS, MessageField, table
from setpoint.server.codec.protobuf.special_messages import SPECIAL

_WIRE_TYPES = {"bool": wire.VARINT, "int32": wire.VARINT, "int64": wire.VARINT, "double": wire.FIXED64}
_ZEROS: Object = {"string": "", "bytes": None, "bool": False, "int32": 0, "int64": 0, "double": 0}
_NUMBERS = {"bool": "boolean", "int32": "int32", "int64": "int64"}
# Go reads these two with the code of another message.
_CALLED = {"Time": "Timestamp", "MicroTime": "Timestamp"}

# The number of cached short messages per kind, and the maximum length of a short message.
_REMEMBERED, _SHORT = 2048, 32

# The names that generated functions use, and the functions themselves: at most one per message of the table.
_names: dict[str, Any] = {
    "MalformedError": wire.MalformedError,
    "TOO_MANY": wire.TOO_MANY,
    "TRUNCATED": wire.TRUNCATED,
    "base64": rare.base64,
    "boolean": wire.boolean,
    "double": rare.double,
    "entry": rare.entry,
    "int32": wire.int32,
    "int64": wire.int64,
    "numbers": rare.numbers,
    "span": wire.span,
    "text": rare.text,
    "unmatched": wire.unmatched,
}


class Read(Protocol):
    def __call__(self, data: wire.Buffer, pos: int, end: int, found: Any = None) -> Json: ...


def reader(message: str) -> Read:
    """Returns the function that reads a message, given its full name."""
    found: Read = _names[_name(message)]
    return found


def _name(message: str) -> str:
    """Returns the name of the function of a message; the first call generates the function."""
    name = message.replace(".", "_")
    if name not in _names:

        def first(data: wire.Buffer, pos: int, end: int, found: Any = None) -> Json:
            _define(message, name)
            return reader(message)(data, pos, end, found)

        _names[name] = first
    return name


def _define(message: str, name: str) -> None:
    fields = table().messages[message]
    special = SPECIAL.get(message)
    if special:
        _names[f"{name}_value"] = special.convert
    _names[f"{name}_known"] = {field.number: wire.FieldInfo(field.go_name, _wire_types(field)) for field in fields}
    exec(compile("\n".join(source(message, name)), f"<protobuf {message}>", "exec"), _names)
    if special and special.is_scalar:
        _names[name] = _remembering(_names[name])


def _remembering(read: Read) -> Read:
    """Returns the function with a cache for short messages: times, quantities and ports recur often."""

    @lru_cache(_REMEMBERED)
    def cached(message: bytes) -> Json:
        return read(wire.Buffer.of(message), 0, len(message))

    def read_once(data: wire.Buffer, pos: int, end: int, found: Any = None) -> Json:
        return cached(data[pos:end]) if end - pos <= _SHORT else read(data, pos, end)

    return read_once


def source(message: str, name: str) -> Iterator[str]:
    """Yields the lines of the function that reads a message."""
    fields = sorted(table().messages[message])
    special = SPECIAL.get(message)
    is_list = bool(fields) and fields[0].stands_for_message
    yield f"def {name}(data, pos, end, found=None):"
    if special:
        yield f"    if pos == end: return {special.zero!r}"
    # Only a merged message, or one in another order, can have a field a second time.
    yield "    again = found is not None"
    yield f"    if not again: found = {[] if is_list else dict(_zeros(fields))}"
    yield "    while pos < end:"
    yield "        start = pos"
    yield "        tag = data[pos]"
    for field in fields:
        yield from _indent(2, _field(field, keep_bytes=special is not None or message == ENVELOPE))
    called = message.rpartition(".")[2]
    yield "        if pos == start:"
    yield f"            pos = unmatched(data, pos, end, {_CALLED.get(called, called)!r}, {name}_known)"
    yield "        again = True"
    yield "    if pos > end: raise MalformedError(TRUNCATED)"
    for field in _structs(fields):
        yield f"    if {field.name!r} not in found: found[{field.name!r}] = {_name(field.type)}(data, end, end)"
    yield f"    return {name}_value(found)" if special else "    return found"


def _zeros(fields: Sequence[MessageField]) -> Iterator[tuple[str, Json]]:
    """Yields the values that Go writes for absent fields, except objects."""
    for field in fields:
        if field.is_embedded:
            yield from _zeros(table().messages[field.type])
        elif field.is_list or field.is_map or field.is_pointer:
            if not field.omit_empty:
                yield field.name, None
        elif field.type in SCALARS:
            if not field.omit_empty:
                yield field.name, _ZEROS[field.type]
        elif field.type in SPECIAL:
            if not field.omit_zero:
                yield field.name, SPECIAL[field.type].zero
        elif _is_list(field.type) and not field.omit_empty:
            yield field.name, None


def _structs(fields: Sequence[MessageField]) -> Iterator[MessageField]:
    """Yields the fields for which Go writes an object even if they are absent."""
    for field in fields:
        if field.is_embedded:
            yield from _structs(table().messages[field.type])
        elif not (field.is_list or field.is_map or field.is_pointer) and _is_object(field.type):
            yield field


def _is_object(kind: str) -> bool:
    return kind not in SCALARS and kind not in SPECIAL and not _is_list(kind)


def _is_list(message: str) -> bool:
    fields = table().messages[message]
    return bool(fields) and fields[0].stands_for_message


def _wire_types(field: MessageField) -> tuple[int, ...]:
    usual = wire.BYTES if field.is_map else _WIRE_TYPES.get(field.type, wire.BYTES)
    return (usual, wire.BYTES) if field.is_list and usual == wire.VARINT else (usual,)


def _indent(levels: int, lines: Iterator[str]) -> Iterator[str]:
    return ("    " * levels + line for line in lines)


def _field(field: MessageField, *, keep_bytes: bool) -> Iterator[str]:
    """Yields the lines that read a field if it is next, and then read the following tag."""
    tests = [_test(field.number, wire_type) for wire_type in _wire_types(field)]
    yield f"if {' or '.join(tests)}:"
    size = 1 if field.number < 16 else 2
    if field.is_list or field.is_map:
        yield from _indent(1, _several(field, size, tests[0]))
    else:
        yield from _indent(1, _one(field, size, keep_bytes))
    yield "    if pos >= end: break"
    yield "    tag = data[pos]"


def _test(number: int, wire_type: int) -> str:
    """Returns the test for the field being next: the bytes of its tag."""
    tag = number << 3 | wire_type
    return f"tag == {tag}" if tag < 0x80 else f"tag == {tag & 0x7F | 0x80} and data[pos + 1] == {tag >> 7}"


def _span(size: int) -> Iterator[str]:
    """Yields the lines that find the start and end of the bytes of a field."""
    yield f"stop = data[pos + {size}]"
    yield "if stop < 128:"
    yield f"    pos += {size + 1}"
    yield "    stop += pos"
    yield "    if stop > end: raise MalformedError(TRUNCATED)"
    yield "else:"
    yield f"    pos, stop = span(data, pos + {size}, end)"


def _one(field: MessageField, size: int, keep_bytes: bool) -> Iterator[str]:
    """Yields the lines that read a field with a single value."""
    name = repr(field.name)
    if field.type in _NUMBERS:
        yield f"value = data[pos + {size}]"
        yield f"if value < 128: pos += {size + 1}"
        yield f"else: value, pos = {_NUMBERS[field.type]}(data, pos + {size}, end)"
        value = "value != 0" if field.type == "bool" else "value"
        yield from _keep(field, "value", value)
        return
    if field.type == "double":
        yield f"if pos + {size + 8} > end: raise MalformedError(TRUNCATED)"
        yield f"value = double(data, pos + {size})"
        yield f"pos += {size + 8}"
        yield from _keep(field, "value", "value")
        return
    yield from _span(size)
    if field.is_embedded:
        yield f"{_name(field.type)}(data, pos, stop, found)"
    elif field.type == "string":
        yield from _keep(field, "stop > pos", "data[pos:stop].decode()")
    elif field.type == "bytes":
        yield from _keep(field, "stop > pos", "data[pos:stop]" if keep_bytes else "base64(data, pos, stop)")
    elif field.type in SPECIAL:
        # If such a field occurs twice, which no encoder does, the last one counts; Go would merge ports and schemas.
        yield f"value = {_name(field.type)}(data, pos, stop)"
        yield from _keep(field, "value is not None", "value")
    else:
        read = _name(field.type)
        yield f"value = {read}(data, pos, stop, found.get({name})) if again else {read}(data, pos, stop)"
        yield from _keep(field, "value", "value")
    yield "pos = stop"


def _keep(field: MessageField, test: str, value: str) -> Iterator[str]:
    """Yields the lines that store a value; only under the condition `test` if Go omits empty values of the field."""
    name = repr(field.name)
    can_be_empty = field.type in SCALARS or (field.type not in SPECIAL and _is_list(field.type))
    if field.is_pointer or not (field.omit_zero or (field.omit_empty and can_be_empty)):
        yield f"found[{name}] = {value}"
    else:
        yield f"if {test}: found[{name}] = {value}"
        yield f"elif again: found.pop({name}, None)"


def _several(field: MessageField, size: int, test: str) -> Iterator[str]:
    """Yields the lines that read all consecutive values of a list, or entries of a map."""
    name = repr(field.name)
    if field.stands_for_message:
        yield "values = found"
    else:
        empty = "{}" if field.is_map else "[]"
        yield f"values = found.get({name})"
        yield f"if values is None: values = found[{name}] = {empty}"
    if field.type in _NUMBERS:
        yield f"pos = numbers(data, pos + {size}, end, tag & 7, {_NUMBERS[field.type]}, values)"
        return
    yield "while True:"
    yield from _indent(1, _span(size))
    read = {"string": "text", "bytes": "base64"}.get(field.type) or _name(field.type)
    if field.is_map:
        yield f"    entry(data, pos, stop, end, {read}, values)"
    elif field.type == "string":
        yield "    values.append(data[pos:stop].decode())"
    else:
        yield "    data.left -= 1"
        yield "    if data.left < 0: raise MalformedError(TOO_MANY)"
        yield f"    values.append({read}(data, pos, stop))"
    yield "    pos = stop"
    yield "    if pos >= end: break"
    yield "    tag = data[pos]"
    yield f"    if not ({test}): break"
