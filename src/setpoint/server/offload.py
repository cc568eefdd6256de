"""Runs long synchronous work beside the event loop: decoding, merging, validating and encoding of large objects.

The functions that do this work are pure: they read and change only what the request owns, so they may run in a thread.
Python code in a thread gives the interpreter up at every switch interval, and the loop goes on; only calls into C hold
it for longer, and those take milliseconds for the largest body that the server accepts. `docs/decisions/0050` compares
this with slicing by hand and with processes.

Work that was given a virtual clock runs inline: a simulation has one order of events.
"""

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from setpoint.objects.clock import Clock, SystemClock

# The size in bytes of JSON from which on the way to a thread and back costs less than the wait of everybody else.
LEAST = 64 * 1024
# Reading a byte of YAML takes about as long as reading this many bytes of JSON.
YAML_FACTOR = 8
# Work up to this size has a thread of its own, so that it does not wait behind the largest.
_SMALLER = 512 * 1024

T = TypeVar("T")


class Offload:
    """The threads of one server: two, so that the loop competes with few others for the interpreter."""

    def __init__(self, clock: Clock) -> None:
        self._inline = not isinstance(clock, SystemClock)
        self._smaller: ThreadPoolExecutor | None = None
        self._larger: ThreadPoolExecutor | None = None
        # How many pieces of work went to a thread.
        self.moved = 0

    async def run(self, work: Callable[[], T], size: int) -> T:
        """The result of the work. It runs here where it is short: `size` is that of the JSON that it goes through."""
        if size < LEAST or self._inline:
            return work()
        self.moved += 1
        return await get_running_loop().run_in_executor(self._executor(size), work)

    def _executor(self, size: int) -> ThreadPoolExecutor:
        if size <= _SMALLER:
            if self._smaller is None:
                self._smaller = ThreadPoolExecutor(1, "setpoint-work")
            return self._smaller
        if self._larger is None:
            self._larger = ThreadPoolExecutor(1, "setpoint-large-work")
        return self._larger

    def close(self) -> None:
        """Ends the threads when they are done with what they have begun."""
        for executor in (self._smaller, self._larger):
            if executor is not None:
                executor.shutdown(wait=False, cancel_futures=True)
