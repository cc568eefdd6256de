"""The controller of timers: calls a function at an interval for each object.

A call is a reconcile, with its timeout, retries and status. A change of the object does not cause a call, and may delay
the next one (`idle`). The times are kept in memory: after a restart, the first call follows the initial delay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, Unpack

from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import Kind
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.daemon.options import TimerOptions, applies_to, revision_of
from setpoint.controller.options import ReconcileObserver, Settings
from setpoint.controller.queue import QueueObserver
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids

# The tolerance for rounding errors of float sums.
_HAIR_SECONDS = 1e-9


@dataclass(slots=True)
class _Timer:
    """The times of one object."""

    uid: str
    due: float
    # The last seen revision of the object, and the time of its change.
    revision: object
    changed: float


class TimerController(Controller):
    """Calls a function at an interval for each object of a kind; see `setpoint.controller.daemon.timer`."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        timer: TimerOptions,
        kind: Kind[Any] | Watch,
        clock: Clock | None = None,
        ids: Ids | None = None,
        observer: ReconcileObserver | None = None,
        queue_observer: QueueObserver | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        self.timer = timer
        super().__init__(
            name,
            function,
            kind=kind,
            clock=clock,
            ids=ids,
            observer=observer,
            queue_observer=queue_observer,
            **settings,
        )
        self.continues_queue = False
        # Without children, the conditions belong to the reconciler of the kind.
        self._reports_conditions = self._reports_conditions and bool(self.options.owns)

    def _reset_state(self) -> None:
        super()._reset_state()
        self._timers: dict[Request, _Timer] = {}
        # `observedGeneration` belongs to the reconciler of the kind.
        self._observes = False

    async def _call_reconcile(self, ctx: Context[Any], reported: Sequence[Any]) -> Result | None:
        """Calls the function if the timer is due."""
        request, entry, options = ctx.request, ctx.entry, self.timer
        if request in self.suspended:
            return await super()._call_reconcile(ctx, reported)
        if entry is None or not applies_to(entry, options.when):
            self._timers.pop(request, None)
            return None
        timer = self._timer(request, entry)
        now = self.clock.monotonic()
        due = max(timer.due, timer.changed + options.idle) if options.idle else timer.due
        if due > now + _HAIR_SECONDS:
            return Result(requeue_after=due - now)
        result = await super()._call_reconcile(ctx, reported)
        timer.due = self._next(now, result)
        return Result(requeue_after=max(timer.due - self.clock.monotonic(), _HAIR_SECONDS))

    def _timer(self, request: Request, entry: CachedObject[Any]) -> _Timer:
        """Returns the timer of an object. Notes a change of the object."""
        now, timer = self.clock.monotonic(), self._timers.get(request)
        revision = revision_of(entry) if self.timer.idle else None
        if timer is None or timer.uid != entry.meta.uid:
            timer = self._timers[request] = _Timer(entry.meta.uid, now + self.timer.initial_delay, revision, now)
        elif timer.revision != revision and self.timer.idle:
            timer.revision, timer.changed = revision, now
        return timer

    def _next(self, started: float, result: Result | None) -> float:
        """Returns the time of the next call after one that has ended now."""
        now, interval = self.clock.monotonic(), self.timer.interval
        if result is not None and result.requeue_after is not None:
            return now + max(result.requeue_after, 0.0)
        if not self.timer.sharp:
            return now + interval
        return started + interval * (floor((now - started + _HAIR_SECONDS) / interval) + 1)

    def _discard_state(self, request: Request) -> None:
        super()._discard_state(request)
        self._timers.pop(request, None)
