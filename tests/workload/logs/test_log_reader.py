"""What a reader asks for is what it gets; one that follows misses nothing and ends when there is nothing to come."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.logs.books import NOON, Book, turns

from setpoint.objects.errors import BadRequest
from setpoint.workload.logs.capture import Limits
from setpoint.workload.logs.log_reader import LINGER_SECONDS, read
from setpoint.workload.logs.options import LogOptions, parse

TEN = [b"line %d\n" % number for number in range(1, 11)]
CUTS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, list(range(1, 11))),
    ({"tail": 3}, [8, 9, 10]),
    ({"tail": 1_000_000}, list(range(1, 11))),
    ({"tail": 4, "limit": 2}, [7, 8]),
    ({"skip": 8}, [9, 10]),
    ({"skip": 0, "limit": 1}, [1]),
    ({"skip": 20}, []),
    ({"skip": 2, "limit": 3}, [3, 4, 5]),
    ({"limit": 100}, list(range(1, 11))),
    ({"since_time": NOON + timedelta(seconds=9)}, [9, 10]),
    ({"since": timedelta(seconds=2.5)}, [8, 9, 10]),
    ({"since_time": NOON + timedelta(seconds=99)}, []),
    ({"until": NOON + timedelta(seconds=3)}, [1, 2]),
    ({"until": NOON + timedelta(seconds=5), "tail": 2}, [3, 4]),
    ({"since_time": NOON + timedelta(seconds=3), "until": NOON + timedelta(seconds=5), "skip": 1}, [3, 4]),
    ({"since_time": NOON + timedelta(seconds=5), "tail": 3}, [8, 9, 10]),
    ({"since_time": NOON + timedelta(seconds=9), "tail": 5}, [9, 10]),
]


@pytest.mark.parametrize("files", [1, 10])
@pytest.mark.parametrize(("asked", "lines"), CUTS)
async def test_lines_are_cut_as_asked(asked: dict[str, Any], lines: list[int], files: int, tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture(limits=Limits(max_bytes=1000 if files == 1 else 16, max_files=files))
    for line in TEN:
        book.clock.advance(1)
        capture.write(line)
    assert await book.read(**asked) == b"".join(TEN[number - 1] for number in lines)
    numbered = await book.read(**asked, line_numbers=True, timestamps=True)
    assert numbered == b"".join(
        b"%d 2026-05-04T12:00:%02d.000Z %s" % (number, number, TEN[number - 1]) for number in lines
    )
    assert await book.read(**asked, source="all") == b"".join(TEN[number - 1] for number in lines)
    capture.release()


async def test_both_streams_are_read_in_the_order_they_came_line_by_line(tmp_path: Path) -> None:
    book = Book(tmp_path)
    out, err = book.capture("stdout"), book.capture("stderr")
    for capture, data in (
        (out, b"one\nhal"),
        (err, b"warning\n"),
        (out, b"f\nthree\n"),
        (err, b"no end"),
        (out, b"four\nno end either"),
    ):
        book.clock.advance(0.001)
        capture.write(data)
    everything = b"one\nhalf\nwarning\nthree\nfour\nno end\nno end either"
    assert await book.read(source="all") == everything
    assert await book.read(source="all", tail=3) == b"four\nno end\nno end either"
    assert await book.read(source="all", skip=1, limit=3, line_numbers=True) == b"2 half\n3 warning\n4 three\n"
    assert await book.read(source="stderr") == b"warning\nno end"
    named = await book.read(source="all", sources=True, line_numbers=True)
    assert named == (
        b"1 stdout one\n2 stdout half\n3 stderr warning\n4 stdout three\n5 stdout four\n"
        b"6 stderr no end\n7 stdout no end either"
    )
    assert await book.read(source="all", sources=True, tail=2) == b"stderr no end\nstdout no end either"
    out.release()
    err.release()


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([b"a", b"bb\n", b"\n", b"c\nd\ne", b"f\n" * 9])), max_size=40))
def test_merging_loses_nothing_and_keeps_each_stream_in_order(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[bool, bytes]]
) -> None:
    async def test() -> None:
        book = Book(tmp_path_factory.mktemp("log"))
        captures = book.capture("stdout", Limits(20, 1000)), book.capture("stderr", Limits(20, 1000))
        for which, data in writes:
            book.clock.advance(0.01)
            marked = bytes(byte if byte == 10 else byte - 32 for byte in data) if which else data
            captures[which].write(marked)
        merged = await book.read(source="all")
        for which, keep in ((False, bytes.islower), (True, bytes.isupper)):
            whole = await book.read(source="stderr" if which else "stdout")
            mine = [line for line in merged.split(b"\n") if keep(line)]
            assert mine == [line for line in whole.split(b"\n") if line]
        for capture in captures:
            capture.release()

    asyncio.run(test())


async def test_a_follower_gets_everything_across_rotation_and_restart_and_ends_with_the_writer(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture(limits=Limits(max_bytes=100, max_files=3))
    follower = book.follow(line_numbers=True)
    for number in range(1, 101):
        capture.write(b"line %d\n" % number)
        if number == 50:
            capture.close()
            capture.begin()
        await turns(3)
    capture.write(b"last words")
    capture.close()
    book.done.set()
    expected = b"".join(b"%d line %d\n" % (number, number) for number in range(1, 101)) + b"101 last words"
    assert await follower == expected
    capture.release()


async def test_a_slow_reader_never_holds_up_the_writer_and_goes_on_with_what_is_left(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture(limits=Limits(max_bytes=100, max_files=2))
    capture.write(b"first\n")
    reader = read(book.tracks, LogOptions(follow=True, line_numbers=True), book.done, book.clock)
    assert await anext(reader) == b"1 first\n"
    for number in range(2, 1001):
        capture.write(b"line %d\n" % number)
    capture.close()
    book.done.set()
    left = b"".join([data async for data in reader]).splitlines()
    assert left[-1].endswith(b"line 1000")
    assert left[0].endswith(b"line 2"), "the file it had open is read to its end"
    capture.release()


async def test_a_follower_of_a_writer_that_left_its_output_open_ends_soon_after(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    capture.write(b"one\n")
    follower = book.follow()
    book.done.set()
    await turns()
    capture.write(b"a child speaks\n")
    book.clock.advance(LINGER_SECONDS - 0.1)
    await turns()
    assert not follower.done()
    book.clock.advance(0.1)
    assert await follower == b"one\na child speaks\n"
    assert not capture.readers
    capture.release()


async def test_new_lines_do_not_count_against_the_tail_and_skipped_ones_may_be_yet_to_come(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    capture.write(b"1\n2\n3")
    tail, skipping = book.follow(tail=1), book.follow(skip=4)
    await turns()
    capture.write(b"3\n4\n5\n6\n")
    capture.close()
    book.done.set()
    assert await tail == b"33\n4\n5\n6\n"
    assert await skipping == b"5\n6\n"
    capture.release()


async def test_both_streams_are_followed_together(tmp_path: Path) -> None:
    book = Book(tmp_path)
    out, err = book.capture("stdout"), book.capture("stderr")
    follower = book.follow(source="all")
    for number in range(5):
        for capture in (out, err):
            book.clock.advance(0.001)
            capture.write(b"%d\n" % number)
            await turns()
    for capture in (out, err):
        capture.close()
    book.done.set()
    assert await follower == b"0\n0\n1\n1\n2\n2\n3\n3\n4\n4\n"
    out.release()
    err.release()


async def test_a_reader_that_does_not_follow_ends_though_the_writer_never_stops(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    capture.write(b"x" * 600_000)
    read_so_far = 0
    async for data in read(book.tracks, LogOptions(), book.done, book.clock):
        read_so_far += len(data)
        capture.write(b"more" * 100_000)
    assert read_so_far == 600_000
    capture.release()


REFUSED = {
    "source=stdin": "source: unsupported value 'stdin'",
    "limit=0": "limit: 0 must be greater than 0",
    "limit=1&follow=true": "limit: cannot be used together with follow",
    "tail=0": "tail: 0 must be between 1 and 1000000",
    "tail=1000001": "tail: 1000001 must be between",
    "tail=1&skip=1": "tail: cannot be used together with skip",
    "skip=-1": "skip: -1 must be 0 or greater",
    "source=stderr&sources": "sources: not supported for source stderr; remove it, or use source=all",
    "tail=many": "tail: 'many' is not a whole number",
    "since=yesterday": "since: 'yesterday' is not a valid duration, e.g.",
    "since_time=2026-05-04T12:00:00": "since_time: '2026-05-04T12:00:00' is not a valid time: expected RFC 3339",
    "sinceTime=noon": "since_time: 'noon' is not a valid time",
    "until=2026-05-04T12:00:00Z&follow": "until: cannot be used together with follow",
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_wrong_parameter_is_named(query: str) -> None:
    parameters = dict(part.partition("=")[::2] for part in query.split("&"))
    with pytest.raises(BadRequest) as error:
        parse(parameters)
    assert REFUSED[query] in str(error.value)


def test_parameters_are_read_as_the_api_server_reads_them() -> None:
    assert parse({}) == LogOptions()
    assert parse({"tail": "5", "skip": "0", "follow": "", "timestamps": "False", "line_numbers": "1"}) == LogOptions(
        follow=True, line_numbers=True, tail=5, skip=0
    )
    assert parse({"tailLines": "7", "sinceSeconds": "90", "until": "2026-05-04T14:00:00+02:00"}) == LogOptions(
        tail=7, since=timedelta(seconds=90), until=NOON
    )
    assert parse({"since": "1h2m3.5s", "source": "all"}).since == timedelta(hours=1, minutes=2, seconds=3.5)


async def test_a_source_that_the_object_does_not_have_is_named_with_those_it_has(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    with pytest.raises(BadRequest, match=r"this object has no log 'startup_stdout'; available: stdout"):
        await book.read(source="startup_stdout")
    capture.release()
