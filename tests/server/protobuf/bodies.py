"""Builds protobuf bodies by hand, and takes messages apart into their fields."""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from setpoint.server.codec.protobuf.wire import FIXED32, FIXED64, PADDING, VARINT, span, varint

CASES = Path(__file__).parent / "cases"


def number(value: int) -> bytes:
    """A number as a varint."""
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*made, value))


def field(tag: int, content: bytes) -> bytes:
    """A field that has a length: a text, bytes or a message."""
    return number(tag << 3 | 2) + number(len(content)) + content


def body(api_version: str, kind: str, message: bytes) -> bytes:
    """A message in its envelope."""
    meta = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, meta) + field(2, message)


class Part(NamedTuple):
    """One field of a message: its number and all its bytes."""

    number: int
    data: bytes


def parts(message: bytes) -> list[Part]:
    """The fields of a message in their order."""
    data, end, pos, found = message + PADDING, len(message), 0, []
    while pos < end:
        start = pos
        tag, pos = varint(data, pos, end)
        if tag & 7 == VARINT:
            _, pos = varint(data, pos, end)
        elif tag & 7 in (FIXED64, FIXED32):
            pos += 8 if tag & 7 == FIXED64 else 4
        else:
            _, pos = span(data, pos, end)
        found.append(Part(tag >> 3, message[start:pos]))
    return found


def content(part: Part) -> bytes:
    """The bytes of a field that has a length."""
    data, end = part.data + PADDING, len(part.data)
    _, pos = varint(data, 0, end)
    pos, stop = span(data, pos, end)
    return part.data[pos:stop]


def message_in(whole: bytes) -> bytes:
    """The message in an envelope."""
    return next(content(part) for part in parts(whole[4:]) if part.number == 2)


class WatchEvent(NamedTuple):
    """An event of a watch: its type, and its object in an envelope."""

    type: str
    object: bytes


def watch_events(stream: bytes) -> list[WatchEvent]:
    """The events in the frames of a watch."""
    found = []
    while stream:
        end = 4 + int.from_bytes(stream[:4])
        kind, extension = parts(stream[4:end])
        (raw,) = parts(content(extension))
        assert (kind.number, extension.number, raw.number) == (1, 2, 1)
        found.append(WatchEvent(content(kind).decode(), content(raw)))
        stream = stream[end:]
    return found


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.load((CASES / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return [{**case, "body": bytes.fromhex(case["body"])} for case in found]
