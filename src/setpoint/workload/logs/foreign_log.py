"""Logs in files that the controllers of DCP write, and name in the status of an object.

Each line of a file may begin with its number and its time; files of persistent processes have plain lines, and those of
the log `system` begin with the time. The files are polled while following, because there are no notifications.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, NamedTuple

from setpoint.objects.clock import Clock
from setpoint.workload.logs.options import LogOptions

LOOK_SECONDS = 0.2
_PIECE = 1 << 20
_TIME = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d{4}))"
_MARKED = re.compile(rb"\d+ " + _TIME + rb"( ?)(.*)", re.DOTALL)
_SYSTEM = re.compile(_TIME + rb"(\t)(.*)", re.DOTALL)


class _Line(NamedTuple):
    number: int
    # The time with the separator after it; empty if unknown.
    time: bytes
    text: bytes


class _Lines:
    """The lines of a file from a position on."""

    def __init__(self, path: Path, marked: "re.Pattern[bytes]" = _MARKED) -> None:
        self._path, self._marked = path, marked
        self._number = 0
        self._rest = b""
        # Stays open: output from before the deletion of the file is read.
        self._file: BinaryIO | None = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def more(self) -> list[_Line]:
        """Returns the next complete lines, at most those of one piece."""
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return []
        data = self._file.read(_PIECE)
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [self._line(each + b"\n") for each in whole]

    def last(self) -> list[_Line]:
        """Returns the line without an end, if there is one."""
        rest, self._rest = self._rest, b""
        return [self._line(rest)] if rest else []

    def _line(self, text: bytes) -> _Line:
        self._number += 1
        marked = self._marked.fullmatch(text)
        if marked is None:
            return _Line(self._number, b"", text)
        return _Line(self._number, marked[1] + (marked[2] or b" "), marked[3])


async def foreign_lines(
    path: Path, options: LogOptions, is_over: Callable[[], Awaitable[bool]], clock: Clock
) -> AsyncIterator[bytes]:
    """Yields the requested lines of a file. With follow, ends when `is_over` returns True."""
    with closing(_Lines(path, _SYSTEM if options.source == "system" else _MARKED)) as lines:
        async for piece in _selected(lines, options, is_over, clock):
            yield piece


async def _selected(
    lines: _Lines, options: LogOptions, is_over: Callable[[], Awaitable[bool]], clock: Clock
) -> AsyncIterator[bytes]:
    sent = 0
    held: Iterable[_Line] = ()
    if options.tail is not None:
        held = await asyncio.to_thread(_last_lines, lines, options.tail)
    is_ending = False
    while True:
        for line in held:
            if line.number <= (options.skip or 0):
                continue
            if options.limit is not None and sent >= options.limit:
                return
            sent += 1
            number = b"%d " % line.number if options.line_numbers else b""
            yield number + (line.time if options.timestamps else b"") + line.text
        if is_ending:
            return
        # Asked before the read: lines that were written before the end are read.
        over = not options.follow or await is_over()
        held = await asyncio.to_thread(lines.more)
        if not held and over:
            held, is_ending = lines.last(), True
        elif not held:
            await clock.sleep(LOOK_SECONDS)


def _last_lines(lines: _Lines, tail: int) -> deque[_Line]:
    found: deque[_Line] = deque(maxlen=tail)
    while more := lines.more():
        found.extend(more)
    return found
