"""An event loop in a thread of its own: other threads can observe its idleness, and its time can jump.

The loop passes a selector of this module to asyncio, and overrides `time`; both are interfaces of asyncio. A loop is
idle when asyncio waits in `select` with no callback due and no event at any socket. Then the time may jump to the next
timer.
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
# The real seconds to wait for an idle loop before its caller looks again.
_LOOK_SECONDS = 0.05
# The longest real time to wait for the end of connections, and the time between two looks.
_CLOSE_SECONDS, _CLOSE_LOOK_SECONDS = 5.0, 0.005


class ObservedSelector(selectors.DefaultSelector):
    """A selector that counts the moments without work, and makes time jump in them."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = threading.Condition()
        # The number of times that the loop had no callback to run and no event to process.
        self.idle_count = 0
        # The number of times that sockets or timers gave the loop work. Calls from other threads are not among them.
        self.activity = 0
        self.jumped_seconds = 0.0
        # The descriptors with which the loop is woken by other threads.
        self.wakers: frozenset[int] = frozenset()
        self._most: float | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if self._is_work(found):
            self._most = None  # the request to jump came too early
            self.activity += 1
            return found
        if found or (timeout is not None and timeout <= 0):
            return found
        with self.changed:
            self.idle_count += 1
            most, self._most = self._most, None
            self.changed.notify_all()
        if most is not None:
            self.activity += 1
            self.jumped_seconds += most if timeout is None else min(most, timeout)
            return []
        found = super().select(timeout)
        if not found or self._is_work(found):
            self.activity += 1
        return found

    def is_past(self, idle_count: int) -> bool:
        """Returns True if the loop was idle since the moment with this count."""
        return self.idle_count > idle_count

    def request_jump(self, most: float) -> None:
        """Requests a jump to the next timer, by at most this many seconds, in the next idle moment."""
        self._most = most

    def _is_work(self, found: list[tuple[selectors.SelectorKey, int]]) -> bool:
        return any(key.fd not in self.wakers for key, _ in found)


class ObservedLoop(asyncio.SelectorEventLoop):
    """An event loop that reports its idleness, and has a time that can jump forward."""

    def __init__(self) -> None:
        self.observed = ObservedSelector()
        # The number of calls that run in threads.
        self.threads = 0
        super().__init__(self.observed)
        self.observed.wakers = frozenset(key.fd for key in self.observed.get_map().values())

    def time(self) -> float:
        """Returns the time of the loop in seconds: the monotonic time, and all jumps."""
        return super().time() + self.observed.jumped_seconds

    def run_in_executor(  # type: ignore[override] # the parameters of asyncio have private types
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """Runs a function in a thread, and counts the function as work until its end."""
        future = super().run_in_executor(executor, func, *args)
        self.threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, _: "asyncio.Future[Any]") -> None:
        self.threads -= 1


class LoopThread:
    """A thread that runs an `ObservedLoop`. The thread is a daemon: a hanging test does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self.loop = ObservedLoop()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop, and blocks until the coroutine is done."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            work.close()
            raise RuntimeError("the loop has ended, or is called from its own thread")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Cancels all tasks, and ends the loop and the thread."""
        if not self._thread.is_alive():
            return
        self.run(self._cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _cancel_all(self) -> None:
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        await self.loop.shutdown_default_executor()
        await self._connections_closed()

    async def _connections_closed(self) -> None:
        """Waits until all connections are closed, but not long. Clients such as aiohttp return before the server has
        answered the end of TLS."""
        deadline = time.monotonic() + _CLOSE_SECONDS
        while len(self.loop.observed.get_map()) > len(self.loop.observed.wakers) and time.monotonic() < deadline:
            await asyncio.sleep(_CLOSE_LOOK_SECONDS)

    def wait_idle(self) -> bool:
        """Waits for two idle moments: the second one began after this call, and saw all that was sent before. Returns
        False if the loop has too much work."""
        observed = self.loop.observed
        for _ in range(2):
            with observed.changed:
                before = observed.idle_count
                self.loop.call_soon_threadsafe(_wake)
                if not observed.changed.wait_for(partial(observed.is_past, before), _LOOK_SECONDS):
                    return False
        return True

    def jump(self, most: float) -> None:
        """Moves the time to the next timer of the idle loop, by at most this many seconds."""
        self.loop.observed.request_jump(most)
        self.wait_idle()


def are_idle(*threads: LoopThread) -> bool:
    """Returns True if these loops have no work and send each other no data: only time makes them go on."""

    def activity() -> list[int]:
        return [each.loop.observed.activity for each in threads]

    before = activity()
    # Data that a loop sent before becoming idle is work of another one afterwards.
    if not all(each.wait_idle() for _ in range(2) for each in threads):
        return False
    return activity() == before and not any(each.loop.threads for each in threads)


def _wake() -> None:
    """Does no work: the loop looks at its sockets again."""
