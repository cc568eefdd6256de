"""The steps of a shutdown, each with a deadline. A step that does not end is abandoned, and the next one still runs."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from setpoint.objects.clock import Clock

# The seconds beyond `graceful` after which a shutdown is given up.
SHUTDOWN_SECONDS = 10.0
# The part of these that is left for connections, servers and events once the work is given up.
_REST_SECONDS = 2.0


class ShutdownTimeout(TimeoutError):  # noqa: N818 - a kind of timeout
    """A shutdown that was given up, because some work ignores its cancellation. The work may still run."""


class Shutdown:
    """A shutdown that has begun.

    shutdown = Shutdown(clock, graceful=30.0)
    has_ended = await shutdown.work(stop_controllers(shutdown.grace))
    await shutdown.rest(close_connections())
    shutdown.check()
    """

    def __init__(self, clock: Clock, graceful: float | None) -> None:
        """Begins a shutdown, which has no limit if `graceful` is None."""
        self._clock = clock
        self._began = clock.monotonic()
        self._graceful = graceful
        self._limit = None if graceful is None else self._began + graceful + SHUTDOWN_SECONDS
        self._cancelled: asyncio.CancelledError | None = None

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return self._clock.monotonic() - self._began

    @property
    def grace(self) -> float | None:
        """The seconds that running work still has to finish; None: no limit."""
        if self._cancelled is not None:
            return 0.0
        return None if self._graceful is None else max(self._graceful - self.seconds, 0.0)

    async def work(self, step: Coroutine[Any, Any, None]) -> bool:
        """Runs the step that ends the work. Returns False if some work has not ended in time.

        If cancelled, cancels the step, which then ends all waits; `check` raises the cancellation.
        """
        return await self._run(step, None if self._limit is None else self._limit - _REST_SECONDS)

    async def rest(self, step: Coroutine[Any, Any, None]) -> bool:
        """Runs the step that closes what the work needs, as `work` does."""
        return await self._run(step, self._limit)

    def check(self) -> None:
        """Raises CancelledError if a step was cancelled."""
        if self._cancelled is not None:
            raise self._cancelled

    async def _run(self, step: Coroutine[Any, Any, None], until: float | None) -> bool:
        running = asyncio.ensure_future(step)
        ends: list[asyncio.Future[None]] = [running]
        if until is not None:
            ends.append(asyncio.ensure_future(self._clock.sleep(until - self._clock.monotonic())))
        while not any(end.done() for end in ends):
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError as error:
                self._cancelled = error
                running.cancel()
        for expiring in ends[1:]:
            expiring.cancel()
        if not running.done():
            running.add_done_callback(lambda task: task.cancelled() or task.exception())  # retrieves a late error
            running.cancel()
            return False
        if not running.cancelled():
            running.result()
        return True
