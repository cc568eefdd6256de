"""Following a log: a watch is a cursor into the events that all watches share; a commit wakes the waiting watches.

A waiting cursor is registered under its prefix. A commit looks up the prefixes of its key and wakes the matching
cursors; all other cursors have thereby seen the log up to this commit. So the cost of a commit depends only on its own
watchers, and a watch stores only its position: when the log no longer reaches back to that position, the watch is too
late.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol

from setpoint.store.bounds import Bounds
from setpoint.store.contract import Closed, Event, Purged, TooLate

# The number of events that a watch examines before yielding to other tasks.
STEP = 1000


def revision_of(event: Event) -> int:
    return event.entry.revision


def first_after(events: Sequence[Event], revision: int) -> int:
    """Returns the index of the first event after a revision. Searches from the end, where most callers are."""
    place = len(events)
    for _ in range(8):
        if place == 0 or events[place - 1].entry.revision <= revision:
            return place
        place -= 1
    return bisect_right(events, revision, 0, place, key=revision_of)


def complete_revisions(events: Sequence[Event], start: int, limit: int) -> Sequence[Event]:
    """Returns about `limit` events from an index on, ending at the end of a revision."""
    end = start + limit
    if end < len(events):
        end = bisect_right(events, events[end - 1].entry.revision, end, key=revision_of)
    return events[start:end]


class LogSource(Protocol):
    """The log as a cursor sees it."""

    @property
    def current(self) -> int:
        """The current revision: `bounds.current`, without computing the rest."""

    @property
    def bounds(self) -> Bounds: ...

    @property
    def closed(self) -> bool: ...

    @property
    def restored(self) -> int:
        """The revision that the last `restore` made; watches that began earlier are too late."""

    @property
    def purged(self) -> int:
        """No event after this revision has lost a value in a purge."""

    def recent(self, after: int) -> Sequence[Event] | None:
        """Returns a step of the events after a revision, whole revisions; None if they are not in memory."""

    async def older(self, after: int) -> Sequence[Event]:
        """Returns the same for events that are not in memory. Raises TooLate."""


class Cursor:
    """A watch. Its revision advances only when events are returned, or when no event so far matched its prefix."""

    def __init__(self, source: LogSource, followers: "Followers", prefix: str, after: int | None) -> None:
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
            current, purged = self._source.current, self._source.purged
            if self._revision >= current:
                await self._wait()
                continue
            events = self._source.recent(self._revision)
            if events is None:
                events = await self._source.older(self._revision)
                self._check()
                purged = self._source.purged
            # Without events, up to the revision at the time of the call: the log may have grown since.
            reached = events[-1].entry.revision if events else current
            prefix = self.prefix
            found = [event for event in events if event.entry.key.startswith(prefix)] if prefix else events
            if self._revision < purged:
                self._late = _first_purged(found, purged)
                self._check()
            self._revision = max(reached, self._revision)
            if found:
                return found
            await asyncio.sleep(0)

    def close(self) -> None:
        self._closed = True
        self.wake(self._revision + 1)

    def wake(self, revision: int) -> None:
        """Wakes the watch for a matching event at this revision; no earlier event matched."""
        if self._waiting is not None:
            self._followers.remove(self)
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
        self._followers.add(self)
        try:
            await waiting
        finally:
            # Still registered: the task was cancelled before an event matched, so no event so far concerns this watch.
            if self._waiting is waiting:
                self._followers.remove(self)
                self._revision = self.revision
                self._waiting = None


def _first_purged(events: Sequence[Event], oldest: int) -> Purged | None:
    """Returns the Purged error if one of the events has lost its value or the value that it replaced, else None."""
    for entry, previous_value in events:
        if entry.purged is not None or (entry.previous and previous_value is None):
            return Purged(entry.revision, oldest, entry.key, entry.purged)
    return None


class Followers:
    """The waiting cursors, by their prefix."""

    def __init__(self) -> None:
        self.waiting: dict[str, dict[Cursor, None]] = {}
        # The lengths of all prefixes that were ever waited for: a commit truncates its key to each of them.
        self._lengths: set[int] = set()

    def add(self, cursor: Cursor) -> None:
        self._lengths.add(len(cursor.prefix))
        self.waiting.setdefault(cursor.prefix, {})[cursor] = None

    def remove(self, cursor: Cursor) -> None:
        group = self.waiting.get(cursor.prefix)
        if group is not None:
            group.pop(cursor, None)
            if not group:
                del self.waiting[cursor.prefix]

    def publish(self, revision: int, keys: Iterable[str]) -> None:
        """Wakes the watches that match the keys of a revision."""
        for key in keys:
            for length in self._lengths:
                group = self.waiting.pop(key[:length], None)
                if group:
                    for cursor in group:
                        cursor.wake(revision)

    def wake_all(self, revision: int) -> None:
        """Wakes all watches, after the store was closed or restored."""
        groups, self.waiting = self.waiting, {}
        for group in groups.values():
            for cursor in group:
                cursor.wake(revision)
