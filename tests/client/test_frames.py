"""The frames of a WebSocket, as the other side may send them."""

import logging
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from setpoint.client.http.frames import CLIENT, SERVER, Frames

LIMIT = 1 << 20
NORMAL, PROTOCOL_ERROR, INVALID_DATA, TOO_BIG = 1000, 1002, 1007, 1009
ZERO = b"\0\0\0\0"  # a mask that changes nothing


def masked(kind: int, payload: bytes, *, final: bool = True) -> bytes:
    """A frame as a client sends it."""
    size = len(payload)
    length = bytes((0x80 | size,)) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    mask = os.urandom(4)
    body = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
    return bytes(((0x80 if final else 0) | kind,)) + length + mask + body


messages = st.lists(st.binary(max_size=300), max_size=5)


@given(messages, st.sampled_from((1, 3, 7, 1000)))
def test_messages_arrive_however_their_bytes_come(sent: list[bytes], step: int) -> None:
    ours, theirs = Frames(CLIENT, LIMIT), Frames(SERVER, LIMIT)
    for message in sent:
        ours.binary(message)
    data = ours.output()
    pieces = [data[place : place + step] for place in range(0, len(data), step)]
    assert [found for piece in pieces for found in theirs.receive(piece)] == sent
    assert theirs.is_open
    assert theirs.output() == b""


@given(st.lists(st.binary(max_size=100), min_size=2, max_size=6))
def test_a_message_in_many_frames_is_one_and_pings_may_come_between(parts: list[bytes]) -> None:
    frames = Frames(SERVER, LIMIT)
    found = frames.receive(masked(Opcode.BINARY, parts[0], final=False))
    for part in parts[1:-1]:
        found += frames.receive(masked(Opcode.CONT, part, final=False) + masked(Opcode.PING, b"?"))
    found += frames.receive(masked(Opcode.CONT, parts[-1]))
    assert found == [b"".join(parts)]
    assert frames.output() == Frame(Opcode.PONG, b"?").serialize(mask=False) * (len(parts) - 2)


FORBIDDEN = {
    "not masked": (b"\x81\x02hi", PROTOCOL_ERROR),
    "the first reserved bit": (b"\xc1\x80" + ZERO, PROTOCOL_ERROR),
    "all reserved bits": (b"\xf1\x80" + ZERO, PROTOCOL_ERROR),
    "a kind that is not defined": (b"\x83\x80" + ZERO, PROTOCOL_ERROR),
    "a control frame that is not defined": (b"\x8b\x80" + ZERO, PROTOCOL_ERROR),
    "half a ping": (b"\x09\x80" + ZERO, PROTOCOL_ERROR),
    "half a goodbye": (b"\x08\x80" + ZERO, PROTOCOL_ERROR),
    "a long ping": (b"\x89\xfe\x01\x00" + ZERO + b"a" * 256, PROTOCOL_ERROR),
    "more of no message": (masked(Opcode.CONT, b"a"), PROTOCOL_ERROR),
    "a message inside another": (masked(Opcode.TEXT, b"a", final=False) + masked(Opcode.TEXT, b"a"), PROTOCOL_ERROR),
    "a goodbye inside a message": (
        masked(Opcode.TEXT, b"a", final=False) + masked(Opcode.CLOSE, b"\x03\xe8"),
        PROTOCOL_ERROR,
    ),
    "a goodbye of one byte": (masked(Opcode.CLOSE, b"\x03"), PROTOCOL_ERROR),
    "a goodbye with a code that is not for frames": (masked(Opcode.CLOSE, (1006).to_bytes(2, "big")), PROTOCOL_ERROR),
    "a goodbye with a code that is none": (masked(Opcode.CLOSE, (65535).to_bytes(2, "big")), PROTOCOL_ERROR),
    "a goodbye whose reason is no text": (masked(Opcode.CLOSE, b"\x03\xe8\xc3\x28"), INVALID_DATA),
    "a text that is none": (masked(Opcode.TEXT, b"\xc3\x28"), INVALID_DATA),
    "a text that is none in two frames": (
        masked(Opcode.TEXT, b"\xc3", final=False) + masked(Opcode.CONT, b"\x28"),
        INVALID_DATA,
    ),
    "too long by one byte": (b"\x82\xff" + (LIMIT + 1).to_bytes(8, "big"), TOO_BIG),
    "a size with its highest bit": (b"\x82\xff" + b"\xff" * 8, TOO_BIG),
    "too long together": (
        masked(Opcode.BINARY, b"a", final=False) + b"\x80\xff" + LIMIT.to_bytes(8, "big") + ZERO,
        TOO_BIG,
    ),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_the_protocol_forbids_is_answered_by_its_code(name: str) -> None:
    data, code = FORBIDDEN[name]
    frames = Frames(SERVER, LIMIT)
    assert frames.receive(data) == []
    answer = frames.output()
    assert (answer[0], int.from_bytes(answer[2:4], "big")) == (0x88, code)
    assert (frames.is_open, frames.has_ended, bool(frames.fault)) == (False, True, True)
    # It is over: what else comes is not read, and there is no second answer.
    assert frames.receive(masked(Opcode.BINARY, b"late") + masked(Opcode.PING, b"late")) == []
    frames.close()
    frames.binary(b"late")
    assert frames.output() == b""


def test_a_server_may_not_mask() -> None:
    frames = Frames(CLIENT, LIMIT)
    assert frames.receive(masked(Opcode.BINARY, b"a")) == []
    assert frames.fault == "incorrect masking"


def test_messages_before_a_breach_are_heard() -> None:
    frames = Frames(SERVER, LIMIT)
    assert frames.receive(masked(Opcode.BINARY, b"good") + b"\xf1\x80" + ZERO) == [b"good"]
    assert frames.fault == "reserved bits must be 0"


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8", b"\x03\xe8so long", b"\x0f\xa0mine"])
def test_a_goodbye_is_returned_once(payload: bytes) -> None:
    frames = Frames(SERVER, LIMIT)
    frames.receive(masked(Opcode.CLOSE, payload))
    assert frames.output() == Frame(Opcode.CLOSE, payload).serialize(mask=False)
    assert (frames.is_open, frames.has_ended, frames.fault) == (False, True, "")
    frames.close()
    assert frames.output() == b""


def test_whoever_says_goodbye_first_waits_for_the_other() -> None:
    ours, theirs = Frames(CLIENT, LIMIT), Frames(SERVER, LIMIT)
    ours.close()
    theirs.receive(ours.output())
    assert (ours.is_open, ours.has_ended) == (False, False)
    ours.receive(theirs.output())
    assert ours.has_ended
    assert ours.output() == b""


def test_messages_are_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ours, theirs = Frames(CLIENT, LIMIT), Frames(SERVER, LIMIT)
        ours.binary(b"a password")
        assert theirs.receive(ours.output()) == [b"a password"]
    assert caplog.records == []
