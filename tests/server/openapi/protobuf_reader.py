"""Reads protobuf without knowing what it says: each field's number, with all its values."""

import struct
from typing import Any

Fields = dict[int, list[Any]]


def read(data: bytes) -> Fields:
    """The fields of a message. What has a length stays bytes."""
    found: Fields = {}
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        value: Any
        if kind == 0:
            value, position = _varint(data, position)
        elif kind == 1:
            (value,) = struct.unpack_from("<d", data, position)
            position += 8
        elif kind == 2:
            size, position = _varint(data, position)
            value, position = data[position : position + size], position + size
            assert position <= len(data)
        else:
            raise AssertionError(f"no field of OpenAPI is of kind {kind}")
        found.setdefault(number, []).append(value)
    return found


def named(fields: list[bytes]) -> dict[str, Fields]:
    """Messages with a name (1) and a value (2), by name."""
    found = [read(field) for field in fields]
    return {str(entry[1][0], "utf-8"): read(entry[2][0]) for entry in found}


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
