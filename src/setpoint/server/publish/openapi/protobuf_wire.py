"""Writes protobuf: the fields of a message, each with its number. Empty values are omitted, as in proto3."""

import struct

_LENGTH_DELIMITED, _FIXED64 = 2, 1


def text(number: int, value: str) -> bytes:
    """A string field."""
    return message(number, value.encode("utf-8", "surrogatepass")) if value else b""


def message(number: int, content: bytes) -> bytes:
    """A field that holds another message; written even if that message is empty."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(len(content)) + content


def integer(number: int, value: int) -> bytes:
    """An int64 field."""
    return varint(number << 3) + varint(value & 0xFFFF_FFFF_FFFF_FFFF) if value else b""


def boolean(number: int, value: object) -> bytes:
    """A bool field."""
    return varint(number << 3) + b"\x01" if value else b""


def double(number: int, value: float) -> bytes:
    """A double field."""
    return varint(number << 3 | _FIXED64) + struct.pack("<d", float(value)) if value else b""


def varint(value: int) -> bytes:
    """A number in variable length, with seven bits per byte."""
    if value < 0x80:
        return bytes((value,))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
