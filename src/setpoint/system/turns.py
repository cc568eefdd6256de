"""Long loops in several turns of the event loop: thousands of pods or nodes must not delay all other tasks."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, TypeVar

from setpoint.objects.clock import Clock

T = TypeVar("T")
# The number of objects after which other tasks run.
PER_TURN = 256


class Timed(Protocol):
    """An object with a clock, such as the context of a reconcile."""

    @property
    def clock(self) -> Clock: ...


async def in_turns(timed: Timed, items: Sequence[T]) -> AsyncIterator[T]:
    """Yields items, and lets other tasks run after every 256 of them."""
    for number, item in enumerate(items):
        if number % PER_TURN == PER_TURN - 1:
            await timed.clock.sleep(0)
        yield item
