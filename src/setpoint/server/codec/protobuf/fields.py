"""Readers of fields that are too rare or too large for inline code: maps, lists of numbers, bytes, floats."""

import struct
from binascii import b2a_base64
from collections.abc import Callable
from typing import Any

from setpoint.objects.tree import Json
from setpoint.server.codec.protobuf.wire import VARINT, Buffer, MalformedError, skip, span, varint

_DOUBLE = struct.Struct("<d")


def text(data: bytes, pos: int, end: int) -> str:
    return data[pos:end].decode()


def base64(data: bytes, pos: int, end: int) -> str:
    return b2a_base64(data[pos:end], newline=False).decode()


def entry(
    data: Buffer, pos: int, stop: int, end: int, read: Callable[[Buffer, int, int], Json], found: dict[str, Json]
) -> None:
    """Reads one entry of a map: the message between `pos` and `stop`; `end` is the end of the enclosing message."""
    # Nearly every entry consists of a short key and a short value, in this order.
    size = data[pos + 1]
    middle = pos + 2 + size
    is_usual = size < 128 and middle < stop < middle + 130 and data[pos] == 10 and data[middle] == 18
    if is_usual and data[middle + 1] == stop - middle - 2:
        found[data[pos + 2 : middle].decode()] = read(data, middle + 2, stop)
        return
    key, value = "", None
    is_read = False
    while pos < stop:
        tag, after = varint(data, pos, end)
        number = tag >> 3 & 0xFFFF_FFFF
        if number in (1, 2):
            pos, after = span(data, after, end)
            if number == 1:
                key = data[pos:after].decode()
            else:
                value, is_read = read(data, pos, after), True
            pos = after
        else:
            pos = skip(data, pos, stop)
    found[key] = value if is_read else read(data, stop, stop)


def numbers(
    data: bytes,
    pos: int,
    end: int,
    wire_type: int,
    read: Callable[[bytes, int, int], tuple[Any, int]],
    found: list[Any],
) -> int:
    """Reads one number of a list, or several packed ones, and returns the position after them."""
    if wire_type == VARINT:
        value, pos = read(data, pos, end)
        found.append(value)
        return pos
    pos, stop = span(data, pos, end)
    while pos < stop:
        value, pos = read(data, pos, end)
        found.append(value)
    return pos


def double(data: bytes, pos: int) -> float:
    """Returns a float, as an integer where Go writes an integer."""
    (value,) = _DOUBLE.unpack_from(data, pos)
    if value - value != 0:
        raise MalformedError("json: unsupported value: a number must be finite")
    return int(value) if value.is_integer() and abs(value) < 1 << 63 else float(value)
