"""Runs long work beside the event loop, so that other requests do not wait for it.

Reading, merging and validating an object takes time in proportion to its size and to what its schema and rules ask for.
Small work runs in the event loop, where it is fastest. Large work runs in a thread: the interpreter takes turns between
threads, and while such work runs the turns are short. The work must be pure: it may change only what belongs to its
request.

Each user has one thread at a time, so that a user who sends many large objects delays no others.

Where the clock is not that of the machine, as in simulations, all work runs in the event loop, in the order in which it
is asked for.
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

# The size of JSON in bytes from which on work on it runs in a thread. Below it, no step of a write takes more than a
# few milliseconds, and the way to a thread and back would cost more.
LEAST = 64 * 1024
# Reading a byte of YAML takes about as long as reading this many bytes of JSON.
YAML_FACTOR = 8
# How many threads work at the same time. Each of them may keep the loop waiting for one turn.
_THREADS = 6
# How long a thread keeps the interpreter while another waits for it, in seconds. Python's own choice is 5 ms, and the
# loop gives the interpreter away with each system call.
_TURN = 0.001
# A full garbage collection stops all threads for as long as it takes to visit every container, and large objects are
# many. There are no cycles in them: while work runs in threads, only young containers are collected.
_RARELY = 1000


class Offload:
    """The threads of one server for long work. They are started when they are first needed."""

    def __init__(self, clock: Clock) -> None:
        self._inline = type(clock) is not SystemClock
        # What the process has while no such work runs.
        self._usual_turn, self._usual_collection = sys.getswitchinterval(), gc.get_threshold()
        self._threads: ThreadPoolExecutor | None = None
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        # How many pieces of work went to a thread.
        self.moved = 0

    async def run(self, user: str, work: Callable[[], T]) -> T:
        """Returns what the work returns, and raises what it raises. Work that has begun runs to its end, even if
        nobody waits for it any more."""
        if self._inline:
            return work()
        if user in self._busy or len(self._busy) >= _THREADS:
            await self._turn_of(user)
        else:
            self._take(user)
        self.moved += 1
        loop = asyncio.get_running_loop()

        def ended(_: Future[T]) -> None:
            try:
                loop.call_soon_threadsafe(self._leave, user)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="setpoint-work")
        started = self._threads.submit(copy_context().run, work)
        started.add_done_callback(ended)
        return await asyncio.wrap_future(started)

    def _take(self, user: str) -> None:
        """Gives the user a thread."""
        if not self._busy:
            turn, collection = sys.getswitchinterval(), gc.get_threshold()
            if collection[2] != _RARELY:  # else another server in the process has such work
                self._usual_turn, self._usual_collection = turn, collection
            sys.setswitchinterval(_TURN)
            gc.set_threshold(*self._usual_collection[:2], _RARELY)
        self._busy.add(user)

    async def _turn_of(self, user: str) -> None:
        """Returns when a thread is the user's, by then taken."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(user)
            raise

    def _leave(self, user: str) -> None:
        """Gives the threads that are free to those who wait, one each, in the order in which they began to wait."""
        self._busy.discard(user)
        for waiting in list(self._waiting):
            if len(self._busy) >= _THREADS:
                break
            if waiting in self._busy:
                continue
            line = self._waiting.pop(waiting)
            # Those who gave up are passed over.
            while line and line[0].done():
                line.popleft()
            if not line:
                continue
            self._take(waiting)
            line.popleft().set_result(None)
            if line:
                # At the end, for the dict keeps the order of turns.
                self._waiting[waiting] = line
        if not self._busy:
            self._as_usual()

    def _as_usual(self) -> None:
        sys.setswitchinterval(self._usual_turn)
        gc.set_threshold(*self._usual_collection)

    def release(self, values: list[object]) -> None:
        """Frees values in a thread, one after another. The caller must hold no other references to them."""
        if self._threads is None:
            values.clear()
        else:
            self._threads.submit(_free, values)

    def close(self) -> None:
        """Ends the threads when they have ended their work."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._busy:
            self._busy.clear()
            self._as_usual()


def _free(values: list[object]) -> None:
    # One at a time: other threads run between two of them.
    while values:
        values.pop()
