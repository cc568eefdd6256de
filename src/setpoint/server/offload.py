"""Runs long synchronous work in threads, so that other requests do not wait.

Decoding, merging and validating an object takes time in proportion to its size and to the complexity of its schema and
rules. Small work runs in the event loop, where it is fastest. Large work runs in a thread: the interpreter switches
between threads, in shorter intervals while such work runs. The work must be pure: it may change only data that belongs
to its request.

Each user has one thread at a time, so that a user that sends many large objects does not delay others.

If the clock is not the system clock, as in simulations, all work runs in the event loop, in the order of the calls.
"""

import asyncio
import gc
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from setpoint.objects.clock import Clock, SystemClock

T = TypeVar("T")

# The size of JSON in bytes from which on work runs in a thread. Below this, no step of a write takes more than a few
# milliseconds, and switching threads would cost more.
LEAST = 64 * 1024
# Reading a byte of YAML takes about as long as reading this many bytes of JSON.
YAML_FACTOR = 8
# The number of concurrent threads. Each of them may delay the loop by one switch interval.
_THREADS = 6
# The switch interval of threads in seconds. Python's default is 5 ms, and the loop releases the interpreter with each
# system call.
_TURN = 0.001
# A full garbage collection stops all threads while visiting every container, and large objects have many. They contain
# no cycles, so while work runs in threads, only young containers are collected.
_RARELY = 1000


class Offload:
    """The threads of one server for long work, started on first use.

    `computes` is False for work that mostly waits: then the settings of the process stay as they are.
    """

    def __init__(self, clock: Clock, threads: int = _THREADS, *, computes: bool = True) -> None:
        self._inline = type(clock) is not SystemClock
        self._most = threads
        self._computes = computes
        # The settings of the process while no such work runs.
        self._usual_interval, self._usual_collection = sys.getswitchinterval(), gc.get_threshold()
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        # The number of calls that ran in a thread.
        self.moved = 0

    @property
    def busy_count(self) -> int:
        """The number of calls that run in threads at this moment."""
        return len(self._busy)

    async def run(self, user: str, work: Callable[[], T]) -> T:
        """Returns the result of the work, or raises its exception. Work that has begun runs to its end, even if the
        caller is cancelled."""
        if self._inline:
            return work()
        if user in self._busy or len(self._busy) >= self._most:
            await self._wait_for_thread(user)
        else:
            self._assign(user)
        self.moved += 1
        loop = asyncio.get_running_loop()

        def ended(_: Future[T]) -> None:
            try:
                loop.call_soon_threadsafe(self._release, user)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="setpoint-work")
        started = self._threads.submit(copy_context().run, work)
        started.add_done_callback(ended)
        return await asyncio.wrap_future(started)

    def _assign(self, user: str) -> None:
        """Assigns a thread to the user."""
        if not self._busy and self._computes:
            turn, collection = sys.getswitchinterval(), gc.get_threshold()
            if collection[2] != _RARELY:  # else another server in the process has such work
                self._usual_interval, self._usual_collection = turn, collection
            sys.setswitchinterval(_TURN)
            gc.set_threshold(*self._usual_collection[:2], _RARELY)
        self._busy.add(user)

    async def _wait_for_thread(self, user: str) -> None:
        """Waits until a thread is assigned to the user."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(user)
            raise

    def _release(self, user: str) -> None:
        """Assigns free threads to waiting users, one each, in the order in which they began to wait."""
        self._busy.discard(user)
        for waiting in list(self._waiting):
            if len(self._busy) >= self._most:
                break
            if waiting in self._busy:
                continue
            line = self._waiting.pop(waiting)
            # Cancelled callers are skipped.
            while line and line[0].done():
                line.popleft()
            if not line:
                continue
            self._assign(waiting)
            line.popleft().set_result(None)
            if line:
                # Appended at the end: the dict keeps the order of turns.
                self._waiting[waiting] = line
        if not self._busy:
            self._as_usual()

    def _as_usual(self) -> None:
        if not self._computes:
            return
        sys.setswitchinterval(self._usual_interval)
        gc.set_threshold(*self._usual_collection)

    def release(self, values: list[object]) -> None:
        """Frees values in a thread, one after another. The caller must hold no other references to them."""
        if self._threads is None or self._closed:
            values.clear()
        else:
            self._threads.submit(_free, values)

    def close(self) -> None:
        """Shuts down the threads after their current work."""
        self._closed = True
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._busy:
            self._busy.clear()
            self._as_usual()


def _free(values: list[object]) -> None:
    # One at a time: other threads run between two of them.
    while values:
        values.pop()
