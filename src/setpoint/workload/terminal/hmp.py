"""HMP v1, the protocol of DCP's terminal bridges: frames with a type, a length and a payload.

Hello (a JSON object), StateSync and Output are sent by the terminal, Input is sent to the terminal, Resize is sent in
both directions, and Exit is the last frame of the terminal.
"""

import asyncio
from enum import IntEnum

import msgspec

from setpoint.node.streams import Size

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
    """The received data is not a valid frame."""


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    """Returns a frame. Raises ValueError if the payload exceeds the limit of the protocol."""
    if len(payload) > MOST_BYTES:
        raise ValueError(f"a frame has at most {MOST_BYTES} bytes")
    return bytes((kind,)) + len(payload).to_bytes(_LENGTH_BYTES, "little") + payload


def hello(size: Size) -> bytes:
    """Returns the first frame of a terminal."""
    return frame(Kind.HELLO, msgspec.json.encode({"version": VERSION, "width": size.columns, "height": size.rows}))


def resize(size: Size) -> bytes:
    return frame(Kind.RESIZE, b"".join(each.to_bytes(4, "little") for each in size))


def exited(code: int) -> bytes:
    return frame(Kind.EXIT, (code & 0xFFFFFFFF).to_bytes(4, "little"))


def size_of(payload: bytes) -> Size | None:
    """Returns the size in a Resize frame, or None if invalid."""
    if len(payload) != 8:
        return None
    found = Size(int.from_bytes(payload[:4], "little"), int.from_bytes(payload[4:], "little"))
    return found if all(0 < each < 1 << 16 for each in found) else None


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Returns the type and payload of the next frame. Raises FrameError, or EOFError at the end."""
    head = await reader.readexactly(1 + _LENGTH_BYTES)
    length = int.from_bytes(head[1:], "little")
    if length > MOST_BYTES:
        raise FrameError(f"a frame of {length} bytes is longer than {MOST_BYTES}")
    return head[0], await reader.readexactly(length)
