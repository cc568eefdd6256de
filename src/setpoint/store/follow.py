"""Following a log: a watch is a cursor into the events that all watches share, and the writer only wakes who waits.

A waiting cursor stands under its prefix. A commit looks its key's prefixes up there and wakes those it concerns; all
others have, by that alone, seen the log up to this commit. So a commit costs what its own watchers cost, and a watch
holds nothing but its place: when the log no longer reaches back to it, it is too late.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol

from setpoint.store.bounds import Bounds
from setpoint.store.contract import Closed, Event, Purged, TooLate

# How many events a watch looks at before it lets others run.
STEP = 1000


def revision_of(event: Event) -> int:
    return event.entry.revision


def first_after(events: Sequence[Event], revision: int) -> int:
    """Where in the log the events after a revision begin. Most who ask are close to its end."""
    place = len(events)
    for _ in range(8):
        if place == 0 or events[place - 1].entry.revision <= revision:
            return place
        place -= 1
    return bisect_right(events, revision, 0, place, key=revision_of)


def whole_revisions(events: Sequence[Event], start: int, limit: int) -> Sequence[Event]:
    """About `limit` events from a place on, ending where a revision ends."""
    end = start + limit
    if end < len(events):
        end = bisect_right(events, events[end - 1].entry.revision, end, key=revision_of)
    return events[start:end]


class Source(Protocol):
    """The log as a cursor sees it."""

    @property
    def current(self) -> int:
        """The current revision: `bounds.current`, without the rest."""

    @property
    def bounds(self) -> Bounds: ...

    @property
    def closed(self) -> bool: ...

    @property
    def restored(self) -> int:
        """The revision that the last `restore` made; whoever began to follow before it is too late."""

    @property
    def purged(self) -> int:
        """No event after this revision has lost a value in a purge."""

    def recent(self, after: int) -> Sequence[Event] | None:
        """A step of the events after a revision, whole revisions; None if they are not at hand."""

    async def older(self, after: int) -> Sequence[Event]:
        """The same, of events that are not at hand. Raises TooLate."""


class Cursor:
    """A watch. Its revision moves only when events are handed out, or when none of those passed concerned it."""

    def __init__(self, source: Source, followers: "Followers", prefix: str, after: int | None) -> None:
        bounds = source.bounds
        self.prefix = prefix
        self._source = source
        self._followers = followers
        self._began = source.restored
        self._revision = bounds.current if after is None else after
        self._late = bounds.too_late(self._revision)
        self._waiting: asyncio.Future[None] | None = None
        self._closed = False

    @property
    def revision(self) -> int:
        if self._waiting is not None:
            return max(self._revision, self._source.current)
        return self._revision

    async def next(self) -> Sequence[Event]:
        if self._waiting is not None:
            raise RuntimeError("another task already waits for this watch")
        while True:
            self._check()
            current = self._source.current
            if self._revision >= current:
                await self._wait()
                continue
            events = self._source.recent(self._revision)
            if events is None:
                events = await self._source.older(self._revision)
                self._check()
            # Without events, up to where the log was when we asked for them: it may have gone on since.
            reached = events[-1].entry.revision if events else current
            prefix = self.prefix
            found = [event for event in events if event.entry.key.startswith(prefix)] if prefix else events
            if self._revision < self._source.purged:
                self._late = _first_purged(found, self._source.purged)
                self._check()
            self._revision = max(reached, self._revision)
            if found:
                return found
            await asyncio.sleep(0)

    def close(self) -> None:
        self._closed = True
        self.wake(self._revision + 1)

    def wake(self, revision: int) -> None:
        """Something at this revision concerns the watch, and nothing before it did."""
        if self._waiting is not None:
            self._followers.leave(self)
            waiting, self._waiting = self._waiting, None
            self._revision = max(self._revision, revision - 1)
            if not waiting.done():
                waiting.set_result(None)

    def _check(self) -> None:
        if self._closed or self._source.closed:
            raise Closed("the watch is closed" if self._closed else "the store is closed")
        if self._began != self._source.restored:
            self._late = TooLate(self._revision, self._source.restored)
        if self._late is not None:
            raise self._late

    async def _wait(self) -> None:
        waiting = self._waiting = asyncio.get_running_loop().create_future()
        self._followers.join(self)
        try:
            await waiting
        finally:
            # Still ours: the task was cancelled before anything happened, so all that happened did not concern us.
            if self._waiting is waiting:
                self._followers.leave(self)
                self._revision = self.revision
                self._waiting = None


def _first_purged(events: Sequence[Event], oldest: int) -> Purged | None:
    """Returns why a watch cannot be told these events: one has lost its value, or the value that it replaced."""
    for entry, previous_value in events:
        if entry.purged is not None or (entry.previous and previous_value is None):
            return Purged(entry.revision, oldest, entry.key, entry.purged)
    return None


class Followers:
    """The cursors that wait, by their prefix."""

    def __init__(self) -> None:
        self.waiting: dict[str, dict[Cursor, None]] = {}
        # The lengths of the prefixes that were ever waited for: a commit cuts its key to each of them.
        self._lengths: set[int] = set()

    def join(self, cursor: Cursor) -> None:
        self._lengths.add(len(cursor.prefix))
        self.waiting.setdefault(cursor.prefix, {})[cursor] = None

    def leave(self, cursor: Cursor) -> None:
        group = self.waiting.get(cursor.prefix)
        if group is not None:
            group.pop(cursor, None)
            if not group:
                del self.waiting[cursor.prefix]

    def publish(self, revision: int, keys: Iterable[str]) -> None:
        """Wakes those whom a revision concerns."""
        for key in keys:
            for length in self._lengths:
                group = self.waiting.pop(key[:length], None)
                if group:
                    for cursor in group:
                        cursor.wake(revision)

    def wake_all(self, revision: int) -> None:
        """Wakes everyone, to find that the store was closed or restored."""
        groups, self.waiting = self.waiting, {}
        for group in groups.values():
            for cursor in group:
                cursor.wake(revision)
