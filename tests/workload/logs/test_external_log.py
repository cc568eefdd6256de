"""Logs that another process captures are read as our own are."""

import asyncio
from pathlib import Path
from typing import Any

from tests.workload.logs.books import NOON, Book, turns

from setpoint.objects.clock import ManualClock
from setpoint.workload.logs.capture import Limits
from setpoint.workload.logs.external_log import LOOK_SECONDS, ExternalLogs
from setpoint.workload.logs.options import LogOptions

SMALL = Limits(max_bytes=40, max_files=3)


class Reader:
    """Another process, as far as we can be one."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(NOON)
        self.is_over = False
        self._logs = ExternalLogs(folder, self.clock)

    async def read(self, **options: Any) -> bytes:
        wanted = LogOptions(**options).validated()
        return b"".join([piece async for piece in self._logs.read("uid", wanted, self._over)])

    async def wait(self) -> None:
        await turns()
        self.clock.advance(LOOK_SECONDS)
        await turns()

    async def _over(self) -> bool:
        return self.is_over


async def test_it_reads_what_the_other_has_written_with_numbers_tails_and_both_streams(tmp_path: Path) -> None:
    book, reader = Book(tmp_path / "uid"), Reader(tmp_path)
    assert await reader.read() == b""
    out, err = book.capture(limits=SMALL), book.capture("stderr")
    for number in range(1, 21):
        out.write(b"line %02d\n" % number)
    book.clock.advance(1)
    err.write(b"wrong\n")
    out.write(b"not ended")
    for options in ({}, {"tail": 2, "line_numbers": True}, {"skip": 19}, {"source": "all", "tail": 3}):
        assert await reader.read(**options) == await book.read(**options) != b""
    for capture in (out, err):
        capture.release()


async def test_who_follows_hears_all_of_streams_that_begin_later_and_comes_to_the_end(tmp_path: Path) -> None:
    book, reader = Book(tmp_path / "uid"), Reader(tmp_path)
    following = asyncio.ensure_future(reader.read(source="all", follow=True))
    await reader.wait()
    (tmp_path / "uid").mkdir()
    for name in ("stdout.0.log", "stdout.0.index"):
        (tmp_path / "uid" / name).touch()  # the other is about to begin them
    await reader.wait()
    out = book.capture(limits=SMALL)
    for number in range(4):
        out.write(b"line number %d\n" % number)
        await reader.wait()
    book.clock.advance(1)
    err = book.capture("stderr")
    err.write(b"wrong\n")
    await reader.wait()
    book.clock.advance(1)
    out.write(b"last words")
    reader.is_over = True
    await reader.wait()
    lines = b"".join(b"line number %d\n" % number for number in range(4))
    assert await following == lines + b"wrong\nlast words"
    for capture in (out, err):
        capture.release()
