"""Generates the Python function that writes each message.

A function `write(value)` returns a message, without tag and length, as text with a character for each byte; `value` has
the type of the message in `json_types`. The bytes are those that Go's generated code writes: fields in the order of
their numbers, map entries in the order of their keys; values that are no pointers in Go are written even if absent, as
zero.

The functions of a kind are generated on its first use, all at once, so that a thread can do so.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from setpoint.server.codec.protobuf import wire
from setpoint.server.codec.protobuf.json_types import TEXTS, attribute, is_list, json_type
from setpoint.server.codec.protobuf.message_table import SCALARS, MessageField, table
from setpoint.server.codec.protobuf.special_writers import SPECIAL_WRITERS, SpecialWriter, Write
from setpoint.server.codec.protobuf.wire_text import CHARSET, LOW, SMALL, byte_text, number, sized

_NUMBERS = frozenset(("bool", "int32", "int64"))
_double = struct.Struct("<d").pack

Encode: TypeAlias = Callable[[bytes], bytes]


def _float(value: float) -> str:
    return _double(value).decode(CHARSET)


# The names that generated functions use, and the functions themselves: at most one per message of the table.
_names: dict[str, Any] = {
    "CHARSET": CHARSET,
    "SMALL": SMALL,
    "convert": msgspec.convert,
    "double": _float,
    "number": number,
}


def encoder(message: str) -> Encode:
    """Returns the function that converts the JSON of an object to the bytes of a message, given its full name.
    Generates the functions of all messages inside."""
    decode = msgspec.json.Decoder(json_type(message)).decode
    for inner in sorted(table().reach(message) | {message}):
        _defined(inner)
    write: Write = _names[_function(message)]

    def encode(body: bytes) -> bytes:
        return write(decode(byte_text(body))).encode(CHARSET)

    return encode


def _function(message: str) -> str:
    """Returns the name of the function of a message."""
    return message.replace(".", "_")


def _defined(message: str) -> Write:
    """Returns the function of a message; the first call generates the function."""
    name = _function(message)
    found: Write | None = _names.get(name)
    if found is None:
        special = SPECIAL_WRITERS.get(message)
        if special is None:
            exec(compile("\n".join(source(message, name)), f"<protobuf writer {message}>", "exec"), _names)
            found = _names[name]
        else:
            found = _names[name] = _special(special)
    return found


def _special(special: SpecialWriter) -> Write:
    write = special.write
    if not special.inner:
        return write
    inner = _function(special.inner)
    return lambda value: write(value, _names[inner])


def _zero(message: str) -> str:
    """Returns a message without any set field, as Go writes a struct that is no pointer."""
    special = SPECIAL_WRITERS.get(message)
    if special is not None:
        return special.zero
    name = f"{_function(message)}_zero"
    found: str | None = _names.get(name)
    if found is None:
        found = _names[name] = _defined(message)([] if is_list(message) else json_type(message)())
    return found


def _null(field: int, kind: str) -> str:
    """Returns the element of a list that is null in JSON. Computed on demand: a message may contain itself in a
    list."""
    return _tag(field, kind) + "\0" if kind in SCALARS else sized(field, _zero(kind))


_names |= {"null": _null, "zero": _zero}


def source(message: str, name: str) -> Iterator[str]:
    """Yields the lines of the function that writes a message."""
    fields = sorted(table().messages[message])
    yield f"def {name}(value):"
    if is_list(message):
        yield "    text = ''"
        yield from _indent(1, _several(fields[0], "value", "text"))
        yield "    return text"
        return
    if message in table().reach(message):
        _names[f"{name}_type"] = json_type(message)
        yield f"    if type(value) is dict: value = convert(value, {name}_type)"
    # One formatted string makes the message: fewer copies than adding field after field. Fields that may be omitted
    # are added to a variable, which is shared by consecutive ones.
    parts: list[str] = []
    optional = ""
    for place, field in enumerate(fields):
        if not _may_be_omitted(field):
            optional = ""
            yield f"    v{place} = {_value(field)}"
            parts.append(_part(field, f"v{place}"))
            continue
        if not optional:
            optional = f"v{place}"
            yield f"    {optional} = ''"
            parts.append(f"{{{optional}}}")
        yield from _indent(1, _optional(field, optional))
    yield f'    return f"{"".join(parts)}"'


def _may_be_omitted(field: MessageField) -> bool:
    """Returns True if Go writes no bytes for an absent value."""
    if field.is_list or field.is_map or field.is_pointer:
        return True
    return field.type == "bytes" or (field.type not in SCALARS and is_list(field.type))


def _value(field: MessageField) -> str:
    """Returns the expression for the value of a field that is always written."""
    item, kind = f"value.{attribute(field.name)}", field.type
    if field.is_embedded:
        _defined(kind)  # the zero value of the message around needs the function
        return f"{_function(kind)}(value)"
    if kind in SCALARS:
        return f"{item} or ''" if kind == "string" else f"{item} or 0"
    test = f"(item := {item}) is None" + (" or bytes(item) == b'null'" if kind in TEXTS else "")
    return f"'{_literal(_zero(kind))}' if {test} else {_function(kind)}(item)"


def _part(field: MessageField, value: str) -> str:
    """Returns the part of a formatted string for a value: its tag, and the value or its length and content."""
    tag = _literal(_tag(field.number, field.type))
    if field.type == "bool":
        return f"{tag}{{SMALL[1] if {value} else SMALL[0]}}"
    if field.type in _NUMBERS:
        return f"{tag}{{SMALL[{value}] if 0 <= {value} < {LOW} else number({value})}}"
    return f"{tag}{{double({value})}}" if field.type == "double" else tag + _content(value)


def _content(value: str) -> str:
    """Returns the part of a formatted string for the length of a text, and the text."""
    return f"{{SMALL[size] if (size := len({value})) < {LOW} else number(size)}}{{{value}}}"


def _optional(field: MessageField, text: str) -> Iterator[str]:
    """Yields the lines that add a field to a text, if the field is set."""
    item = f"value.{attribute(field.name)}"
    if field.is_list or field.is_map:
        yield f"if several := {item}:"
        yield from _indent(1, (_entries if field.is_map else _several)(field, "several", text))
        return
    yield f"if (item := {item}) is not None" + (" and bytes(item) != b'null':" if field.type in TEXTS else ":")
    yield from _indent(1, _one(field, text))


def _one(field: MessageField, text: str) -> Iterator[str]:
    """Yields the lines that add `item`, a value of a field, to a text."""
    if made := _made(field.type):
        yield f"item = {made}"
    yield f'{text} += f"{_part(field, "item")}"'


def _made(kind: str) -> str:
    """Returns the expression for the text of `item`; empty if `item` is the text or a number."""
    if kind in SCALARS:
        return "item.decode(CHARSET)" if kind == "bytes" else ""
    return f"{_function(kind)}(item)"


def _several(field: MessageField, items: str, text: str) -> Iterator[str]:
    """Yields the lines that add the values of a list to a text."""
    yield f"for item in {items}:"
    yield "    if item is None:"
    yield f"        {text} += null({field.number}, {field.type!r})"
    yield "        continue"
    yield from _indent(1, _one(field, text))


def _entries(field: MessageField, items: str, text: str) -> Iterator[str]:
    """Yields the lines that add the entries of a map to a text. Go writes them in the order of their keys."""
    absent = "''" if field.type in SCALARS else f"zero({field.type!r})"
    key, value = f"\\n{_content('key')}", f"\\x12{_content('item')}"
    yield f"for key in sorted({items}):"
    yield f"    if (item := {items}[key]) is None:"
    # Go omits only absent bytes.
    yield f'        item = f"{key}"' if field.type == "bytes" else f'        item = {absent}; item = f"{key}{value}"'
    yield "    else:"
    if made := _made(field.type):
        yield f"        item = {made}"
    yield f'        item = f"{key}{value}"'
    yield f'    {text} += f"{_literal(_tag(field.number, "message"))}{_content("item")}"'


def _tag(field: int, kind: str) -> str:
    wire_type = wire.VARINT if kind in _NUMBERS else wire.FIXED64 if kind == "double" else wire.BYTES
    return number(field << 3 | wire_type)


def _literal(text: str) -> str:
    """Returns text for a string literal, formatted or not."""
    return "".join([f"\\x{ord(character):02x}" for character in text])


def _indent(levels: int, lines: Iterator[str]) -> Iterator[str]:
    return ("    " * levels + line for line in lines)
