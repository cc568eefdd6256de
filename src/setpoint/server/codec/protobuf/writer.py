"""Generates the Python function that writes each message.

A function `write(value)` returns the bytes of a message, without tag and length, for a value that `json_types` read.
The bytes are those that Go's generated code writes: fields in the order of their numbers, map entries in the order of
their keys; values that are no pointers in Go are written even if absent, as zero.

Functions are generated on first call, like those that read.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from setpoint.server.codec.protobuf import wire
from setpoint.server.codec.protobuf.json_types import TEXTS, attribute, is_list, json_type
from setpoint.server.codec.protobuf.message_table import SCALARS, Field, nests, table
from setpoint.server.codec.protobuf.special_writers import SPECIAL_WRITERS, SpecialWriter, Write

_NUMBERS = frozenset(("bool", "int32", "int64"))
_ZEROS = {"string": b"\0", "bool": b"\0", "int32": b"\0", "int64": b"\0", "double": bytes(8)}


# The names that generated functions use, and the functions themselves: at most one per message of the table.
_names: dict[str, Any] = {
    "convert": msgspec.convert,
    "double": struct.Struct("<d").pack,
    "unsigned": wire.unsigned,
}


def _prefixes(number: int) -> str:
    """Returns the name of the prefixes of a field number."""
    name = f"P{number}"
    if name not in _names:
        _names[name] = wire.Prefixes(number)
    return name


def _function(message: str) -> str:
    """Returns the name of the function of a message; the first call generates the function."""
    name = message.replace(".", "_")
    if name not in _names:
        special = SPECIAL_WRITERS.get(message)
        _names[name] = _later(message, name) if special is None else _special(special)
    return name


def _later(message: str, name: str) -> Write:
    def first(value: Any) -> bytes:
        exec(compile("\n".join(source(message, name)), f"<protobuf writer {message}>", "exec"), _names)
        return writer(message)(value)

    return first


def _special(special: SpecialWriter) -> Write:
    write = special.write
    if not special.inner:
        return write
    inner = _function(special.inner)
    return lambda value: write(value, _names[inner])


def writer(message: str) -> Write:
    """Returns the function that writes a message, given its full name."""
    found: Write = _names[_function(message)]
    return found


def zero(message: str) -> bytes:
    """Returns the bytes of a message without any set field, as Go writes them for a struct that is no pointer."""
    name = f"{_function(message)}_zero"
    found: bytes | None = _names.get(name)
    if found is None:
        special = SPECIAL_WRITERS.get(message)
        if special is not None:
            found = special.zero
        else:
            found = writer(message)([] if is_list(message) else json_type(message)())
        _names[name] = found
    return found


# Generated functions compute the zero values of list elements and map values on demand: null is rare there, and a
# message can contain itself in a list.
_names.update(absent=lambda number, kind: _absent(number, kind), zero=zero)


def source(message: str, name: str) -> Iterator[str]:
    """Yields the lines of the function that writes a message."""
    fields = sorted(table().messages[message])
    yield f"def {name}(value):"
    if is_list(message):
        yield "    found = []"
        yield from _indent(1, _several(fields[0], "value"))
        yield "    return b''.join(found)"
        return
    if nests(message):
        _names[f"{name}_type"] = json_type(message)
        yield f"    if type(value) is dict: value = convert(value, {name}_type)"
    yield "    found = []"
    for field in fields:
        yield from _indent(1, _field(field))
    yield "    return b''.join(found)"


def _field(field: Field) -> Iterator[str]:
    """Yields the lines that write a field of `value`."""
    if field.is_embedded:
        yield f"inner = {_function(field.type)}(value)"
        yield f"found += {_prefixes(field.number)}[len(inner)], inner"
        return
    yield f"item = value.{attribute(field.name)}"
    if field.is_list or field.is_map:
        yield "if item:"
        yield from _indent(1, (_entries if field.is_map else _several)(field, "item"))
        return
    is_absent = field.is_pointer or field.type == "bytes" or (field.type not in SCALARS and is_list(field.type))
    # Most empty values are absent ones, so that one test serves both.
    test = "item is not None" if field.is_pointer or field.type not in ("string", *_NUMBERS) else "item"
    if field.type in TEXTS:
        test += " and bytes(item) != b'null'"
    yield f"if {test}: {_one(field.type, field.number, 'item')}"
    if not is_absent:
        yield f"else: found.append({_absent(field.number, field.type)!r})"


def _absent(number: int, kind: str) -> bytes:
    """Returns the bytes of an absent value that Go writes nevertheless."""
    if kind in SCALARS:
        return _tag(number, kind) + _ZEROS[kind]
    return wire.sized(number, zero(kind))


def _tag(number: int, kind: str) -> bytes:
    wire_type = wire.VARINT if kind in _NUMBERS else wire.FIXED64 if kind == "double" else wire.BYTES
    return wire.unsigned(number << 3 | wire_type)


def _one(kind: str, number: int, item: str) -> str:
    """Returns the statements that write one value, which is not None."""
    tag = _tag(number, kind)
    if kind == "bool":
        return f"found.append({tag + bytes((1,))!r} if {item} else {tag + bytes(1)!r})"
    if kind in _NUMBERS:
        return f"found += {tag!r}, unsigned({item})"
    if kind == "double":
        return f"found += {tag!r}, double({item})"
    made = {"string": f"{item}.encode()", "bytes": item}.get(kind) or f"{_function(kind)}({item})"
    return f"inner = {made}; found += {_prefixes(number)}[len(inner)], inner"


def _several(field: Field, items: str) -> Iterator[str]:
    """Yields the lines that write the values of a list."""
    yield f"for each in {items}:"
    yield f"    if each is not None: {_one(field.type, field.number, 'each')}"
    yield f"    else: found.append(absent({field.number}, {field.type!r}))"


def _entries(field: Field, items: str) -> Iterator[str]:
    """Yields the lines that write the entries of a map. Go writes them in the order of their keys."""
    prefixes, keys, values = (_prefixes(number) for number in (field.number, 1, 2))
    empty = "b''" if field.type in SCALARS else f"zero({field.type!r})"
    made = {"string": "each.encode()", "bytes": "each"}.get(field.type) or f"{_function(field.type)}(each)"
    yield f"for key in sorted({items}):"
    yield f"    each = {items}[key]"
    yield "    key = key.encode()"
    if field.type == "bytes":
        yield f"    if each is None: inner = {keys}[len(key)] + key"
        yield f"    else: inner = b''.join(({keys}[len(key)], key, {values}[len(each)], each))"
    else:
        yield f"    each = {made} if each is not None else {empty}"
        yield f"    inner = b''.join(({keys}[len(key)], key, {values}[len(each)], each))"
    yield f"    found += {prefixes}[len(inner)], inner"


def _indent(levels: int, lines: Iterator[str]) -> Iterator[str]:
    return ("    " * levels + line for line in lines)


Encode = Callable[[bytes], bytes]


def encoder(message: str) -> Encode:
    """Returns the function that converts the JSON of an object to the bytes of a message."""
    name = f"{_function(message)}_encode"
    found: Encode | None = _names.get(name)
    if found is None:
        decode = msgspec.json.Decoder(json_type(message)).decode
        function = _function(message)

        def encode(body: bytes) -> bytes:
            made: bytes = _names[function](decode(body))
            return made

        found = _names[name] = encode
    return found
