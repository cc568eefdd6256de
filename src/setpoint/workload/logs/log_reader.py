"""Reads logs: one stream, or stdout and stderr together in the order they came, cut and marked as asked, to the end or
on and on.

Where nothing is asked of single lines, the bytes go through as they lie in the files. A reader that follows sleeps
until the writer wakes it; it may be as slow as it likes, for the writer never waits for it.
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

# How long a reader waits for more once the writer is done: what it left behind may have something to say.
LINGER_SECONDS = 5.0
# A line this long is passed on in parts, even between the lines of another stream.
LONGEST_LINE = 4 << 20


async def read(
    tracks: Mapping[str, Track], options: LogOptions, done: asyncio.Event, clock: Clock
) -> AsyncIterator[bytes]:
    """The log of one object, by the name of the source. When following it ends once `done` is set and no more
    output can come, or some seconds after; otherwise it reads what there is now."""
    wanted = _wanted(tracks, options)
    news = asyncio.Event()
    lingering = asyncio.ensure_future(_linger(done, news, clock))
    cursors: list[Cursor] = []
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
            await news.wait()
        for piece in source.rest():
            if data := marks.mark(*piece):
                yield data
    except FileNotFoundError:
        return  # somebody has removed it all meanwhile
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
        raise BadRequest(f"source: there is no log {options.source!r} of this object; there are: {there}")
    return found


async def _linger(done: asyncio.Event, news: asyncio.Event, clock: Clock) -> None:
    await done.wait()
    news.set()
    await clock.sleep(LINGER_SECONDS)
    asyncio.get_running_loop().call_soon(news.set)


def _cut(
    tracks: Mapping[str, Track], cursors: list[Cursor], options: LogOptions, now: datetime
) -> tuple["Source", Marks]:
    """Moves the cursors to where reading begins; what they cannot do alone, the marks do."""
    merged = len(cursors) > 1 or options.sources
    earliest = options.earliest(now)
    until = _micros(options.until) if options.until is not None else None
    drop = 0
    there = 0  # lines from where reading begins
    for track, cursor in zip(tracks.values(), cursors, strict=True):
        if not options.follow:
            cursor.end_here()
        last = track.complete() + track.partial() if until is None else _line_at(track, until) - 1
        if options.tail is not None:
            cursor.to_line(max(cursor.line, last - options.tail + 1))
        elif options.skip and not merged:
            # Lines that are yet to come are skipped when they do.
            target = min(max(options.skip + 1, cursor.line), track.complete() + 1)
            cursor.to_line(target)
            drop = max(0, options.skip + 1 - target)
        if earliest is not None:
            cursor.to_time(_micros(earliest))
        there += max(0, last - cursor.line + 1)
    if not merged:
        timed = options.timestamps or until is not None
        source: Source = _Timed(cursors[0]) if timed else _Raw(cursors[0])
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
    """The number of the first line that came at a time or later, or of the next to come."""
    cursor = Cursor(track)
    try:
        cursor.to_time(time)
        return cursor.line
    finally:
        cursor.close()


def _micros(time: datetime) -> int:
    return int(time.astimezone(UTC).timestamp() * 1_000_000)


class Source(Protocol):
    """Gives output piece by piece, each with its time in µs."""

    def next(self) -> tuple[int, bytes] | None:
        """The next piece; None when there is none now."""

    def rest(self) -> list[tuple[int, bytes]]:
        """What was held back, when no more will be read."""


class _Raw:
    """One stream whose times nobody asks for."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def next(self) -> tuple[int, bytes] | None:
        data = self._cursor.read()
        return (0, data) if data else None

    def rest(self) -> list[tuple[int, bytes]]:
        return []


class _Timed(_Raw):
    """One stream with its times."""

    def next(self) -> tuple[int, bytes] | None:
        return self._cursor.piece()


class _Merged:
    """Several streams, whole lines in the order they began; a line that has not ended is held back. `names` are those
    of the streams, where they are to stand before the lines."""

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

    def rest(self) -> list[tuple[int, bytes]]:
        left = sorted((stream.began, place) for place, stream in enumerate(self._streams) if stream.begun)
        found = [
            (time, self._named(place, self._streams[place].begun, not self._streams[place].is_within))
            for time, place in left
        ]
        # Each stands alone, though its line has no end.
        return [(time, data + b"\n") for time, data in found[:-1]] + found[-1:]

    def _named(self, place: int, data: bytes, begins: bool) -> bytes:
        """The same with the name before every line that begins in it."""
        if not self._names:
            return data
        name = self._names[place]
        return (name if begins else b"") + data[:-1].replace(b"\n", b"\n" + name) + data[-1:]


class _Lines:
    """One stream in pieces of whole lines, each with the time of its first."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.heads: deque[tuple[int, bytes]] = deque()
        self.began, self.begun = 0, b""
        # Whether what was given last had no end yet: its line was too long.
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
