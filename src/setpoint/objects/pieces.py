"""JSON in many short calls: while one call into C reads or writes JSON, no other thread of the process runs.

A body of three megabytes may hold a million containers, and reading the body takes 70 ms in one call. Here a large
value is read and written a few hundred members at a time. The results are those of a single call.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from setpoint.objects import sorted_json
from setpoint.objects.tree import Json

# An object or list with more members is written in chunks of this size.
_MANY = 256
# This many levels are traversed one by one regardless of their size: the large containers are at the bottom.
_DEPTH = 3
# Fewer containers are read in a few milliseconds.
_FEW_CONTAINERS = 20_000
# Every level that is split is read twice.
_LEVELS = 12
# JSON with fewer bytes is read in one call, or together with its neighbours.
SMALL = 64 * 1024

_encode_plain = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def decode(data: bytes) -> Json:
    """Decodes JSON to a tree. Raises the exceptions of `msgspec`."""
    if len(data) < SMALL or not _is_large(data):
        return _decode(data)
    try:
        return _decode_in_pieces(data, _LEVELS)
    except msgspec.MsgspecError:
        # In one call, so that the error has the position in the whole text.
        return _decode(data)


def _is_large(data: bytes) -> bool:
    """Returns True for JSON that one call would take too long to read."""
    return len(data) >= SMALL and data.count(b"{") + data.count(b"[") >= _FEW_CONTAINERS


def _decode_in_pieces(data: bytes, levels: int) -> Json:
    if not levels or not _is_large(data):
        return _decode(data)
    first = data.lstrip(b" \t\r\n")[:1]
    if first == b"{":
        members = _decode_object(data)
        return dict(zip(members, _values(list(members.values()), levels - 1), strict=True))
    return _values(_decode_list(data), levels - 1) if first == b"[" else _decode(data)


def _values(members: list[msgspec.Raw], levels: int) -> list[Json]:
    """Returns the trees of members. Small ones are decoded together."""
    values: list[Json] = []
    pending: list[msgspec.Raw] = []
    size = 0
    for member in members:
        length = len(member)
        if pending and size + length > SMALL:
            values += _decode(b"[%b]" % b",".join(pending))
            pending, size = [], 0
        if length > SMALL:
            values.append(_decode_in_pieces(bytes(member), levels))
        else:
            pending.append(member)
            size += length + 1
    if pending:
        values += _decode(b"[%b]" % b",".join(pending))
    return values


def encode(value: Json) -> bytes:
    """Returns the JSON of a value."""
    parts: list[bytes] = []
    _encode(value, parts, _DEPTH, _encode_plain, list)
    return b"".join(parts)


def encode_sorted(value: Json) -> bytes:
    """Returns the JSON of a value with the keys of every object in order."""
    parts: list[bytes] = []
    _encode(value, parts, _DEPTH, sorted_json.encode_sorted, sorted)
    return b"".join(parts)


def _encode(
    value: Json,
    parts: list[bytes],
    depth: int,
    encode_piece: Callable[[Json], bytes],
    names_of: Callable[[dict[str, Json]], list[str]],
) -> None:
    if type(value) not in (dict, list) or (depth <= 0 and len(value) <= _MANY):
        parts.append(encode_piece(value))
        return
    is_dict = type(value) is dict
    names = names_of(value) if is_dict else range(len(value))
    parts.append(b"{" if is_dict else b"[")
    pending: list[Any] = []
    first = True

    def flush() -> None:
        nonlocal first
        if pending:
            piece = {name: value[name] for name in pending} if is_dict else [value[name] for name in pending]
            encoded = encode_piece(piece)[1:-1]
            parts.append(encoded if first else b"," + encoded)
            first = False
            pending.clear()

    for name in names:
        inner = value[name]
        if type(inner) in (dict, list) and (len(inner) > _MANY or depth > 1):
            flush()
            if not first:
                parts.append(b",")
            if is_dict:
                parts.append(encode_piece(name) + b":")
            _encode(inner, parts, depth - 1, encode_piece, names_of)
            first = False
        else:
            pending.append(name)
            if len(pending) >= _MANY:
                flush()
    flush()
    parts.append(b"}" if is_dict else b"]")
