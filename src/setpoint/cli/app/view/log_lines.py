"""The output of all running parts, line by line, each line once, including the output after restarts.

Only few lines are buffered: a slow consumer pauses the reading, and the server keeps the lines in files. With `skips`,
for interactive views, lines are skipped and counted if the app prints faster than the view shows for some seconds.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import NamedTuple

from setpoint.cli.app.view.parts import part_name
from setpoint.cli.workloads.inventory import called, ref
from setpoint.client.client import Client
from setpoint.client.requests import query_of
from setpoint.client.transport import Call, TransportError
from setpoint.client.watch import lines as lines_of
from setpoint.objects import meta
from setpoint.objects.errors import APIError, BadRequest, NotFound
from setpoint.objects.tree import Object

# The maximum number of buffered lines, the minimum share of each output, and the maximum length of a line.
MOST_LINES, _FEWEST_LINES = 2_000, 20
LONGEST_BYTES = 16 << 10
# Lines are skipped if they are delayed by the first number of seconds for at least the second.
_BEHIND_SECONDS, _PATIENCE_SECONDS = 2.0, 3.0
# The number of lines shown after skipping, so that the last messages of a part are visible.
_LAST_LINES = 20
# The interval between attempts to read an output.
_AGAIN_SECONDS = 0.5
LOGGED = ("Executable", "Container")


class LogLine(NamedTuple):
    """A line of output. `skipped` is the number of lines skipped at this place."""

    name: str
    part: str
    time: datetime
    text: str
    is_error: bool = False
    skipped: int = 0


class _Followed:
    """An output and its read position."""

    def __init__(self, tree: Object, tail: int | None) -> None:
        self.tree, self.tail = tree, tail
        self.task: asyncio.Task[None] | None = None
        # The restart count at which reading began, and whether the object was deleted.
        self.followed_run, self.is_over = -1, False
        # The timestamp of the last line as sent by the server, the number of lines with that timestamp, and the last
        # line number.
        self.last, self.count, self.number = "", 0, 0
        # The time since when the lines are delayed, and whether some must be skipped.
        self.behind_since: float | None = None
        self.is_behind = False
        # The number of its buffered lines.
        self.incomplete = 0

    @property
    def restarts(self) -> int:
        found: int = (self.tree.get("status") or {}).get("restartCount", 0)
        return found


class Lines:
    """The output lines of all parts since a time. `news` is called when lines are available."""

    def __init__(
        self,
        client: Client,
        news: Callable[[], None],
        *,
        since: datetime | None = None,
        skips: bool = False,
    ) -> None:
        self._client, self._news, self._skips, self._since = client, news, skips, since
        self._followed: dict[str, _Followed] = {}
        self._buffered: deque[LogLine] = deque()
        self._space = asyncio.Event()
        self._space.set()

    def attend(self, tree: Object, tail: int | None = None) -> None:
        """Follows the output of a new or changed object, again after each restart. With `tail`, only the last lines of
        the existing output are read.
        """
        if tree["kind"] not in LOGGED:
            return
        followed = self._followed.setdefault(meta.uid(tree), _Followed(tree, tail))
        followed.tree = tree
        begins = followed.restarts > followed.followed_run and bool((tree.get("status") or {}).get("startupTimestamp"))
        if followed.task is None and begins and not followed.is_over:
            followed.task = asyncio.ensure_future(self._follow(followed))

    def stop_following(self, tree: Object) -> None:
        """Stops following a deleted object after its remaining output was read."""
        followed = self._followed.get(meta.uid(tree))
        if followed is not None:
            followed.is_over = True
            if followed.task is None:
                del self._followed[meta.uid(tree)]

    def drain(self) -> list[LogLine]:
        """Returns and removes all buffered lines."""
        found = list(self._buffered)
        self._buffered.clear()
        for each in self._followed.values():
            each.incomplete = 0
        self._space.set()
        return found

    async def close(self) -> None:
        """Stops reading."""
        tasks = [each.task for each in self._followed.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Reading

    async def _follow(self, followed: _Followed) -> None:
        """Reads an output to its end, and again if the workload has restarted in the meantime."""
        try:
            while followed.followed_run < followed.restarts:
                followed.followed_run = followed.restarts
                while not await self._read(followed) and not followed.is_over:
                    await self._client.clock.sleep(_AGAIN_SECONDS)
        finally:
            followed.task = None
            if followed.is_over:
                self._followed.pop(meta.uid(followed.tree), None)

    async def _read(self, followed: _Followed) -> bool:
        """Reads existing and new lines. Returns False if the reading must be retried."""
        try:
            async for line in self._lines(followed):
                await self._buffer(followed, line)
                if not line.skipped and self._is_late(followed, line.time):
                    followed.last, followed.is_behind = "", True
                    return False
        except (NotFound, BadRequest):
            return True  # deleted, or without a log
        except (APIError, TransportError):
            return False
        return True

    async def _lines(self, followed: _Followed) -> AsyncIterator[LogLine]:
        tree = followed.tree
        resource = await self._client.resource(ref(tree["kind"]))
        path = resource.path(name=meta.name(tree), subresource="log")
        query = query_of(
            source="all", sources="true", follow="true", timestamps="true", line_numbers="true", **self._from(followed)
        )
        # The number of known lines with the same timestamp as the last one.
        known = followed.count if followed.last else 0
        async with self._client.stream(Call("GET", path, query, {"accept": "*/*"})) as stream:
            async for data in lines_of(stream, with_remainder=True):
                number, _, rest = data.partition(b" ")
                time, _, rest = rest.partition(b" ")
                source, _, text = rest.partition(b" ")
                if not number.isdigit():
                    continue
                moment = time.decode()
                if moment == followed.last and known:
                    known -= 1
                    continue
                known = 0
                if followed.is_behind and int(number) <= followed.number:
                    continue
                # The first line after a gap carries the number of skipped lines, and counts as one of them.
                skipped = int(number) - followed.number if followed.is_behind else 0
                followed.count = followed.count + 1 if moment == followed.last else 1
                followed.last, followed.number, followed.is_behind = moment, int(number), False
                yield self._line(
                    followed, moment, b"" if skipped else text, is_error=source == b"stderr", skipped=skipped
                )

    def _from(self, followed: _Followed) -> dict[str, str]:
        """Returns the query parameters for the position to read from: after the last known line, or the start of the
        view.
        """
        if followed.last:
            return {"since_time": followed.last}
        if followed.is_behind:
            return {"tail": str(_LAST_LINES)}
        if followed.tail is not None:
            return {"tail": str(followed.tail)}
        return {"since_time": self._since.isoformat()} if self._since is not None else {}

    def _line(
        self, followed: _Followed, moment: str, text: bytes, *, is_error: bool = False, skipped: int = 0
    ) -> LogLine:
        tree = followed.tree
        cut = text[:LONGEST_BYTES].decode("utf-8", "replace")
        more = f" … {len(text) - LONGEST_BYTES} more bytes" if len(text) > LONGEST_BYTES else ""
        time = datetime.fromisoformat(moment).astimezone(UTC)
        return LogLine(called(tree), part_name(tree) or meta.name(tree), time, cut + more, is_error, skipped)

    async def _buffer(self, followed: _Followed, line: LogLine) -> None:
        # Each output has a share of the buffer, so that a busy one does not block the others.
        while followed.incomplete >= max(MOST_LINES // len(self._followed), _FEWEST_LINES):
            self._space.clear()
            self._news()
            await self._space.wait()
        if not self._buffered:
            self._news()
        self._buffered.append(line)
        followed.incomplete += 1

    def _is_late(self, followed: _Followed, time: datetime) -> bool:
        """Returns True if the lines have been delayed for so long that some must be skipped."""
        clock = self._client.clock
        if not self._skips or (clock.now() - time).total_seconds() < _BEHIND_SECONDS:
            followed.behind_since = None
            return False
        if followed.behind_since is None:
            followed.behind_since = clock.monotonic()
        if clock.monotonic() - followed.behind_since < _PATIENCE_SECONDS:
            return False
        followed.behind_since = None
        return True
