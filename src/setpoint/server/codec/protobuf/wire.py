"""The wire format of protobuf: variable-length numbers, lengths, and skipping of unknown fields.

The functions read at a position and return the position after the value. They never accept bytes beyond `end`; errors
have the messages of the generated Go code. The bytes must be followed by `PADDING`, which lets the common path read the
next bytes first and compare with `end` later.
"""

from collections.abc import Mapping
from typing import NamedTuple, Self

PADDING = bytes(4)

TRUNCATED = "unexpected EOF"
OVERFLOW = "proto: integer overflow"
NEGATIVE_LENGTH = "proto: negative length found during unmarshaling"

# Two bytes can encode a list element that is half a kilobyte as JSON. Objects that can be stored have far fewer
# elements.
MAX_ELEMENTS = 100_000
TOO_MANY = f"a body may have at most {MAX_ELEMENTS} messages in lists"

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)


class MalformedError(ValueError):
    """Bytes that are not a message of the expected kind."""


class Buffer(bytes):
    """Bytes to read, followed by padding, with the number of list messages that may still be read."""

    left = MAX_ELEMENTS

    @classmethod
    def of(cls, data: bytes) -> Self:
        return cls(data + PADDING)


def varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Returns an unsigned 64-bit number and the position after the number."""
    # Lengths have two or three bytes, current times in seconds five: unrolled, these take half the time.
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
    """Returns an unsigned 64-bit number of more than five bytes, and the number of its bytes."""
    value = shift = 0
    for size, byte in enumerate(data[pos : pos + 10], 1):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, size
        shift += 7
    raise MalformedError(OVERFLOW if pos + 10 <= end else TRUNCATED)


def int32(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Returns a signed number, of which Go keeps 32 bits, and the position after the number."""
    value, pos = varint(data, pos, end)
    value &= 0xFFFF_FFFF
    return (value - (1 << 32) if value >> 31 else value), pos


def int64(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Returns a signed 64-bit number and the position after the number."""
    value, pos = varint(data, pos, end)
    return (value - (1 << 64) if value >> 63 else value), pos


def boolean(data: bytes, pos: int, end: int) -> tuple[bool, int]:
    value, pos = varint(data, pos, end)
    return value != 0, pos


def span(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Returns the start and end of the bytes whose length is at `pos`."""
    size, pos = varint(data, pos, end)
    stop = pos + size
    if stop >> 63:
        raise MalformedError(NEGATIVE_LENGTH)
    if stop > end:
        raise MalformedError(TRUNCATED)
    return pos, stop


def skip(data: bytes, pos: int, end: int) -> int:
    """Returns the end of the field at `pos`, of any wire type; a group is skipped with its content."""
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


class FieldInfo(NamedTuple):
    """A field of a message: its name in Go, and its allowed wire types."""

    name: str
    wire_types: tuple[int, ...]


def unmatched(data: bytes, pos: int, end: int, message: str, fields: Mapping[int, FieldInfo]) -> int:
    """Skips a field that the message does not have. Raises MalformedError if the message has the field, but with
    another wire type or tag encoding."""
    tag, _ = varint(data, pos, end)
    number, kind = tag >> 3 & 0xFFFF_FFFF, tag & 7
    if kind == END_GROUP:
        raise MalformedError(f"proto: {message}: wiretype end group for non-group")
    if number >> 31 or not number:
        raise MalformedError(f"proto: {message}: illegal tag {number - (number >> 31 << 32)} (wire type {tag})")
    if field := fields.get(number):
        if kind not in field.wire_types:
            raise MalformedError(f"proto: wrong wireType = {kind} for field {field.name}")
        # Go would accept this. No encoder writes this form, and accepting it would require comparing every tag as a
        # number.
        raise MalformedError(f"proto: {message}: the tag of field {field.name} is not in its shortest form")
    return skip(data, pos, end)
