"""Threads for blocking functions. A function in a thread uses the event loop through its `ThreadCall`.

A thread cannot be stopped from outside. When the caller is cancelled, the coroutine that the function waits for is
cancelled, every later one is refused, and the caller is cancelled once the function has ended: no work of a reconcile
is left when the reconcile is over. A function that does not end is named in the log.

If the clock is not the system clock, as in simulations, the event loop stands still while a function runs, and a
function stands still while the loop runs its coroutine. Only one thread runs at a time, time does not pass meanwhile,
and the order is that of the tasks of the loop: the same seed gives the same run.
"""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context, copy_context
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar, cast

from setpoint.controller.project_code import line_of
from setpoint.objects.clock import Clock, SystemClock

T = TypeVar("T")
# The seconds after its cancellation for which a function may still run before it is named in the log.
PATIENCE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class _Outcome(NamedTuple, Generic[T]):
    """The result of a function or of a coroutine."""

    value: T | None
    error: BaseException | None

    def get(self) -> T:
        if self.error is None:
            return cast(T, self.value)
        try:
            raise self.error
        finally:
            del self  # breaks the reference cycle with the traceback


def _outcome_of(function: Callable[[], T]) -> _Outcome[T]:
    try:
        return _Outcome(function(), None)
    except BaseException as error:  # also SystemExit and CancelledError: the caller decides
        return _Outcome(None, error)


def _outcome_of_task(task: "asyncio.Task[T]") -> _Outcome[T]:
    if task.cancelled():
        return _Outcome(None, asyncio.CancelledError())
    error = task.exception()
    return _Outcome(None, error) if error is not None else _Outcome(task.result(), None)


class ThreadCall(ABC):
    """The call of a function in a thread. `run` runs a coroutine in the event loop for the function."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: "_Thread") -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self.thread = thread
        # True once the caller is cancelled.
        self.cancelled = False
        self.is_over = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the event loop and returns its result.

        Raises CancelledError if the caller is cancelled, and RuntimeError outside the function's thread or after its
        end.
        """
        if self.is_over or threading.get_ident() == self._loop_thread:
            work.close()
            raise RuntimeError("the synchronous context is for the thread of its function, and only until its end")
        if self.cancelled:
            work.close()
            raise asyncio.CancelledError
        return self._run(work)

    @abstractmethod
    def _run(self, work: Coroutine[Any, Any, T]) -> T: ...

    @abstractmethod
    def cancel(self) -> None:
        """Cancels the running coroutine and refuses later ones. Called in the event loop."""


class ThreadPool:
    """At most `size` threads, started on first use."""

    def __init__(self, name: str, size: int, clock: Clock) -> None:
        self.name = name
        self._clock = clock
        self._in_turns = type(clock) is not SystemClock
        self._slots = asyncio.Semaphore(size)
        self._idle: list[_Thread] = []
        self._numbers = count(1)
        # The running calls by their tasks, and the futures of their ends.
        self._calls: dict[asyncio.Task[Any], ThreadCall] = {}
        self._ends: dict[ThreadCall, asyncio.Future[None]] = {}
        self._closing = False

    async def run(self, function: Callable[[ThreadCall], T], *, abandons: bool = False) -> T:
        """Runs a function in a thread, and returns its result or raises its exception.

        A cancelled caller waits for the end of the function, unless `abandons`.
        """
        await self._slots.acquire()
        thread = self._idle.pop() if self._idle else _Thread(f"{self.name}_{next(self._numbers)}")
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        if self._in_turns:
            return await self._run_in_turns(_TakingTurns(loop, thread), task, function)
        call = _Parallel(loop, thread)
        self._calls[task] = call
        ended = self._ends[call] = loop.create_future()
        outcomes: list[_Outcome[T]] = []
        context = copy_context()

        def work() -> None:
            outcomes.append(_outcome_of(lambda: context.run(function, call)))
            try:
                loop.call_soon_threadsafe(self._end, call, ended)
            except RuntimeError:
                return  # the loop is closed: the call was abandoned

        thread.start(work)
        try:
            await self._until(ended, call, abandons)
        finally:
            self._calls.pop(task, None)
        return outcomes.pop().get()

    async def _until(self, ended: "asyncio.Future[None]", call: ThreadCall, abandons: bool) -> None:
        """Waits for the end of a function. Raises CancelledError afterwards if cancelled meanwhile."""
        cancelled: asyncio.CancelledError | None = None
        cancellations, has_warned = 0, False
        while not ended.done():
            try:
                await asyncio.wait((ended,), timeout=PATIENCE_SECONDS if cancelled and not has_warned else None)
            except asyncio.CancelledError as error:
                cancelled = error
                call.cancel()
                # A second cancellation of a closing pool ends the program at once.
                cancellations += self._closing
                if cancellations > 1:
                    _log.warning("%s: ends while a function still runs at %s", self.name, _position(call))
                if abandons or cancellations > 1:
                    raise
                continue
            if not ended.done():
                has_warned = True
                self._warn(call)
        if cancelled is not None:
            raise cancelled

    async def _run_in_turns(
        self, call: "_TakingTurns", task: "asyncio.Task[Any]", function: Callable[[ThreadCall], T]
    ) -> T:
        """Alternates between the function and its coroutines."""
        outcomes: list[_Outcome[T]] = []
        context = copy_context()
        self._calls[task] = call
        cancelled: asyncio.CancelledError | None = None

        def work() -> None:
            outcomes.append(_outcome_of(lambda: context.run(function, call)))
            call.loop_turn.release()

        call.thread.start(work)
        try:
            while True:
                self._wait_for_turn(call)
                if outcomes:
                    break
                running = call.begin()
                while not running.done():
                    try:
                        await asyncio.wait((running,))
                    except asyncio.CancelledError as error:
                        cancelled = error
                        call.cancel()
                call.answer(_outcome_of_task(running))
        finally:
            if not outcomes:  # the coroutine is closed: the function ends at its next step
                call.cancelled = True
                call.answer(_Outcome(None, asyncio.CancelledError()))
            self._calls.pop(task, None)
            self._free(call)
        if cancelled is not None:
            raise cancelled
        return outcomes.pop().get()

    def _wait_for_turn(self, call: "_TakingTurns") -> None:
        """Blocks the loop until the function ends or waits for a coroutine. Names a function that takes long."""
        if call.loop_turn.acquire(timeout=PATIENCE_SECONDS):
            return
        _log.warning(
            "%s: a function runs at %s, and the event loop stands still meanwhile, because the time is simulated: "
            "do not wait for the event loop there, except by the context",
            self.name,
            _position(call),
        )
        call.loop_turn.acquire()

    def _end(self, call: ThreadCall, ended: "asyncio.Future[None]") -> None:
        self._ends.pop(call, None)
        self._free(call)
        if not ended.done():
            ended.set_result(None)

    def _free(self, call: ThreadCall) -> None:
        call.is_over = True
        if self._closing:
            call.thread.stop()
        else:
            self._idle.append(call.thread)
        self._slots.release()

    def line_of(self, task: "asyncio.Task[Any]") -> str:
        """Returns the line that the function of a task runs, and the thread; empty for a task without a function."""
        call = self._calls.get(task)
        return "" if call is None else _position(call)

    @property
    def is_full(self) -> bool:
        """True if all threads are in use."""
        return self._slots.locked()

    def begin_close(self) -> None:
        """Prepares the end: from now on, a second cancellation of a call abandons its function."""
        self._closing = True

    async def close(self) -> None:
        """Waits for abandoned functions, names those that do not end, and stops the threads."""
        self._closing = True
        for thread in self._idle:
            thread.stop()
        self._idle.clear()
        if self._ends:
            _, left = await asyncio.wait(self._ends.values(), timeout=PATIENCE_SECONDS)
            for call, ended in list(self._ends.items()):
                if ended in left:
                    self._warn(call)
            if left:
                await asyncio.wait(left)

    def _warn(self, call: ThreadCall) -> None:
        _log.warning(
            "%s: cancelled, but a function still runs at %s; waiting for its end, because a thread cannot be stopped: "
            "give its calls timeouts, or call ctx.sleep instead of time.sleep",
            self.name,
            _position(call),
        )


def _position(call: ThreadCall) -> str:
    return f"{line_of(call.thread.ident, Path.cwd())} in the thread {call.thread.name}"


class _Thread:
    """A thread that runs one function after the other. The end of the program does not wait for the thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    @property
    def ident(self) -> int | None:
        return self._thread.ident

    def start(self, work: Callable[[], None]) -> None:
        self._work.put(work)

    def stop(self) -> None:
        self._work.put(None)

    def _main(self) -> None:
        while (work := self._work.get()) is not None:
            work()


class _Parallel(ThreadCall):
    """A function that runs at the same time as the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: _Thread) -> None:
        super().__init__(loop, thread)
        self._running: set[asyncio.Task[Any]] = set()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        answer: Future[_Outcome[T]] = Future()

        def begin() -> None:
            if self.cancelled:
                work.close()
                answer.set_result(_Outcome(None, asyncio.CancelledError()))
                return
            task = self._loop.create_task(work)
            self._running.add(task)
            task.add_done_callback(end)

        def end(task: "asyncio.Task[T]") -> None:
            self._running.discard(task)
            answer.set_result(_outcome_of_task(task))

        try:
            # The task gets the context variables of this thread.
            self._loop.call_soon_threadsafe(begin)
        except RuntimeError:  # the loop is closed
            work.close()
            raise asyncio.CancelledError from None
        return answer.result().get()

    def cancel(self) -> None:
        self.cancelled = True
        for task in self._running:
            task.cancel()


class _TakingTurns(ThreadCall):
    """A function that takes turns with the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: _Thread) -> None:
        super().__init__(loop, thread)
        self.loop_turn, self._own_turn = threading.Semaphore(0), threading.Semaphore(0)
        self._wanted: tuple[Coroutine[Any, Any, Any], Context] | None = None
        self._answer: _Outcome[Any] = _Outcome(None, None)
        self._task: asyncio.Task[Any] | None = None
        # For functions that start threads of their own.
        self._lock = threading.Lock()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            self._wanted = work, copy_context()
            self.loop_turn.release()
            self._own_turn.acquire()
            answer: _Outcome[T] = self._answer
            return answer.get()

    def begin(self) -> "asyncio.Task[Any]":
        """Starts the wanted coroutine."""
        assert self._wanted is not None
        work, context = self._wanted
        self._task = self._loop.create_task(work, context=context)
        return self._task

    def answer(self, outcome: _Outcome[Any]) -> None:
        """Continues the function with the outcome of its coroutine."""
        self._answer, self._task = outcome, None
        self._own_turn.release()

    def cancel(self) -> None:
        self.cancelled = True
        if self._task is not None:
            self._task.cancel()
