"""Finds the revision at a time, also where the clock was set back or forward.

The log keeps the times that clocks told, and these need not grow: a clock is set back, or was ahead for a while. The
revision at a time is the last one, in the order of the log, whose recorded time is not after it. So a clock that was
ahead for an hour hides nothing that was written after it was corrected, and asking for a later time never gives an
earlier revision.

The index has, of all entries, those that can be an answer: each whose time is before the times of all later entries.
They are in order by revision and by time, so one is found by halving. The index is built at the first question, page by
page, and then only ever reads what is new. It takes 16 bytes for each entry that is kept.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from setpoint.store.contract import Store

_PAGE = 4096
# Where a page comes with the objects.
_LOG_PAGE = 500


@runtime_checkable
class Timed(Protocol):
    """A store that tells the times of its entries without the rest of them."""

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        """The revisions and times of entries after a revision, in the order of the log; some of them, where there are
        more than so many. Whole revisions."""


class Moments:
    """The times of a log, as far as it was read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revisions = array("q")
        self._times = array("d")
        # The last revision that was read.
        self._read = 0

    async def at(self, time: float) -> int | None:
        """The last revision whose recorded time is not after a time; None where all that is kept is later."""
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
        # After the last entry nothing was written, up to the newest revision there is.
        return max(newest, self._revisions[-1]) if place == len(self._times) else self._revisions[place - 1]

    async def begins(self) -> float | None:
        """The earliest time that has an answer; None where nothing is kept."""
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
