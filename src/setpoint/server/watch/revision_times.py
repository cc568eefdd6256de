"""Finds the revision at a time, even if clocks were set back or forward.

The log records clock times, which need not increase: a clock may be set back, or be ahead for a while. The revision at
a time is the last one, in the order of the log, whose recorded time is not later. So a clock that was ahead for an hour
hides no write after its correction, and a later time never gives an earlier revision.

The index contains the entries that can be a result: those whose time is before the times of all later entries. They are
sorted by revision and by time, which allows a binary search. The index is built on first use, page by page, and
afterwards reads only new entries. The index takes 16 bytes per retained entry.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from setpoint.store.contract import Store

_PAGE = 4096
# The page size if pages include the objects.
_LOG_PAGE = 500


@runtime_checkable
class Timed(Protocol):
    """A store that returns the times of its entries without their content."""

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        """Returns the revisions and times of entries after a revision, in the order of the log; up to about `limit` of
        them, in whole revisions."""


class Moments:
    """The times of a log, as far as the log has been read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revisions = array("q")
        self._times = array("d")
        # The last revision that was read.
        self._read = 0

    async def at(self, time: float) -> int | None:
        """Returns the last revision whose recorded time is not after `time`; None if all retained entries are later."""
        oldest, newest = await self._store.oldest(), await self._store.revision()
        if newest < self._read:  # the store was restored from a backup
            self._revisions, self._times, self._read = array("q"), array("d"), 0
        self._read = max(self._read, oldest - 1)
        while page := await self._page():
            for revision, when in page:
                self._add(revision, when)
            self._read = page[-1][0]
        gone = bisect_left(self._revisions, oldest)
        if gone > _PAGE:
            del self._revisions[:gone], self._times[:gone]
        place = bisect_right(self._times, time)
        if not place or self._revisions[place - 1] < oldest:
            return None
        # The last entry remains current up to the newest revision.
        return max(newest, self._revisions[-1]) if place == len(self._times) else self._revisions[place - 1]

    async def begins(self) -> float | None:
        """Returns the earliest time that has a result; None if there are no entries."""
        oldest = await self._store.oldest()
        return next((time for each, time in zip(self._revisions, self._times, strict=True) if each >= oldest), None)

    async def _page(self) -> Sequence[tuple[int, float]]:
        if isinstance(self._store, Timed):
            return await self._store.times(self._read, _PAGE)
        return [(entry.revision, entry.time) for entry in await self._store.log(self._read, _LOG_PAGE)]

    def _add(self, revision: int, time: float) -> None:
        times, revisions = self._times, self._revisions
        while times and times[-1] >= time:
            times.pop()
            revisions.pop()
        times.append(time)
        revisions.append(revision)
