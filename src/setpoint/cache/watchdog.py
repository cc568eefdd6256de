"""The watchdog: cancels a task that has received no data for too long. A connection can die without being closed."""

import asyncio
from types import TracebackType
from typing import Self

from setpoint.objects.clock import Clock

# The longest time between two checks: the permitted silence may have become shorter.
_LOOK_SECONDS = 60.0


class Watchdog:
    """Raises TimeoutError in the task that entered the context if `last_event` is more than `seconds` ago. Both may
    change."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.seconds = seconds
        self._clock = clock
        # The time of the last data; the reader sets it.
        self.last_event = 0.0
        self._guarded: asyncio.Task[object] | None = None
        self._guarding: asyncio.Task[None] | None = None
        self._expired = False

    async def __aenter__(self) -> Self:
        self._guarded = asyncio.current_task()
        self.last_event = self._clock.monotonic()
        self._guarding = asyncio.ensure_future(self._guard())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._guarding is not None:
            self._guarding.cancel()
            await asyncio.gather(self._guarding, return_exceptions=True)
        # If the task was also cancelled from outside, that cancellation wins.
        if (
            self._expired
            and self._guarded is not None
            and self._guarded.uncancel() == 0
            and isinstance(error, asyncio.CancelledError)
        ):
            raise TimeoutError(f"no data for {self.seconds:g} s") from None

    async def _guard(self) -> None:
        while (left := self.last_event + self.seconds - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(left, _LOOK_SECONDS))
        self._expired = True
        if self._guarded is not None:
            self._guarded.cancel()
