"""Reads the wire format of protobuf into trees, for the messages that a table describes.

A tree has the form that OTLP gives messages in JSON: names of fields in camel case, and IDs in hexadecimal. Numbers
stay integers. Unknown fields are skipped. The number of values and the depth of one body are bounded.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from setpoint.telemetry.errors import MalformedTelemetry, TelemetryTooLarge

# The depth of nested messages: attributes may contain maps and lists of values.
MAX_DEPTH: Final = 48
# The number of messages and numbers in one body. A small message can take two bytes.
MAX_VALUES: Final = 2_000_000

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_double = struct.Struct("<d").unpack_from
_fixed64 = struct.Struct("<Q").unpack_from
_signed64 = struct.Struct("<q").unpack_from
_fixed32 = struct.Struct("<I").unpack_from

Tree: TypeAlias = dict[str, Any]


class Scalar(NamedTuple):
    """A type of plain values: its wire type, and the function that reads a value."""

    wire: int
    read: Callable[[bytes, int, int], Any]


class Field(NamedTuple):
    """One field of a message: its name in JSON, and its type, which is a Scalar or the name of a message."""

    name: str
    type: Scalar | str
    is_repeated: bool = False


Messages: TypeAlias = Mapping[str, Mapping[int, Field]]


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace")


def _unsigned(data: bytes, start: int, end: int) -> int:
    return varint(data, start, end)[0]


def _signed(data: bytes, start: int, end: int) -> int:
    value = varint(data, start, end)[0]
    return value - (1 << 64) if value >> 63 else value


def _zigzag(data: bytes, start: int, end: int) -> int:
    value = varint(data, start, end)[0]
    return (value >> 1) ^ -(value & 1)


TEXT = Scalar(_BYTES, _text)
ID = Scalar(_BYTES, lambda data, start, end: data[start:end].hex())
BINARY = Scalar(_BYTES, lambda data, start, end: data[start:end])
UINT = Scalar(_VARINT, _unsigned)
INT = Scalar(_VARINT, _signed)
SINT = Scalar(_VARINT, _zigzag)
BOOL = Scalar(_VARINT, lambda data, start, end: bool(_unsigned(data, start, end)))
FIXED64 = Scalar(_FIXED64, lambda data, start, end: _fixed64(data, start)[0])
SFIXED64 = Scalar(_FIXED64, lambda data, start, end: _signed64(data, start)[0])
DOUBLE = Scalar(_FIXED64, lambda data, start, end: _double(data, start)[0])
FIXED32 = Scalar(_FIXED32, lambda data, start, end: _fixed32(data, start)[0])


def read_message(data: bytes, messages: Messages, name: str) -> Tree:
    """Returns the tree of a message. Raises MalformedTelemetry."""
    return _Reader(data, messages).message(name, 0, len(data), 0)


def varint(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Returns an unsigned 64-bit number and the position after the number."""
    value = shift = 0
    for place in range(start, min(end, start + 10)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
        shift += 7
    raise MalformedTelemetry(f"the number at byte {start} does not end")


class _Reader:
    """Reads one body."""

    def __init__(self, data: bytes, messages: Messages) -> None:
        self._data, self._messages = data, messages
        self._left = MAX_VALUES

    def message(self, name: str, place: int, end: int, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise MalformedTelemetry(f"the values at byte {place} are nested deeper than {MAX_DEPTH} levels")
        data, fields = self._data, self._messages[name]
        tree: Tree = {}
        while place < end:
            key, place = varint(data, place, end)
            wire = key & 7
            start, stop, place = self._extent(wire, place, end)
            field = fields.get(key >> 3)
            if field is None:
                continue
            self._left -= 1
            if self._left < 0:
                raise TelemetryTooLarge(f"the body has more than {MAX_VALUES} values: export smaller batches")
            field_name, kind, is_repeated = field
            if isinstance(kind, str):
                if wire != _BYTES:
                    raise MalformedTelemetry(f"{name}.{field_name} at byte {start} is no message")
                value: Any = self.message(kind, start, stop, depth + 1)
            elif wire == kind.wire:
                value = kind.read(data, start, stop)
            elif is_repeated and wire == _BYTES:
                tree.setdefault(field_name, []).extend(self._packed(kind, start, stop))
                continue
            else:
                raise MalformedTelemetry(f"{name}.{field_name} at byte {start} has a wrong wire type")
            if is_repeated:
                tree.setdefault(field_name, []).append(value)
            else:
                tree[field_name] = value
        return tree

    def _extent(self, wire: int, place: int, end: int) -> tuple[int, int, int]:
        """Returns the start and the end of a value, and the position after the value."""
        start = place
        if wire == _VARINT:
            stop = varint(self._data, place, end)[1]
        elif wire == _FIXED64:
            stop = place + 8
        elif wire == _BYTES:
            length, start = varint(self._data, place, end)
            stop = start + length
        elif wire == _FIXED32:
            stop = place + 4
        else:
            raise MalformedTelemetry(f"the field before byte {place} has the unknown wire type {wire}")
        if stop > end:
            raise MalformedTelemetry(f"the value at byte {start} goes beyond the end of its message")
        return start, stop, stop

    def _packed(self, kind: Scalar, place: int, end: int) -> list[Any]:
        """Returns the numbers of a packed list."""
        found: list[Any] = []
        while place < end:
            start, _, place = self._extent(kind.wire, place, end)
            found.append(kind.read(self._data, start, place))
        self._left -= len(found)
        return found
