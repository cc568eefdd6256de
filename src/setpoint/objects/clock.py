"""The one source of time: everything that asks for the time, or waits, does so through a `Clock` it was given.

`SystemClock` is the machine's; `StandingClock` has it tell one time of day for ever. `ManualClock` stands still until
it is advanced, so that a test or a simulation decides when every timer fires; sleepers wake in the order of their
deadlines, and in the order they came where those are equal.
"""

import asyncio
import heapq
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Protocol

_MICROSECONDS = 1_000_000


class Clock(Protocol):
    """Time of day, time that only grows, and waiting."""

    def now(self) -> datetime:
        """The time of day, aware and in UTC."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Returns when that many seconds have passed; at once (after yielding) when there is nothing to wait for."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    # Itself, and not a function that calls it: queues and connections ask many times for each thing they do.
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class StandingClock(SystemClock):
    """The machine's own clock, but for the time of day, which is always the same: for looking at what was."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment.astimezone(UTC)

    def now(self) -> datetime:
        return self._moment


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("a clock starts at an aware time: give the datetime a time zone")
        self._start = start.astimezone(UTC)
        # Whole microseconds: sums of floats would miss a deadline by a hair, and time would stand still before it.
        self._elapsed = 0
        # A heap of (deadline, order of arrival, future); a sleeper that was cancelled stays until its deadline.
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = count()

    def now(self) -> datetime:
        return self._start + timedelta(microseconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed / _MICROSECONDS

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        deadline = self._elapsed + max(1, round(seconds * _MICROSECONDS))
        heapq.heappush(self._sleepers, (deadline, next(self._arrivals), future))
        await future

    def next_deadline(self) -> float | None:
        """When, in `monotonic` seconds, the next sleeper is due; None when nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] / _MICROSECONDS if self._sleepers else None

    def advance(self, seconds: float) -> None:
        """Moves time on and wakes everyone who is due. They run when the event loop next does."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self._elapsed += round(seconds * _MICROSECONDS)
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():
                future.set_result(None)


@asynccontextmanager
async def timeout(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Ends what is done inside with a TimeoutError when so many seconds have passed by the clock."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("only what runs in a task can be ended")
    expired = False

    async def end() -> None:
        nonlocal expired
        await clock.sleep(seconds)
        expired = True
        task.cancel()

    ending = asyncio.ensure_future(end())
    try:
        yield
    except asyncio.CancelledError:
        # Where somebody else has cancelled the task as well, that is what counts.
        if expired and task.uncancel() == 0:
            raise TimeoutError(f"it took more than {seconds:g} s") from None
        raise
    finally:
        ending.cancel()
