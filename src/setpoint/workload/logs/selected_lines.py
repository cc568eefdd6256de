"""Reads the selected lines of one or several logs, merged by time, in the requested format.

The work of a request is bounded: the number of logs, the bytes that are searched, and the lines that are held for
`tail`. Other requests are served in between. A following reader of several logs gets the past lines merged by time, and
new lines as they arrive.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from setpoint.objects.clock import Clock
from setpoint.workload.logs.line_filter import LineFilter, LogLine
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.options import LogOptions

# The number of logs and of searched bytes of one request.
MOST_LOGS = 50
MOST_BYTES = 512 << 20
# The number of lines after which other requests are served.
_TURN = 256
_QUEUED = 64

_Batch = list[LogLine]


class LogOf(NamedTuple):
    """The log of an object, by its uid, with the name for its lines."""

    uid: str
    name: str


async def selected(
    store: LogStore, logs: Sequence[LogOf], options: LogOptions, clock: Clock, most_bytes: int = MOST_BYTES
) -> AsyncIterator[bytes]:
    """Yields the selected lines. Raises BadRequest for an unknown attempt."""
    reading = _Reading(store, options, clock, most_bytes)
    if not options.follow:
        batches = reading.merged([reading.of(log, reading.inner) for log in logs])
    elif len(logs) == 1:
        batches = reading.of(logs[0], reading.inner)
    else:
        batches = reading.followed(logs)
    left = options.limit
    async for batch in batches:
        lines = batch if left is None else batch[:left]
        if lines:
            yield b"".join(map(reading.render, lines))
        if left is not None:
            left -= len(lines)
            if left <= 0:
                return


class _Reading:
    """One request."""

    def __init__(self, store: LogStore, options: LogOptions, clock: Clock, most_bytes: int) -> None:
        self._store, self._options, self._clock = store, options, clock
        self._filter = LineFilter(options)
        self._left, self._since_turn = most_bytes, 0
        # The options for the reader, which knows times and sources, and selects only by them.
        is_searched = bool(options.grep or options.level)
        self.inner = LogOptions(
            options.source,
            options.follow,
            timestamps=True,
            tail=None if is_searched else options.tail,
            since=options.since,
            since_time=options.since_time,
            until=options.until,
            sources=options.source == "all",
            attempt=options.attempt,
            previous=options.previous,
            marks_present=options.follow,
        )
        self._held = options.tail if is_searched else None
        self._uids: dict[str, str] = {}

    def render(self, line: LogLine) -> bytes:
        uid = self._uids.get(line.name, "")
        attempt = 1
        if self._options.format == "json" and uid and line.time:
            attempt = self._store.of(uid).attempts.number_at(_micros(line.time))
        return self._filter.render(line, attempt)

    async def of(self, log: LogOf, options: LogOptions) -> AsyncIterator[_Batch]:
        """Yields the selected lines of one log, in the batches in which they arrive. With `marks_present`, an empty
        batch follows the past lines."""
        self._uids[log.name] = log.uid
        held: deque[LogLine] = deque(maxlen=self._held)
        is_held = self._held is not None
        rest = time = b""
        source = options.source
        async for piece in self._store.read(log.uid, options):
            if not piece:
                if held:
                    yield list(held)
                    held.clear()
                is_held = False
                yield []
                continue
            *lines, rest = (rest + piece).split(b"\n")
            batch: _Batch = []
            for data in lines:
                stamp, _, data = data.partition(b" ")
                time = stamp or time
                if options.sources:
                    word, _, data = data.partition(b" ")
                    source = word.decode()
                await self._turn(len(data))
                line = LogLine(time, log.name, source, data)
                if self._left > 0 and self._filter.accepts(line):
                    batch.append(line)
            if is_held:
                held.extend(batch)
            elif batch:
                yield batch
            if self._left <= 0:
                break
        if rest:
            stamp, _, data = rest.partition(b" ")
            if options.sources:
                word, _, data = data.partition(b" ")
                source = word.decode()
            line = LogLine(stamp, log.name, source, data)
            if self._filter.accepts(line):
                held.append(line)
        if held:
            yield list(held)
        if self._left <= 0:
            yield [LogLine(time, log.name, "system", b"the search ended: narrow it by since, until or attempt")]

    async def merged(self, streams: Sequence[AsyncIterator[_Batch]]) -> AsyncIterator[_Batch]:
        """Yields the lines of several logs, merged by time, until each has ended or has reached the present."""
        heads = [deque(await anext(stream, [])) for stream in streams]
        while True:
            places = [(head[0].time, place) for place, head in enumerate(heads) if head]
            if not places:
                return
            place = min(places)[1]
            others = min((time for time, other in places if other != place), default=None)
            batch: _Batch = []
            while heads[place] and (others is None or heads[place][0].time <= others):
                batch.append(heads[place].popleft())
            if not heads[place]:
                heads[place].extend(await anext(streams[place], []))
            yield batch

    async def followed(self, logs: Sequence[LogOf]) -> AsyncIterator[_Batch]:
        """Yields the past lines of several logs, merged by time, and then new lines as they arrive. The same readers
        continue, so that a line which is incomplete at present is yielded once, when complete."""
        streams = [self.of(log, self.inner) for log in logs]
        async for batch in self.merged(streams):
            yield batch
        queue: asyncio.Queue[_Batch | None] = asyncio.Queue(_QUEUED)

        async def read(stream: AsyncIterator[_Batch]) -> None:
            async for batch in stream:
                await queue.put(batch)
            await queue.put(None)

        tasks = [asyncio.ensure_future(read(stream)) for stream in streams]
        try:
            left = len(tasks)
            while left:
                found = await queue.get()
                if found is None:
                    left -= 1
                else:
                    yield found
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _turn(self, size: int) -> None:
        """Counts a searched line, and lets other requests run from time to time."""
        if not self._options.follow:
            self._left -= size + 1
        self._since_turn += 1
        if self._since_turn >= _TURN:
            self._since_turn = 0
            await self._clock.sleep(0)


def _micros(time: bytes) -> int:
    """Returns a time of a log in µs since the epoch. Times have milliseconds: the end of the millisecond counts."""
    found = datetime.fromisoformat(time.decode()).astimezone(UTC)
    return int(found.timestamp() * 1_000_000) + 999
