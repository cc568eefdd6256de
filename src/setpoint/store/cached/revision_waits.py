"""Waiting until the cache has all events up to a revision, with a limit of time where events may be late."""

import asyncio
import heapq
import logging
from collections.abc import Callable
from itertools import count

_log = logging.getLogger("setpoint.store")


class RevisionWaits:
    """The readers that wait for revisions of a log."""

    def __init__(self, current: Callable[[], int], seconds: float | None) -> None:
        """`current` returns the revision that the log has reached. A reader waits at most `seconds` for a revision that
        exists; None: until the revision is reached."""
        self._current = current
        self._seconds = seconds
        self._waiting: list[tuple[int, int, asyncio.Future[bool]]] = []
        self._numbers = count()
        # The number of waits that ended before their revision was reached.
        self._ended = 0
        # True after a reader waited in vain for a revision that exists, until the log advances: further readers do not
        # wait.
        self._is_late = False

    async def until(self, revision: int) -> bool:
        """Waits until the log has reached a revision that exists. Returns False if that takes too long."""
        if revision <= self._current():
            return True
        if self._is_late:
            return False
        # The log may have advanced in the turn in which the time was over.
        if await self._wait(revision, self._seconds) or revision <= self._current():
            return True
        if not self._is_late:
            _log.warning("the events of the store are late: until they arrive, objects are read from the store")
        self._is_late = True
        return False

    async def within(self, revision: int, seconds: float) -> bool:
        """Waits until the log has reached a revision that may not exist yet. Returns False if that takes too long."""
        return revision <= self._current() or await self._wait(revision, seconds)

    async def _wait(self, revision: int, seconds: float | None) -> bool:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = loop.create_future()
        heapq.heappush(self._waiting, (revision, next(self._numbers), waiting))
        timer = loop.call_later(seconds, _give_up, waiting) if seconds is not None else None
        reached = False
        try:
            reached = await waiting
        finally:
            if timer is not None:
                timer.cancel()
            if not reached:
                self._remove_ended()
        return reached

    def advanced(self) -> None:
        """Continues the readers whose revision has been reached."""
        self._is_late = False
        current = self._current()
        while self._waiting and self._waiting[0][0] <= current:
            waiting = heapq.heappop(self._waiting)[2]
            if not waiting.done():
                waiting.set_result(True)

    def _remove_ended(self) -> None:
        """Removes the waits that have ended, once they are half of all."""
        self._ended += 1
        if 2 * self._ended >= len(self._waiting):
            self._waiting = [each for each in self._waiting if not each[2].done()]
            heapq.heapify(self._waiting)
            self._ended = 0


def _give_up(waiting: asyncio.Future[bool]) -> None:
    if not waiting.done():
        waiting.set_result(False)
