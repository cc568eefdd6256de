"""The wire format of protobuf: numbers of variable length, lengths, and how to pass over what is not known.

The functions read at a position and say where what they read ends. They never look beyond `end` for good: what they
refuse they refuse with the words of the generated Go code. What they read must have `PADDING` behind it, which lets the
code on the usual path look at the next bytes first and compare with `end` later.
"""

from collections.abc import Mapping
from typing import NamedTuple, Self

PADDING = bytes(4)

TRUNCATED = "unexpected EOF"
OVERFLOW = "proto: integer overflow"
NEGATIVE_LENGTH = "proto: negative length found during unmarshaling"

# Two bytes can be an element of a list and half a kilobyte as JSON. What can be stored has far fewer elements.
MAX_ELEMENTS = 100_000
TOO_MANY = f"a body may have at most {MAX_ELEMENTS} messages in lists"

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)


class MalformedError(ValueError):
    """Bytes that are no message of the kind they should be."""


class Buffer(bytes):
    """Bytes to read, with padding behind them, and how many more messages in lists they may hold."""

    left = MAX_ELEMENTS

    @classmethod
    def of(cls, data: bytes) -> Self:
        return cls(data + PADDING)


def varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """An unsigned number of 64 bits, and where it ends."""
    # Lengths have two or three bytes, the seconds of our days five: without a loop they take half the time.
    value = data[pos]
    size = 1
    if value > 0x7F:
        byte = data[pos + 1]
        value += (byte << 7) - 0x80
        size = 2
        if byte > 0x7F:
            byte = data[pos + 2]
            value += (byte << 14) - 0x4000
            size = 3
            if byte > 0x7F:
                byte = data[pos + 3]
                value += (byte << 21) - 0x20_0000
                size = 4
                if byte > 0x7F:
                    byte = data[pos + 4]
                    value += (byte << 28) - 0x1000_0000
                    size = 5
                    if byte > 0x7F:
                        value, size = _long_varint(data, pos, end)
    pos += size
    if pos > end:
        raise MalformedError(TRUNCATED)
    return value, pos


def _long_varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """An unsigned number of 64 bits in more than five bytes, and how many they are."""
    value = shift = 0
    for size, byte in enumerate(data[pos : pos + 10], 1):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, size
        shift += 7
    raise MalformedError(OVERFLOW if pos + 10 <= end else TRUNCATED)


def int32(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """A signed number of which Go keeps 32 bits."""
    value, pos = varint(data, pos, end)
    value &= 0xFFFF_FFFF
    return (value - (1 << 32) if value >> 31 else value), pos


def int64(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """A signed number of 64 bits."""
    value, pos = varint(data, pos, end)
    return (value - (1 << 64) if value >> 63 else value), pos


def boolean(data: bytes, pos: int, end: int) -> tuple[bool, int]:
    value, pos = varint(data, pos, end)
    return value != 0, pos


def span(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Where the bytes begin and end whose length stands at `pos`."""
    size, pos = varint(data, pos, end)
    stop = pos + size
    if stop >> 63:
        raise MalformedError(NEGATIVE_LENGTH)
    if stop > end:
        raise MalformedError(TRUNCATED)
    return pos, stop


def skip(data: bytes, pos: int, end: int) -> int:
    """Where the field at `pos` ends, whatever it is; a group with all that is in it."""
    depth = 0
    while True:
        if pos >= end:
            raise MalformedError(TRUNCATED)
        tag, pos = varint(data, pos, end)
        kind = tag & 7
        if kind == VARINT:
            _, pos = varint(data, pos, end)
        elif kind == FIXED64:
            pos += 8
        elif kind == BYTES:
            size, pos = varint(data, pos, end)
            pos += size
            if pos >> 63:
                raise MalformedError(NEGATIVE_LENGTH)
        elif kind == START_GROUP:
            depth += 1
        elif kind == END_GROUP:
            if not depth:
                raise MalformedError("proto: unexpected end of group")
            depth -= 1
        elif kind == FIXED32:
            pos += 4
        else:
            raise MalformedError(f"proto: illegal wireType {kind}")
        if not depth:
            if pos > end:
                raise MalformedError(TRUNCATED)
            return pos


class Known(NamedTuple):
    """A field that a message has: what Go calls it, and how it may come."""

    name: str
    wire_types: tuple[int, ...]


def unmatched(data: bytes, pos: int, end: int, message: str, known: Mapping[int, Known]) -> int:
    """Passes over a field that the message does not have. Raises MalformedError where it has it and it came wrong."""
    tag, _ = varint(data, pos, end)
    number, kind = tag >> 3 & 0xFFFF_FFFF, tag & 7
    if kind == END_GROUP:
        raise MalformedError(f"proto: {message}: wiretype end group for non-group")
    if number >> 31 or not number:
        raise MalformedError(f"proto: {message}: illegal tag {number - (number >> 31 << 32)} (wire type {tag})")
    if field := known.get(number):
        if kind not in field.wire_types:
            raise MalformedError(f"proto: wrong wireType = {kind} for field {field.name}")
        # Go would read on. No encoder writes this, and to accept it every tag would have to be compared as a number.
        raise MalformedError(f"proto: {message}: the tag of field {field.name} is not in its shortest form")
    return skip(data, pos, end)
