"""The periodic work of a store: deletes expired keys and compacts old entries."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from setpoint.objects.clock import Clock
from setpoint.store.contract import StoreError

_logger = logging.getLogger("setpoint.store")
_PAUSE_AFTER_FAILURE = 5.0  # seconds


class Upkeep:
    """A task that sleeps until the next work is due. There is no task while no work is scheduled."""

    def __init__(self, clock: Clock, due: Callable[[], float | None], run: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._due = due
        self._run = run
        self._wakes = float("inf")
        self._task: asyncio.Task[None] | None = None

    def expect(self, time: float) -> None:
        """Schedules the work at a time, in seconds since the epoch."""
        if self._task is not None and not self._task.done():
            if self._wakes <= time:
                return
            self._task.cancel()
        self._wakes = time
        self._task = asyncio.get_running_loop().create_task(self._follow(time))

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _follow(self, wakes: float) -> None:
        due: float | None = wakes
        while due is not None:
            self._wakes = due
            await self._clock.sleep(due - self._clock.now().timestamp())
            try:
                await self._run()
            except StoreError as error:
                _logger.warning("the store could not be maintained: %s; trying again later", error)
                due = self._clock.now().timestamp() + _PAUSE_AFTER_FAILURE
            else:
                due = self._due()
