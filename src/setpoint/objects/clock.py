"""The only source of time: all code that reads the time or sleeps does so through an injected `Clock`.

`SystemClock` is the machine's clock; `StandingClock` always returns the same time of day. `ManualClock` does not move
until it is advanced, so that a test or a simulation decides when every timer fires; sleepers wake in the order of their
deadlines, and in the order of their arrival for equal deadlines.
"""

import asyncio
import heapq
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Protocol

_MICROSECONDS = 1_000_000


class Clock(Protocol):
    """Time of day, monotonic time, and sleeping."""

    def now(self) -> datetime:
        """Returns the time of day, aware and in UTC."""

    def monotonic(self) -> float:
        """Returns the seconds since some fixed moment; never decreases."""

    async def sleep(self, seconds: float) -> None:
        """Returns after that many seconds; immediately (after yielding) if the number is not positive."""


class SystemClock:
    """The machine's clock."""

    # The functions themselves, not wrappers: queues, connections and writes call them many times per operation.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class StandingClock(SystemClock):
    """The machine's clock with a fixed time of day, for reading past states."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment.astimezone(UTC)

    def now(self) -> datetime:
        return self._moment


class ManualClock:
    """A clock that moves only when it is advanced."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("a clock starts at an aware time: give the datetime a time zone")
        self._start = start.astimezone(UTC)
        # Whole microseconds: sums of floats could end just before a deadline, and the clock would never reach that
        # deadline.
        self._elapsed = 0
        # A heap of (deadline, order of arrival, future); a cancelled sleeper stays until its deadline.
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

    def fork(self) -> "ManualClock":
        """Returns another clock with the same time, and without sleepers."""
        made = ManualClock(self._start)
        made._elapsed = self._elapsed
        return made

    def next_deadline(self) -> float | None:
        """Returns the deadline of the next sleeper in `monotonic` seconds; None if there is no sleeper."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] / _MICROSECONDS if self._sleepers else None

    def advance(self, seconds: float) -> None:
        """Advances the time and wakes all sleepers that are due. They run in the next iteration of the event loop."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self._elapsed += round(seconds * _MICROSECONDS)
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():
                future.set_result(None)


@asynccontextmanager
async def timeout(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Raises TimeoutError in the body after `seconds` seconds of the clock."""
    if type(clock) is SystemClock:
        # A timer of the event loop takes a fraction of the time of a task.
        try:
            async with asyncio.timeout(seconds) as scope:
                yield
        except TimeoutError:
            if scope.expired():
                raise _expired(seconds) from None
            raise
        return
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("only what runs in a task can be ended")
    expired = False
    # Counted from here: the task below begins later, and the clock may move in between.
    deadline = clock.monotonic() + seconds

    async def end() -> None:
        nonlocal expired
        await clock.sleep(deadline - clock.monotonic())
        expired = True
        task.cancel()

    ending = asyncio.ensure_future(end())
    try:
        yield
    except asyncio.CancelledError:
        # A cancellation by another task takes precedence.
        if expired and task.uncancel() == 0:
            raise _expired(seconds) from None
        raise
    finally:
        ending.cancel()


def _expired(seconds: float) -> TimeoutError:
    return TimeoutError(f"it took more than {seconds:g} s")
