"""Measures the CPU of one turn of an event loop, and counts how the lines of some work grow with its size.

    response, seen = await measured(client.create(large))
    assert seen.longest < seen.total / 4

`longest` is the most CPU that one callback of the loop used in the loop's own thread; `total` is the CPU of the whole
process meanwhile. Their ratio tells whether the work was divided, however fast or busy the machine is.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class Turns:
    """The turns of a loop: how many there were, the CPU of the longest in seconds, and the most steps in one."""

    def __init__(self) -> None:
        self.count = 0
        self.longest = 0.0
        self.most_steps = 0
        # The CPU of all threads of the process, once it is over.
        self.total = 0.0


async def measured(coroutine: Coroutine[Any, Any, T], steps: Callable[[], int] = lambda: 0) -> tuple[T, Turns]:
    """The result of a coroutine, and the turns until it came. It runs in a task of its own: the turn in which this is
    called has begun before and would not count. `steps` counts the steps of the work so far."""
    seen = Turns()
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        before, start = steps(), time.thread_time()
        try:
            run(handle)
        finally:
            seen.count += 1
            seen.most_steps = max(seen.most_steps, steps() - before)
            seen.longest = max(seen.longest, time.thread_time() - start)

    with no_collection():
        begun = time.process_time()
        asyncio.Handle._run = timed  # type: ignore[assignment,method-assign]
        try:
            result = await asyncio.get_running_loop().create_task(coroutine)
        finally:
            asyncio.Handle._run = run  # type: ignore[method-assign]
        seen.total = time.process_time() - begun
    return result, seen


def growth(prepare: Callable[[int], Callable[[], object]], size: int, times: int = 4) -> float:
    """How many times the executed lines of Python grow when the size of some work grows so many times: about `times`
    where it is linear, the square of it where it is quadratic. `prepare` makes the work for a size."""
    return lines_of(prepare(size * times)) / lines_of(prepare(size))


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of Python some work executes; the same on every machine."""
    lines = 0

    def traced(frame: FrameType, event: str, _: object) -> object:
        nonlocal lines
        lines += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@contextmanager
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector away: it would visit all objects of all tests that ran in the process."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
