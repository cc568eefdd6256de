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
        """`current` returns the revision that the log has reached. A reader waits for at most `seconds`; None: until
        the revision is reached."""
        self._current = current
        self._seconds = seconds
        self._waiting: list[tuple[int, int, asyncio.Future[bool]]] = []
        self._numbers = count()
        # True after a reader waited in vain, until the log advances: further readers do not wait.
        self._is_late = False

    async def until(self, revision: int) -> bool:
        """Waits until the log has reached a revision. Returns False if that takes too long."""
        if revision <= self._current():
            return True
        if self._is_late:
            return False
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = loop.create_future()
        heapq.heappush(self._waiting, (revision, next(self._numbers), waiting))
        timer = loop.call_later(self._seconds, self._give_up, waiting) if self._seconds is not None else None
        try:
            return await waiting
        finally:
            if timer is not None:
                timer.cancel()

    def advanced(self) -> None:
        """Continues the readers whose revision has been reached."""
        self._is_late = False
        current = self._current()
        while self._waiting and self._waiting[0][0] <= current:
            waiting = heapq.heappop(self._waiting)[2]
            if not waiting.done():
                waiting.set_result(True)

    def _give_up(self, waiting: asyncio.Future[bool]) -> None:
        if not waiting.done():
            if not self._is_late:
                _log.warning("the events of the store are late: until they arrive, objects are read from the store")
            self._is_late = True
            waiting.set_result(False)
