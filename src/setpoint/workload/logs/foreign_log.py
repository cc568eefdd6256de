"""Logs in files that the controllers of DCP write, and name in the status of an object.

Each line of a file may begin with its number and its time; files of persistent processes have plain lines. The files
are polled while following, because there are no notifications.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from setpoint.objects.clock import Clock
from setpoint.workload.logs.options import LogOptions

LOOK_SECONDS = 0.2
_PIECE = 1 << 20
_MARKED = re.compile(rb"(\d+) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z) ?(.*)", re.DOTALL)


class _Line(NamedTuple):
    number: int
    time: bytes
    text: bytes


class _Lines:
    """The lines of a file from a position on."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._number = path, 0, 0
        self._rest = b""

    def more(self) -> list[_Line]:
        """Returns the next complete lines, at most those of one piece."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                data = file.read(_PIECE)
        except FileNotFoundError:
            return []
        self._at += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [self._line(each + b"\n") for each in whole]

    def last(self) -> list[_Line]:
        """Returns the line without an end, if there is one."""
        rest, self._rest = self._rest, b""
        return [self._line(rest)] if rest else []

    def _line(self, text: bytes) -> _Line:
        self._number += 1
        marked = _MARKED.fullmatch(text)
        return _Line(self._number, b"", text) if marked is None else _Line(self._number, marked[2], marked[3])


async def foreign_lines(
    path: Path, options: LogOptions, is_over: Callable[[], Awaitable[bool]], clock: Clock
) -> AsyncIterator[bytes]:
    """Yields the requested lines of a file. With follow, ends when `is_over` returns True."""
    lines, sent = _Lines(path), 0
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
            yield number + (line.time + b" " if options.timestamps and line.time else b"") + line.text
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
