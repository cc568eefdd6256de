"""Frames of HMP v1, and what a terminal remembers."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.node.streams import Size
from setpoint.workload.terminal import hmp
from setpoint.workload.terminal.hmp import FrameError, Kind, frame, read_frame
from setpoint.workload.terminal.screen import SCROLLBACK_BYTES, Screen


class Nobody:
    """What a terminal belongs to, and looks at it."""

    def __init__(self) -> None:
        self.sizes: list[Size] = []
        self.seen = b""
        self.code: int | None = None

    async def write(self, data: bytes) -> None:
        raise AssertionError("nothing is typed here")

    def resize(self, size: Size) -> None:
        self.sizes.append(size)

    def output(self, data: bytes) -> None:
        self.seen += data

    def resized(self, size: Size) -> None:
        self.sizes.append(size)

    def ended(self, code: int) -> None:
        self.code = code


def test_frames_have_the_bytes_that_the_protocol_says() -> None:
    assert frame(Kind.OUTPUT, b"hi") == b"\x03\x02\0\0\0hi"
    assert hmp.hello(Size(80, 24)) == b'\x01\x26\0\0\0{"version":1,"width":80,"height":24}'.replace(
        b"\x26", bytes((len('{"version":1,"width":80,"height":24}'),))
    )
    assert frame(Kind.STATE_SYNC) == b"\x02\0\0\0\0"
    assert hmp.resize(Size(300, 2)) == b"\x05\x08\0\0\0\x2c\x01\0\0\x02\0\0\0"
    assert hmp.exited(137) == b"\x06\x04\0\0\0\x89\0\0\0"


@pytest.mark.parametrize("payload", [b"", b"\0" * 8, b"\1\0\0\0\0\0\1\0", b"\1\0\0\0", b"\1\0\0\0\1\0\0\0\0"])
def test_a_size_that_no_terminal_can_have_is_none(payload: bytes) -> None:
    assert hmp.size_of(payload) is None


async def test_a_frame_that_is_too_long_is_refused_before_it_is_read() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"\x04" + (hmp.MOST_BYTES + 1).to_bytes(4, "little"))
    with pytest.raises(FrameError, match="longer"):
        await read_frame(reader)


@given(st.lists(st.binary(max_size=SCROLLBACK_BYTES // 3) | st.just(b"x" * 100_000 + b"\n"), max_size=12))
def test_of_what_was_written_the_end_is_remembered_from_the_beginning_of_a_line(pieces: list[bytes]) -> None:
    screen = Screen(Nobody(), Size(80, 24))
    for piece in pieces:
        screen.on_output(piece)
    said, past = b"".join(pieces), screen.join(Nobody())
    assert said.endswith(past)
    assert len(past) <= SCROLLBACK_BYTES
    if len(said) <= SCROLLBACK_BYTES:
        assert past == said


def test_everybody_but_who_asked_for_it_is_told_of_a_new_size() -> None:
    source, first, second = Nobody(), Nobody(), Nobody()
    screen = Screen(source, Size(80, 24))
    screen.join(first)
    screen.join(second)
    screen.resize(Size(100, 30), first)
    assert (source.sizes, first.sizes, second.sizes) == ([(100, 30)], [], [(100, 30)])


def test_who_comes_after_the_end_is_told_of_it() -> None:
    screen, late = Screen(Nobody(), Size(80, 24)), Nobody()
    screen.on_output(b"bye")
    screen.end(3)
    assert screen.join(late) == b"bye"
    assert late.code == 3
