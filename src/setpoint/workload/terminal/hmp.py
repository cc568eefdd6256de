"""HMP v1, the protocol by which DCP's terminals are bridged: frames of a type, a length and a payload.

Hello (a JSON object), StateSync and Output come from the terminal, Input goes to it, Resize goes both ways, and Exit is
the last that comes.
"""

import asyncio
from enum import IntEnum
from typing import NamedTuple

import msgspec

VERSION = 1
MOST_BYTES = 16 << 20
_LENGTH_BYTES = 4


class Kind(IntEnum):
    """The type of a frame."""

    HELLO = 1
    STATE_SYNC = 2
    OUTPUT = 3
    INPUT = 4
    RESIZE = 5
    EXIT = 6


class FrameError(ValueError):
    """What came is no frame."""


class Size(NamedTuple):
    """How large a terminal is."""

    columns: int
    rows: int


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    """A frame. Raises ValueError where it would be longer than the protocol allows."""
    if len(payload) > MOST_BYTES:
        raise ValueError(f"a frame has at most {MOST_BYTES} bytes")
    return bytes((kind,)) + len(payload).to_bytes(_LENGTH_BYTES, "little") + payload


def hello(size: Size) -> bytes:
    """How a terminal introduces itself."""
    return frame(Kind.HELLO, msgspec.json.encode({"version": VERSION, "width": size.columns, "height": size.rows}))


def resize(size: Size) -> bytes:
    return frame(Kind.RESIZE, b"".join(each.to_bytes(4, "little") for each in size))


def exited(code: int) -> bytes:
    return frame(Kind.EXIT, (code & 0xFFFFFFFF).to_bytes(4, "little"))


def size_of(payload: bytes) -> Size | None:
    """The size that a Resize asks for; None where it is none that a terminal can have."""
    if len(payload) != 8:
        return None
    found = Size(int.from_bytes(payload[:4], "little"), int.from_bytes(payload[4:], "little"))
    return found if all(0 < each < 1 << 16 for each in found) else None


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The type and payload of the next frame. Raises FrameError, and EOFError at the end."""
    head = await reader.readexactly(1 + _LENGTH_BYTES)
    length = int.from_bytes(head[1:], "little")
    if length > MOST_BYTES:
        raise FrameError(f"a frame of {length} bytes is longer than {MOST_BYTES}")
    return head[0], await reader.readexactly(length)
