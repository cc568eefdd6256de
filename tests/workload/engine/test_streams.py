"""The outputs of a container are taken apart, however the bytes were cut on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine.output_stream import Demultiplexer, OutputChunk


def frame(number: int, data: bytes) -> bytes:
    return bytes((number, 0, 0, 0)) + len(data).to_bytes(4) + data


@given(
    st.lists(st.tuples(st.sampled_from((1, 2)), st.binary(max_size=40)), max_size=20),
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
)
def test_any_cuts_give_the_same_outputs(frames: list[tuple[int, bytes]], cuts: list[int]) -> None:
    stream = b"".join(frame(number, data) for number, data in frames)
    taken: list[OutputChunk] = []
    apart = Demultiplexer()
    at = turn = 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        taken += apart.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    for number, source in ((1, "stdout"), (2, "stderr")):
        printed = b"".join(data for each, data in frames if each == number)
        assert b"".join(output.data for output in taken if output.source == source) == printed
    order = [number for number, data in frames if data]
    seen = [1 if output.source == "stdout" else 2 for output in taken]
    assert [each for i, each in enumerate(seen) if not i or seen[i - 1] != each] == [
        each for i, each in enumerate(order) if not i or order[i - 1] != each
    ]


def test_a_large_frame_is_passed_on_before_it_is_whole() -> None:
    apart = Demultiplexer()
    head = frame(1, bytes(1000))[:108]
    assert apart.feed(head) == [("stdout", bytes(100))]


def test_an_error_of_the_engine_in_the_stream_is_raised() -> None:
    with pytest.raises(EngineError, match="the disk is full"):
        Demultiplexer().feed(frame(1, b"so far") + frame(3, b"the disk is full\n"))


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(EngineError, match="is invalid"):
        Demultiplexer().feed(b"plain text of a terminal")
