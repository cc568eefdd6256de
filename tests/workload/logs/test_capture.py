"""Captured output comes back byte for byte, however it was cut, and within its limits."""

import asyncio
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.logs.books import NOON, Book, turns

from setpoint.objects.clock import ManualClock
from setpoint.workload.logs.capture import Capture, Limits
from setpoint.workload.logs.cursor import Cursor
from setpoint.workload.logs.log_store import NOTE_SECONDS, LogStore

AWKWARD = {
    "nothing": [],
    "an empty line": [b"\n"],
    "no end of line": [b"one", b" line"],
    "carriage returns": [b"a\r\nb\r\n", b"progress\rprogress\r\n"],
    "binary": [bytes(range(256)) * 3, b"\0\0\n\xff"],
    "a mebibyte without an end": [b"x" * (1 << 20), b"\nshort\n"],
    "tiny writes": [b"%d" % (number % 10) + (b"\n" if number % 7 == 0 else b"") for number in range(5000)],
}


@pytest.mark.parametrize("what", AWKWARD)
async def test_what_was_written_is_read_back(what: str, tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    for data in AWKWARD[what]:
        capture.write(data)
    assert await book.read() == b"".join(AWKWARD[what])
    assert await book.read(timestamps=True) == _stamped(b"".join(AWKWARD[what]))
    capture.release()


def _stamped(data: bytes) -> bytes:
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
    return b"".join(b"2026-05-04T12:00:00.000Z " + line for line in lines)


async def test_what_was_written_is_on_file_at_once(tmp_path: Path) -> None:
    capture = Book(tmp_path).capture()
    capture.write(b"one\n")
    assert (tmp_path / "stdout.0.log").read_bytes() == b"one\n"
    assert (tmp_path / "stdout.0.log").stat().st_mode & 0o077 == 0
    capture.release()


async def test_the_file_of_an_empty_log_can_be_made_and_is_continued(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    capture.create()
    assert [(each.name, each.stat().st_mode & 0o777) for each in tmp_path.iterdir()] == [("stdout.0.log", 0o600)]
    capture.write(b"one\n")
    assert await book.read() == b"one\n"
    capture.release()


async def test_files_are_made_when_there_is_something_to_write_or_somebody_reads(tmp_path: Path) -> None:
    book = Book(tmp_path / "logs")
    silent, read = book.capture("stderr"), book.capture()
    assert not (tmp_path / "logs").exists()
    assert await book.read() == b""
    assert {each.name for each in (tmp_path / "logs").iterdir()} == {"stdout.0.log", "stdout.0.index"}
    for capture in (silent, read):
        capture.release()
        capture.write(b"too late\n")
        assert (capture.lost, capture.error) == (9, "Bad file descriptor")


async def test_what_is_held_is_written_before_anything_else_and_whenever_somebody_looks(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    capture.buffer(b"one\n")
    assert not list(tmp_path.iterdir())
    book.clock.advance(1)
    capture.write(b"two\n")
    assert await book.read(timestamps=True) == b"2026-05-04T12:00:00.000Z one\n2026-05-04T12:00:01.000Z two\n"
    capture.buffer(b"three\n")
    assert capture.complete() == 3
    following = book.follow(skip=3)
    await turns()
    capture.buffer(b"four\n")
    await turns()
    capture.buffer(b"five\n")
    capture.close()
    book.done.set()
    assert await following == b"four\nfive\n"
    capture.buffer(b"six\n")
    capture.release()
    assert (tmp_path / "stdout.0.log").read_bytes().endswith(b"five\nsix\n")


async def test_what_is_told_of_an_object_is_on_file_a_moment_later(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    logs = LogStore(tmp_path, clock)
    logs.note("a", "it runs")
    logs.note("b", "it was deleted at once")
    logs.remove("b")
    await turns()
    assert not list(tmp_path.iterdir())
    clock.advance(NOTE_SECONDS)
    await turns()
    assert [each.read_text() for each in tmp_path.glob("*/system.0.log")] == ["it runs\n"]
    logs.note("a", "it ended")
    logs.close()
    assert (tmp_path / "a" / "system.0.log").read_text() == "it runs\nit ended\n"


async def test_of_those_that_are_gone_the_last_ones_stay_with_all_that_was_told(tmp_path: Path) -> None:
    logs = LogStore(tmp_path, ManualClock(NOON), kept=2)
    for name in ("a", "b", "c"):
        logs.capture(name, "stdout").write(b"hello\n")
        logs.note(name, f"{name} runs")
        logs.remove(name)
    assert {each.name for each in tmp_path.iterdir()} == {"b", "c"}
    assert (tmp_path / "c" / "system.0.log").read_text() == "c runs\n"
    assert (tmp_path / "c" / "stdout.0.log").read_text() == "hello\n"
    logs.close()


async def test_who_reads_a_log_that_goes_meanwhile_comes_to_its_end(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    capture.write(b"one\n")
    following = book.follow()
    await turns()
    capture.remove()
    book.done.set()
    assert await following == b"one\n"
    assert await book.read() == b""


async def test_files_are_bounded_in_size_and_number_and_cut_at_ends_of_lines(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture(limits=Limits(max_bytes=1000, max_files=3))
    for number in range(1, 1001):
        capture.write(b"line %04d\n" % number)
    logs = sorted(tmp_path.glob("*.log"))
    assert len(logs) == 3
    assert all(log.stat().st_size <= 1000 and log.read_bytes().endswith(b"\n") for log in logs)
    assert len(list(tmp_path.glob("*.index"))) == 3
    numbered = (await book.read(line_numbers=True)).splitlines()
    assert numbered[-1] == b"1000 line 1000"
    assert numbered[0].split()[0] == b"%d" % (1001 - len(numbered))
    capture.release()


async def test_a_line_longer_than_all_files_keeps_its_end(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture(limits=Limits(max_bytes=1000, max_files=2))
    capture.write(b"before\n" + b"x" * 5000 + b"end\nafter\n")
    assert (await book.read()).endswith(b"xend\nafter\n")
    assert await book.read(tail=1, line_numbers=True) == b"3 after\n"
    capture.release()


@pytest.mark.parametrize("torn", ["whole", "a piece without its entry", "half an entry", "no index"])
async def test_a_capture_goes_on_where_the_last_one_was_killed(torn: str, tmp_path: Path) -> None:
    book = Book(tmp_path)
    book.capture().write(b"one\ntwo\nthr")  # and never closed
    index, log = tmp_path / "stdout.0.index", tmp_path / "stdout.0.log"
    if torn == "half an entry":
        os.truncate(index, index.stat().st_size - 7)
    elif torn == "a piece without its entry":
        log.write_bytes(log.read_bytes() + b"ee")
    elif torn == "no index":
        index.unlink()
    again = book.capture()
    again.write(b"next\n")
    last = b"three" if torn.startswith("a piece") else b"thr"
    assert await book.read(line_numbers=True) == b"1 one\n2 two\n3 " + last + b"\n4 next\n"
    again.remove()
    assert list(tmp_path.iterdir()) == []


async def test_the_next_run_in_the_same_log_begins_a_line(tmp_path: Path) -> None:
    book = Book(tmp_path)
    capture = book.capture()
    capture.write(b"killed in the midd")
    capture.close()
    capture.begin()
    capture.write(b"again\n")
    assert await book.read(line_numbers=True) == b"1 killed in the midd\n2 again\n"
    capture.release()


async def test_a_full_disk_loses_output_and_says_so_and_nobody_waits(tmp_path: Path) -> None:
    capture = Book(tmp_path).capture()
    capture.write(b"before\n")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, capture._log)
    os.close(full)
    capture.write(b"lost\n")
    assert (capture.lost, capture.error) == (5, "No space left on device")
    capture.release()


@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b"\n", b"a\n", b"\n\n", b"bc"]), max_size=30),
    st.integers(min_value=3, max_value=50),
)
def test_every_line_is_found_by_its_number_and_by_its_time(
    tmp_path_factory: pytest.TempPathFactory, writes: list[bytes], size: int
) -> None:
    async def test() -> None:
        book = Book(tmp_path_factory.mktemp("log"))
        capture = book.capture(limits=Limits(max_bytes=size, max_files=10_000))
        begins: list[tuple[int, int]] = []  # of each line: its offset and its time
        text = b""
        for data in writes:
            book.clock.advance(1)
            time, before, text = int(book.clock.now().timestamp() * 1_000_000), len(text), text + data
            begins += [
                (place, time) for place in range(before, len(text)) if place == 0 or text[place - 1 : place] == b"\n"
            ]
            capture.write(data)
        assert (capture.complete(), capture.partial()) == (text.count(b"\n"), bool(text) and not text.endswith(b"\n"))
        for number, (offset, time) in enumerate(begins, 1):
            assert _rest(capture, line=number) == text[offset:]
            first = next(begin for begin, when in begins if when >= time)
            assert _rest(capture, time=time) == text[first:]
        capture.release()

    asyncio.run(test())


def _rest(capture: Capture, line: int = 0, time: int = 0) -> bytes:
    cursor = Cursor(capture)
    if line:
        cursor.to_line(line)
    else:
        cursor.to_time(time)
    parts = []
    while data := cursor.read():
        parts.append(data)
    cursor.close()
    return b"".join(parts)
