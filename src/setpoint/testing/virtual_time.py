"""Virtual time in tests: the clock stands still until moved, and jumps from one timer to the next.

`settle` runs everything that needs no time. `eventually` and `never` check that a condition becomes true, or stays
false, within some seconds; virtual seconds pass at once.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from setpoint.objects.clock import Clock, ManualClock
from setpoint.objects.errors import APIError

T = TypeVar("T")
# The number of event loop turns without activity after which all is settled, and the number after which settling fails.
_QUIET_TURNS = 40
_MOST_TURNS = 200_000
# The interval of checks in real time.
_LOOK_SECONDS = 0.005


class Busy(Protocol):
    """Reports activity."""

    def pulse(self) -> object:
        """Returns a value that changes with every activity."""

    def check(self) -> None:
        """Raises a problem that ends the wait."""


class Passing:
    """Advances the time. With a real clock, only waits."""

    def __init__(self, clock: Clock, busy: Busy, *, most_turns: int = _MOST_TURNS) -> None:
        self.clock = clock
        self._busy = busy
        self._most_turns = most_turns

    async def settle(self) -> None:
        """Returns when all work that needs no time is done. Raises TimeoutError if the work never ends."""
        __tracebackhide__ = True
        quiet, before = 0, self._busy.pulse()
        for _ in range(self._most_turns):
            await self.clock.sleep(0)
            self._busy.check()
            now = self._busy.pulse()
            quiet = quiet + 1 if now == before else 0
            before = now
            if quiet >= _QUIET_TURNS:
                return
        raise TimeoutError("the work never settles: a task triggers itself again and again without waiting")

    async def advance(self, seconds: float) -> None:
        """Advances the time by some seconds, timer by timer."""
        __tracebackhide__ = True
        end = self.clock.monotonic() + seconds
        await self.settle()
        while await self.to_next(end):
            await self.settle()
        self._to(end)
        await self.settle()

    async def eventually(self, holds: Callable[[], Any], *, within: float = 60.0) -> Any:
        """Waits until a condition holds, and returns its value.

        `holds` is a function or a coroutine function with a true result. AssertionError and API errors count as not yet
        true.
        """
        __tracebackhide__ = True
        end = self.clock.monotonic() + within
        while True:
            await self.settle()
            found, why = await evaluate(holds)
            if found:
                return found
            if not await self.to_next(end):
                suffix = f"; last error: {why}" if why is not None else ""
                raise AssertionError(f"condition not met within {within:g} s: {_text(holds)}{suffix}")

    async def never(self, holds: Callable[[], Any], *, within: float = 60.0) -> None:
        """Advances the time by some seconds, during which a condition must never hold."""
        __tracebackhide__ = True
        start = self.clock.monotonic()
        await self.settle()
        is_over = False
        while True:
            found, _ = await evaluate(holds)
            if found:
                after = self.clock.monotonic() - start
                raise AssertionError(f"condition must never hold, but did after {after:g} s: {_text(holds)}")
            if is_over:
                return
            is_over = not await self.to_next(start + within)
            if is_over:
                self._to(start + within)
            await self.settle()

    async def drive(self, awaitable: Awaitable[T]) -> T:
        """Awaits an awaitable, and advances the time as long as necessary."""
        __tracebackhide__ = True
        task = asyncio.ensure_future(awaitable)
        try:
            while not task.done():
                await self.settle()
                if not task.done() and not await self.to_next(None):
                    await asyncio.wait((task,), timeout=_LOOK_SECONDS)  # waits for I/O instead of a timer
            return await task
        finally:
            task.cancel()

    def _to(self, end: float) -> None:
        """Moves virtual time to a moment before the next timer."""
        if isinstance(self.clock, ManualClock):
            self.clock.advance(max(end - self.clock.monotonic(), 0.0))

    async def to_next(self, end: float | None) -> bool:
        """Advances to the next timer, or waits a moment in real time. Returns False if the end comes first."""
        now = self.clock.monotonic()
        if not isinstance(self.clock, ManualClock):
            if end is not None and now >= end:
                return False
            await self.clock.sleep(_LOOK_SECONDS)
            return True
        due = self.clock.next_deadline()
        if due is None or (end is not None and due > end):
            return False
        self.clock.advance(max(due - now, 0.0))
        return True


async def evaluate(holds: Callable[[], Any]) -> tuple[Any, object]:
    """Returns the result of a condition, or the exception that means not yet true."""
    try:
        found = holds()
        if inspect.isawaitable(found):
            found = await found
    except (AssertionError, APIError) as error:
        return None, error
    return found, None


def _text(holds: Callable[[], Any]) -> str:
    try:
        return inspect.getsource(holds).strip().splitlines()[0]
    except (OSError, TypeError):
        return getattr(holds, "__name__", repr(holds))
