"""The watchdog: ends reconciles that take too long, and says where they hang.

One task watches all reconciles of a controller: a reconcile costs it nothing but a note at its start and its end.
"""

import asyncio
import logging
from types import CoroutineType, FrameType
from typing import Any, NamedTuple

from setpoint.controller.run_record import Run
from setpoint.objects.clock import Clock

# How long a reconcile that was told to end may take for it before it counts as stuck.
GRACE_SECONDS = 10.0

_log = logging.getLogger(__name__)


class Watched(NamedTuple):
    """A reconcile that runs."""

    run: Run
    task: "asyncio.Task[Any]"
    deadline: float


class Watchdog:
    """Watches over the reconciles of one controller, which all have the same time."""

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        # In the order they began, which is that of their deadlines.
        self._watched: dict[str, Watched] = {}
        self._expired: dict[str, Watched] = {}
        self._more = asyncio.Event()

    def begin(self, run: Run, task: "asyncio.Task[Any]") -> float | None:
        """A reconcile begins. Returns when it has to be over."""
        if self._seconds is None:
            return None
        deadline = run.started + self._seconds
        self._watched[run.id] = Watched(run, task, deadline)
        self._more.set()
        return deadline

    def end(self, run: Run) -> bool:
        """A reconcile is over. Returns whether it was ended because it took too long."""
        self._watched.pop(run.id, None)
        return self._expired.pop(run.id, None) is not None

    def stuck(self) -> list[Watched]:
        """Reconciles that were told to end a good while ago, and have not."""
        now = self._clock.monotonic()
        return [found for found in self._expired.values() if now > found.deadline + GRACE_SECONDS]

    async def watch(self) -> None:
        """Runs until it is cancelled."""
        while True:
            while not self._watched:  # what woke us may be over already
                self._more.clear()
                await self._more.wait()
            first = next(iter(self._watched.values()))
            await self._clock.sleep(first.deadline - self._clock.monotonic())
            self._expire(self._clock.monotonic())

    def _expire(self, now: float) -> None:
        for found in list(self._watched.values()):
            if found.deadline > now:
                return
            _log.error(
                "%s %s: the reconcile took more than %g s and is ended; it hangs at %s",
                found.run.controller,
                found.run.request,
                self._seconds,
                where(found.task),
            )
            del self._watched[found.run.id]
            self._expired[found.run.id] = found
            found.task.cancel()


def where(task: "asyncio.Task[Any]") -> str:
    """Where a task waits: the functions it is in, the outermost first, with their files and lines."""
    steps = []
    waiting: Any = task.get_coro()
    while waiting is not None:
        frame: FrameType | None = None
        if isinstance(waiting, CoroutineType):
            frame, waiting = waiting.cr_frame, waiting.cr_await
        elif hasattr(waiting, "ag_frame"):
            frame, waiting = waiting.ag_frame, waiting.ag_await
        elif hasattr(waiting, "gi_frame"):
            frame, waiting = waiting.gi_frame, waiting.gi_yieldfrom
        else:
            break
        if frame is not None:
            name = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
            steps.append(f"{frame.f_code.co_name} ({name}:{frame.f_lineno})")
    return " > ".join(steps) or "an unknown place"
