"""Reads logs: one stream, or stdout and stderr merged by time, with selection and prefixes, to the end or following.

Without options for single lines, the bytes of the files are passed on unchanged. A following reader sleeps until the
writer wakes the reader; a slow reader never delays the writer.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Protocol

from setpoint.objects.clock import Clock
from setpoint.objects.errors import BadRequest
from setpoint.workload.logs.cursor import Cursor
from setpoint.workload.logs.line_prefix import Marks
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.logs.track import Track

# The time that a reader waits for more output after the end of the writer, e.g. for output of its children.
LINGER_SECONDS = 5.0
# Longer lines are passed on in parts, even between the lines of another stream.
LONGEST_LINE = 4 << 20


async def read(
    tracks: Mapping[str, Track], options: LogOptions, done: asyncio.Event, clock: Clock
) -> AsyncIterator[bytes]:
    """Yields the log of one object; `tracks` are by source. With follow, ends once `done` is set and all tracks are
    closed, or some seconds later; otherwise ends at the current end. With `marks_present`, an empty piece follows the
    past output."""
    wanted = _wanted(tracks, options)
    news = asyncio.Event()
    lingering = asyncio.ensure_future(_linger(done, news, clock))
    cursors: list[Cursor] = []
    is_present = False
    try:
        for track in wanted.values():
            track.readers.add(news)
            cursors.append(Cursor(track))
        source, marks = _cut(wanted, cursors, options, clock.now())
        while True:
            news.clear()
            last = lingering.done()
            while (piece := source.next()) is not None:
                data = marks.mark(*piece)
                if data:
                    yield data
                if marks.full:
                    return
            if not options.follow or last or (done.is_set() and all(track.closed for track in wanted.values())):
                break
            if options.marks_present and not is_present:
                is_present = True
                yield b""
                continue  # output may have arrived meanwhile
            await news.wait()
        for piece in source.flush():
            if data := marks.mark(*piece):
                yield data
    except FileNotFoundError:
        return  # the log was removed meanwhile
    finally:
        lingering.cancel()
        for track in wanted.values():
            track.readers.discard(news)
        for cursor in cursors:
            cursor.close()


def _wanted(tracks: Mapping[str, Track], options: LogOptions) -> dict[str, Track]:
    names = ["stdout", "stderr"] if options.source == "all" else [options.source]
    found = {name: tracks[name] for name in names if name in tracks}
    if not found:
        there = ", ".join(sorted(tracks)) or "none"
        raise BadRequest(f"source: this object has no log {options.source!r}; available: {there}")
    return found


async def _linger(done: asyncio.Event, news: asyncio.Event, clock: Clock) -> None:
    await done.wait()
    news.set()
    await clock.sleep(LINGER_SECONDS)
    asyncio.get_running_loop().call_soon(news.set)


def _cut(
    tracks: Mapping[str, Track], cursors: list[Cursor], options: LogOptions, now: datetime
) -> tuple["OutputSource", Marks]:
    """Moves the cursors to the first requested line, and returns the remaining selection as marks."""
    merged = len(cursors) > 1 or options.sources
    earliest = options.earliest(now)
    until = _micros(options.until) if options.until is not None else None
    drop = 0
    there = 0  # the number of lines from the first one read
    for track, cursor in zip(tracks.values(), cursors, strict=True):
        if not options.follow:
            cursor.end_here()
        last = track.complete() + track.partial() if until is None else _line_at(track, until) - 1
        if options.tail is not None:
            cursor.to_line(max(cursor.line, last - options.tail + 1))
        elif options.skip and not merged:
            # Future lines are skipped when they arrive.
            target = min(max(options.skip + 1, cursor.line), track.complete() + 1)
            cursor.to_line(target)
            drop = max(0, options.skip + 1 - target)
        if earliest is not None:
            cursor.to_time(_micros(earliest))
        there += max(0, last - cursor.line + 1)
    if not merged:
        timed = options.timestamps or until is not None
        source: OutputSource = _Timed(cursors[0]) if timed else _Raw(cursors[0])
        number = cursors[0].line
    else:
        source = _Merged(cursors, list(tracks) if options.sources else [])
        number = sum(cursor.line - 1 for cursor in cursors) + 1
        if options.tail is not None:
            drop = max(0, there - options.tail)
        elif options.skip:
            drop = max(0, options.skip + 1 - number)
    return source, Marks(options, number=number, drop=drop, until=until)


def _line_at(track: Track, time: int) -> int:
    """Returns the number of the first line at or after a time, or of the next line."""
    cursor = Cursor(track)
    try:
        cursor.to_time(time)
        return cursor.line
    finally:
        cursor.close()


def _micros(time: datetime) -> int:
    return int(time.astimezone(UTC).timestamp() * 1_000_000)


class OutputSource(Protocol):
    """Returns output piece by piece, each with its time in µs."""

    def next(self) -> tuple[int, bytes] | None:
        """Returns the next piece, or None if there is none now."""

    def flush(self) -> list[tuple[int, bytes]]:
        """Returns the pieces held back at the end."""


class _Raw:
    """One stream without times."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def next(self) -> tuple[int, bytes] | None:
        data = self._cursor.read()
        return (0, data) if data else None

    def flush(self) -> list[tuple[int, bytes]]:
        return []


class _Timed(_Raw):
    """One stream with its times."""

    def next(self) -> tuple[int, bytes] | None:
        return self._cursor.piece()


class _Merged:
    """Several streams, merged by the start times of their lines; an incomplete line is held back. `names` are the
    prefixes of the streams' lines, if requested."""

    def __init__(self, cursors: list[Cursor], names: list[str]) -> None:
        self._streams = [_Lines(cursor) for cursor in cursors]
        self._names = [f"{name} ".encode() for name in names]

    def next(self) -> tuple[int, bytes] | None:
        ready = [(head[0], place) for place, stream in enumerate(self._streams) if (head := stream.head()) is not None]
        if not ready:
            return None
        place = min(ready)[1]
        stream = self._streams[place]
        time, data = stream.heads.popleft()
        begins, stream.is_within = not stream.is_within, not data.endswith(b"\n")
        return time, self._named(place, data, begins)

    def flush(self) -> list[tuple[int, bytes]]:
        left = sorted((stream.began, place) for place, stream in enumerate(self._streams) if stream.begun)
        found = [
            (time, self._named(place, self._streams[place].begun, not self._streams[place].is_within))
            for time, place in left
        ]
        # Each is shown on a line of its own, though its line is incomplete.
        return [(time, data + b"\n") for time, data in found[:-1]] + found[-1:]

    def _named(self, place: int, data: bytes, begins: bool) -> bytes:
        """Returns the data with the name before each line that begins there."""
        if not self._names:
            return data
        name = self._names[place]
        return (name if begins else b"") + data[:-1].replace(b"\n", b"\n" + name) + data[-1:]


class _Lines:
    """One stream in pieces of whole lines, each with the time of its first line."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.heads: deque[tuple[int, bytes]] = deque()
        self.began, self.begun = 0, b""
        # True if the last returned piece had no line end: its line was too long.
        self.is_within = False

    def head(self) -> tuple[int, bytes] | None:
        while not self.heads and (piece := self._cursor.piece()) is not None:
            self._add(*piece)
        return self.heads[0] if self.heads else None

    def _add(self, time: int, data: bytes) -> None:
        if self.begun:
            end = data.find(b"\n") + 1
            if end == 0 and len(self.begun) + len(data) < LONGEST_LINE:
                self.begun += data
                return
            end = end or len(data)
            self.heads.append((self.began, self.begun + data[:end]))
            self.begun, data = b"", data[end:]
        end = data.rfind(b"\n") + 1
        if end:
            self.heads.append((time, data[:end]))
        self.began, self.begun = time, data[end:]
