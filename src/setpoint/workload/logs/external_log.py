"""Logs that another process captures, read from its files: those of controllers that run next to their server.

There are no notifications of new output, so the files are polled while following.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.workload.logs.log_reader import read
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.logs.segment import ENTRY_BYTES, EmptySegment, Segment

LOOK_SECONDS = 0.2

# The number of the empty segment before the first file.
_NONE = -1

IsOver = Callable[[], Awaitable[bool]]


class ExternalCapture:
    """The track of one stream, as far as its files tell. The caller sets `closed`."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, name
        self.closed = False
        self._pattern = re.compile(re.escape(name) + r"\.(\d+)\.index")
        self.readers: set[asyncio.Event] = set()
        self._seen = (0, 0)

    def numbers(self) -> range:
        found = [
            int(match[1])
            for each in (self._directory.iterdir() if self._directory.is_dir() else ())
            if (match := self._pattern.fullmatch(each.name)) and _has_begun(each)
        ]
        return range(min(found), max(found) + 1) if found else range(_NONE, _NONE + 1)

    def open(self, number: int) -> Segment:
        if number == _NONE:
            return EmptySegment(number)
        log = self._directory / f"{self._name}.{number}.log"
        return Segment(number, log, log.with_suffix(".index"))

    def complete(self) -> int:
        with self.open(self.numbers()[-1]) as segment:
            entry = segment[-1] if len(segment) else None
            known = (entry.lines, entry.offset) if entry is not None else (0, 0)
            return segment.lines_before + known[0] + segment.lines_from(known[1])

    def partial(self) -> bool:
        with self.open(self.numbers()[-1]) as segment:
            size = segment.size()
            return segment.mid_line if size == 0 else segment.read(size - 1, 1) != b"\n"

    def poll(self) -> None:
        """Wakes the readers if there is new output."""
        last = self.numbers()[-1]
        with suppress(FileNotFoundError), self.open(last) as segment:
            before, self._seen = self._seen, (last, segment.size())
            if before != self._seen:
                for reader in self.readers:
                    reader.set()


def _has_begun(index: Path) -> bool:
    """Returns True if the file of an index can be read: the index is created last, and may be deleted meanwhile."""
    try:
        return index.stat().st_size >= ENTRY_BYTES
    except FileNotFoundError:
        return False


class ExternalLogs:
    """The logs of another process, by the uids of objects."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory, self._clock = directory, clock

    def has(self, uid: str) -> bool:
        """Returns True if the other process has captured output of an object."""
        return (self._directory / uid).is_dir()

    async def read(self, uid: str, options: LogOptions, is_over: IsOver) -> AsyncIterator[bytes]:
        """Yields the requested lines. With follow, ends when `is_over` returns True."""
        done = asyncio.Event()
        names = ("stdout", "stderr") if options.source == "all" else (options.source,)
        tracks = {name: ExternalCapture(self._directory / uid, name) for name in names}
        looking = asyncio.ensure_future(self._poll(list(tracks.values()), done, is_over))
        try:
            async for piece in read(tracks, options, done, self._clock):
                yield piece
        finally:
            looking.cancel()

    async def _poll(self, tracks: list[ExternalCapture], done: asyncio.Event, is_over: IsOver) -> None:
        while not done.is_set():
            await self._clock.sleep(LOOK_SECONDS)
            over = await is_over()
            for track in tracks:
                track.closed = over
                track.poll()
            if over:
                done.set()
