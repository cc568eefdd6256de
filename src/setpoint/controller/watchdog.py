"""The watchdog: cancels reconciles that exceed their timeout, and logs where they hang.

One task watches all reconciles of a controller, so that a reconcile costs only a dict entry.
"""

import asyncio
import logging
from collections.abc import Callable
from types import CoroutineType, FrameType
from typing import Any, NamedTuple

from setpoint.controller.run_record import ReconcileRecord
from setpoint.objects.clock import Clock

# The seconds after its cancellation for which a reconcile may still run before it counts as stuck.
GRACE_SECONDS = 10.0

_log = logging.getLogger(__name__)


class Watched(NamedTuple):
    """A running reconcile."""

    run: ReconcileRecord
    task: "asyncio.Task[Any]"
    deadline: float


class Watchdog:
    """Watches the reconciles of one controller, which all have the same timeout."""

    def __init__(
        self, clock: Clock, seconds: float | None, line_in_thread: "Callable[[asyncio.Task[Any]], str] | None" = None
    ) -> None:
        """Creates the watchdog. `line_in_thread` returns the line that a task runs in a thread; empty for none."""
        self._line_in_thread = line_in_thread
        self._clock = clock
        self._seconds = seconds
        # In the order of their starts, and thus of their deadlines.
        self._watched: dict[str, Watched] = {}
        self._expired: dict[str, Watched] = {}
        self._more = asyncio.Event()

    def begin(self, run: ReconcileRecord, task: "asyncio.Task[Any]") -> float | None:
        """Registers a reconcile, and returns its deadline."""
        if self._seconds is None:
            return None
        deadline = run.started + self._seconds
        self._watched[run.id] = Watched(run, task, deadline)
        self._more.set()
        return deadline

    def end(self, run: ReconcileRecord) -> bool:
        """Unregisters a reconcile, and returns True if the watchdog cancelled the reconcile."""
        self._watched.pop(run.id, None)
        return self._expired.pop(run.id, None) is not None

    def stuck(self) -> list[Watched]:
        """Returns the reconciles that were cancelled some time ago and still run."""
        now = self._clock.monotonic()
        return [found for found in self._expired.values() if now > found.deadline + GRACE_SECONDS]

    async def watch(self) -> None:
        """Cancels expired reconciles until cancelled itself."""
        while True:
            while not self._watched:  # the reconcile may have ended already
                self._more.clear()
                await self._more.wait()
            first = next(iter(self._watched.values()))
            await self._clock.sleep(first.deadline - self._clock.monotonic())
            self._expire(self._clock.monotonic())

    def _expire(self, now: float) -> None:
        for found in list(self._watched.values()):
            if found.deadline > now:
                return
            line = self._line_in_thread(found.task) if self._line_in_thread is not None else ""
            _log.error(
                "%s %s: the reconcile exceeded its timeout of %g s and is cancelled; %s",
                found.run.controller,
                found.run.request,
                self._seconds,
                f"running {line}" if line else f"waiting at {where(found.task)}",
            )
            del self._watched[found.run.id]
            self._expired[found.run.id] = found
            found.task.cancel()


def where(task: "asyncio.Task[Any]") -> str:
    """Returns the position at which a task waits: its functions, outermost first, with files and lines."""
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
