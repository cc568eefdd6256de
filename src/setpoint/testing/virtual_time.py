"""Time in a test: it stands still until somebody moves it, and goes from one timer to the next.

`settle` lets everything happen that needs no time. `eventually` and `never` say what must come to be, or must not,
within so many seconds; with virtual time those pass at once.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from setpoint.objects.clock import Clock, ManualClock
from setpoint.objects.errors import APIError

T = TypeVar("T")
# After so many turns of the loop in which nothing was seen to happen, nothing will; and after so many, it never ends.
_QUIET_TURNS = 40
_MOST_TURNS = 200_000
# How often something is looked at in real time.
_LOOK_SECONDS = 0.005


class Busy(Protocol):
    """What tells whether something happens."""

    def pulse(self) -> object:
        """Another value than before whenever something has happened."""


class Passing:
    """Has time pass. With a clock that is not virtual it only waits."""

    def __init__(self, clock: Clock, busy: Busy, *, most_turns: int = _MOST_TURNS) -> None:
        self.clock = clock
        self._busy = busy
        self._most_turns = most_turns

    async def settle(self) -> None:
        """Returns when everything has happened that needs no time. Raises TimeoutError where that has no end."""
        quiet, before = 0, self._busy.pulse()
        for _ in range(self._most_turns):
            await self.clock.sleep(0)
            now = self._busy.pulse()
            quiet = quiet + 1 if now == before else 0
            before = now
            if quiet >= _QUIET_TURNS:
                return
        raise TimeoutError("it never comes to rest: something brings itself back without end, and without waiting")

    async def advance(self, seconds: float) -> None:
        """Lets so many seconds pass, timer by timer."""
        end = self.clock.monotonic() + seconds
        await self.settle()
        while await self.to_next(end):
            await self.settle()
        self._to(end)
        await self.settle()

    async def eventually(self, holds: Callable[[], Any], *, within: float = 60.0) -> Any:
        """Waits until something holds, and returns what that is: a function, or a coroutine function, whose answer is
        taken for true. One that raises AssertionError or an error of the API does not hold yet."""
        end = self.clock.monotonic() + within
        while True:
            await self.settle()
            found, why = await ask(holds)
            if found:
                return found
            if not await self.to_next(end):
                told = f"; at last it said: {why}" if why is not None else ""
                raise AssertionError(f"it did not come to be within {within:g} s: {_text(holds)}{told}")

    async def never(self, holds: Callable[[], Any], *, within: float = 60.0) -> None:
        """Lets so many seconds pass, in which something must not hold at any time."""
        start = self.clock.monotonic()
        await self.settle()
        is_over = False
        while True:
            found, _ = await ask(holds)
            if found:
                after = self.clock.monotonic() - start
                raise AssertionError(f"it must not be, and was after {after:g} s: {_text(holds)}")
            if is_over:
                return
            is_over = not await self.to_next(start + within)
            if is_over:
                self._to(start + within)
            await self.settle()

    async def drive(self, awaitable: Awaitable[T]) -> T:
        """Awaits something, and has time pass as long as it takes."""
        task = asyncio.ensure_future(awaitable)
        try:
            while not task.done():
                await self.settle()
                if not task.done() and not await self.to_next(None):
                    await asyncio.wait((task,), timeout=_LOOK_SECONDS)  # it waits for something that is no timer
            return await task
        finally:
            task.cancel()

    def _to(self, end: float) -> None:
        """Moves virtual time on to a moment before which there is no timer any more."""
        if isinstance(self.clock, ManualClock):
            self.clock.advance(max(end - self.clock.monotonic(), 0.0))

    async def to_next(self, end: float | None) -> bool:
        """Goes on to the next timer, or waits a moment; False where the end comes before that."""
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


async def ask(holds: Callable[[], Any]) -> tuple[Any, object]:
    """What a condition says; and what it raised, where that means that it does not hold yet."""
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
