"""The log of one run of a simulated container: the lines of its script whose time has come.

No log is stored: a line exists from its time on, and a script may add lines at any time.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from setpoint.node.log_options import LogOptions
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.errors import BadRequest
from setpoint.objects.times import format_micro_time
from setpoint.system.node_scripts import Behaviour, LogLine
from setpoint.system.nodes.run_observer import RunObserver
from setpoint.system.nodes.scripted_run import ScriptedRun

# The bounds of one log: a kubelet keeps as many bytes of a run, and reading more lines would occupy the event loop.
MOST_BYTES, MOST_LINES = 10 << 20, 100_000
# A script that has no line to come is asked again after these seconds, by the clock of the nodes.
ASKS_AFTER = 1.0
_PIECE_BYTES = 64 << 10


class RunLog:
    """The log of one run."""

    def __init__(self, observer: RunObserver, options: LogOptions, clock: Clock) -> None:
        self._observer = observer
        self._options = options
        self._clock = clock
        # The number of lines that were written or skipped, and the number of bytes that may follow.
        self._position = 0
        self._left = options.limit_bytes
        # The time of the next line.
        self._next: datetime | None = None

    async def read(self) -> AsyncIterator[bytes]:
        """Yields the log in pieces, and if followed, later lines until the end of the run."""
        async for lines, start in self._batches():
            for piece in self._pieces(lines, start):
                yield piece
                await asyncio.sleep(0)
            if self._left == 0:
                return

    async def lines(self) -> AsyncIterator[LogLine]:
        """Yields all lines of the run, or with `tail_lines` the last ones; if followed, also later ones."""
        async for lines, _ in self._batches():
            for line in lines:
                yield line

    async def _batches(self) -> AsyncIterator[tuple[Sequence[LogLine], datetime]]:
        """Yields the lines that have appeared since the last batch, and the start of the run."""
        is_first = True
        while True:
            self._observer.changed.clear()
            found = self._observer.state()
            if found is None:
                return
            yield self._new_lines(found, is_first=is_first), found.times.start
            is_first = False
            if not self._options.follow or found.times.end is not None:
                return
            now = self._clock.now()
            seconds = ASKS_AFTER if self._next is None else min((self._next - now).total_seconds(), ASKS_AFTER)
            with suppress(TimeoutError):
                async with timeout(self._clock, seconds):
                    await self._observer.changed.wait()

    def _new_lines(self, found: ScriptedRun, *, is_first: bool) -> Sequence[LogLine]:
        """Returns the lines that were not read before."""
        lines = ordered(found.behaviour)
        times = found.times
        until = min(self._clock.now(), times.end or datetime.max.replace(tzinfo=times.start.tzinfo))
        seconds = (until - times.start).total_seconds()
        known = bisect_right(lines, seconds, key=_after)
        self._next = times.start + timedelta(seconds=lines[known].after) if known < len(lines) else None
        start = self._position
        if is_first:
            tail = self._options.tail_lines
            start = _first_kept(lines, known) if tail is None else max(_first_kept(lines, known), known - tail)
        self._position = known
        return lines[start:known]

    def _pieces(self, lines: Sequence[LogLine], start: datetime) -> Iterator[bytes]:
        """Yields the wanted lines as bytes, up to the limit."""
        written = self._written(lines, start)
        buffer = bytearray()
        for line in written:
            buffer += line
            if len(buffer) >= _PIECE_BYTES:
                yield bytes(buffer)
                buffer.clear()
        if buffer:
            yield bytes(buffer)

    def _written(self, lines: Sequence[LogLine], start: datetime) -> Iterator[bytes]:
        options = self._options
        for after, text, stderr in lines:
            moment = start + timedelta(seconds=after)
            if options.since is not None and moment < options.since:
                continue
            if options.source != "All" and stderr != (options.source == "Stderr"):
                continue
            # The time of a line has nine digits after the point.
            prefix = f"{format_micro_time(moment)[:-1]}000Z " if options.timestamps else ""
            line = f"{prefix}{text}\n".encode()
            if self._left is not None:
                line = line[: self._left]
                self._left -= len(line)
            if line:
                yield line
            if self._left == 0:
                return


def check_length(behaviour: Behaviour) -> None:
    """Raises BadRequest for more lines than a log may have."""
    if len(behaviour.logs) > MOST_LINES:
        raise BadRequest(f"the script of the container has more than {MOST_LINES} lines of logs")


def ordered(behaviour: Behaviour) -> list[LogLine]:
    """Returns the lines of a script in the order of their times. A text of several lines becomes as many. Raises
    BadRequest."""
    check_length(behaviour)
    found = [
        LogLine(each[0], text, len(each) > 2 and each[2])
        for each in behaviour.logs
        for text in each[1].removesuffix("\n").split("\n")
    ]
    found.sort(key=_after)
    return found


def _after(line: LogLine) -> float:
    return line.after


def _first_kept(lines: Sequence[LogLine], known: int) -> int:
    """Returns the index of the first line that is kept, of the lines before `known`."""
    size, start = 0, known
    while start > 0:
        size += len(lines[start - 1].text.encode()) + 1
        if size > MOST_BYTES:
            break
        start -= 1
    return start
