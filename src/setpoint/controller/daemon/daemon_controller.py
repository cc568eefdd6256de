"""The controller of daemons: starts, stops and restarts a long-running task for each object.

Its reconcile supervises, and ends at once; the tasks run beside the workers. There is at most one task for an object:
a task that ends too slowly keeps the next one waiting, also that of a new object of the same name.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, Unpack

from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import Kind, metadata_of
from setpoint.controller.context import Context
from setpoint.controller.controller import GRACEFUL_SECONDS, Controller
from setpoint.controller.daemon.context import (
    DELETED,
    SHUTDOWN,
    SUSPENDED,
    UNMATCHED,
    DaemonContext,
    SyncDaemonContext,
)
from setpoint.controller.daemon.options import DaemonOptions, applies_to, revision_of
from setpoint.controller.options import ReconcileObserver, Settings
from setpoint.controller.queue import QueueObserver
from setpoint.controller.ratelimit import Exponential, RateLimiter
from setpoint.controller.request import Request, Requeue, Result, TerminalError, Trigger
from setpoint.controller.run_record import CANCELLED, ERROR, REQUEUE, SUCCESS, TERMINAL, ReconcileRecord
from setpoint.controller.sync_context import call_in_thread, is_blocking
from setpoint.controller.threads import ThreadCall, ThreadPool
from setpoint.controller.watch import Watch
from setpoint.controller.watchdog import GRACE_SECONDS, Watched, where
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.ids import Ids
from setpoint.objects.metrics import MetricFamily

T = TypeVar("T")
# The delays before a failed daemon is started again, if the controller has no limiter.
FIRST_SECONDS, LIMIT_SECONDS = 1.0, 300.0
# A daemon that ran for this time before its failure begins again with the first delay.
STABLE_SECONDS = 600.0
# The seconds since its cancellation after which a daemon that still runs is named in the log.
PATIENCE_SECONDS = 5.0

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Daemon:
    """A running daemon."""

    uid: str
    ctx: DaemonContext[Any]
    run: ReconcileRecord
    task: "asyncio.Task[None]"
    # The version of the object for which the daemon was started.
    version: object
    # The task that stops the daemon.
    ending: "asyncio.Task[None] | None" = None
    # The time of the cancellation.
    cancelled_at: float | None = None


class _Ended(NamedTuple):
    """A daemon that is not started again."""

    uid: str
    # The version of the object after which the daemon is started again; None: never.
    version: object


class DaemonController(Controller):
    """Runs a daemon for each object of a kind that matches; see `setpoint.controller.daemon.daemon`."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        daemon: DaemonOptions,
        kind: Kind[Any] | Watch,
        clock: Clock | None = None,
        ids: Ids | None = None,
        observer: ReconcileObserver | None = None,
        queue_observer: QueueObserver | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        self.daemon = daemon
        self._function = function
        self._is_blocking_daemon = is_blocking(function)
        super().__init__(
            name,
            self._supervise,
            kind=kind,
            clock=clock,
            ids=ids,
            observer=observer,
            queue_observer=queue_observer,
            **settings,
        )
        self.continues_queue = False
        # The conditions belong to the reconciler of the kind.
        self._reports_conditions = False

    def _reset_state(self) -> None:
        super()._reset_state()
        limiter = self.options.limiter
        self._restarts: RateLimiter = limiter() if limiter is not None else Exponential(FIRST_SECONDS, LIMIT_SECONDS)
        self._daemons: dict[Request, _Daemon] = {}
        self._ended: dict[Request, _Ended] = {}
        # The times before which failed daemons are not started again.
        self._not_before: dict[Request, float] = {}
        self._results: Counter[str] = Counter()
        self._daemon_threads = ThreadPool(f"{self.name}_daemon", self.daemon.daemon_threads, self.clock)
        self._is_closing = self._has_warned = False

    @property
    def running(self) -> list[Request]:
        """The objects whose daemons run, also those that are to stop."""
        return list(self._daemons)

    # Supervision

    async def _supervise(self, ctx: Context[Any], request: Request) -> Result | None:
        """Starts or stops the daemon of an object."""
        entry, daemon = ctx.entry, self._daemons.get(request)
        is_wanted = applies_to(entry, self.daemon.when)
        if daemon is not None:
            if not is_wanted or entry is None or entry.meta.uid != daemon.uid:
                is_alive = entry is not None and entry.meta.deletion_timestamp is None and entry.meta.uid == daemon.uid
                self._stop_soon(daemon, UNMATCHED if is_alive else DELETED)
            return None  # the end of a daemon triggers the request again
        if entry is None or not is_wanted:
            self._forget(request)
            if entry is not None:
                await self._set_finalizer(ctx, entry, wanted=False)
            return None
        ended = self._ended.get(request)
        if ended is not None and ended.uid == entry.meta.uid and ended.version in (None, revision_of(entry)):
            return None
        wait = self._not_before.get(request, 0.0) - self.clock.monotonic()
        if wait > 0:
            return Result(requeue_after=wait)
        await self._set_finalizer(ctx, entry, wanted=True)
        self._start(ctx, entry)
        return None

    async def _set_finalizer(self, ctx: Context[Any], entry: CachedObject[Any], *, wanted: bool) -> None:
        finalizer, has = self.daemon.finalizer, entry.meta.finalizers or []
        if not finalizer or (finalizer in has) == wanted:
            return
        left = [each for each in has if each != finalizer]
        await ctx.write_finalizers(metadata_of(entry.object), [*left, finalizer] if wanted else left)
        ctx.discard_status()  # the status belongs to the daemon and to the reconciler of the kind

    def _suspension_reason(self, request: Request, entry: CachedObject[Any] | None) -> str:
        """Returns why an object is suspended, and stops the daemon of a suspended object."""
        why = super()._suspension_reason(request, entry)
        daemon = self._daemons.get(request)
        if why and daemon is not None:
            self._stop_soon(daemon, SUSPENDED)
        return why

    def _forget(self, request: Request) -> None:
        """Drops the results of earlier daemons of an object."""
        self._ended.pop(request, None)
        self._not_before.pop(request, None)
        self._restarts.forget(request)

    # The life of a daemon

    def _start(self, ctx: Context[Any], entry: CachedObject[Any]) -> None:
        request = ctx.request
        if self._is_closing:
            return
        for trigger in ctx.why:
            _ = trigger.fields  # read now, so that the objects of the change are not kept for the life of the daemon
            trigger.release_objects()
        run = ReconcileRecord(
            id=self.ids.uid(),
            controller=self.name,
            request=request,
            why=ctx.why,
            more=ctx.run.more,
            priority=ctx.run.priority,
            attempt=self._restarts.retries(request),
            waited=0.0,
            began=self.clock.now(),
            started=self.clock.monotonic(),
        )
        self._ended.pop(request, None)
        self._not_before.pop(request, None)
        own: DaemonContext[Any] = DaemonContext(self, run, entry)
        task = asyncio.ensure_future(self._run_daemon(own))
        self._daemons[request] = _Daemon(entry.meta.uid, own, run, task, revision_of(entry))

    async def _run_daemon(self, ctx: DaemonContext[Any]) -> None:
        """Runs a daemon to its end, and decides about the next start."""
        error: BaseException | None = None
        try:
            if self._is_blocking_daemon:
                await call_in_thread(ctx, self._function, ctx.request, context=SyncDaemonContext)
            else:
                await self._function(ctx, ctx.request)
            await ctx.save_status()
        except asyncio.CancelledError as raised:
            error = raised
        except Exception as raised:
            error = raised
            await self._save_status_of_failed(ctx)
        finally:
            self._end(self._daemons.pop(ctx.request), error)

    async def _save_status_of_failed(self, ctx: DaemonContext[Any]) -> None:
        try:
            await ctx.save_status()
        except Exception as error:
            _log.warning("%s %s: cannot write the status of a failed daemon: %s", self.name, ctx.request, error)

    def _end(self, daemon: _Daemon, error: BaseException | None) -> None:
        ctx, run, request = daemon.ctx, daemon.run, daemon.run.request
        run.seconds, run.error = self.clock.monotonic() - run.started, error
        if isinstance(error, asyncio.CancelledError) and not ctx.stopped:
            # The daemon itself awaited a cancelled task: a failure like any other.
            error = run.error = RuntimeError("the daemon awaited a cancelled task")
        run.result = self._result(daemon, error)
        self._results[run.result] += 1
        ctx.finish_record()
        self._record_run(run)
        if self.witness is not None:
            self.witness.run_ended(run)
        ctx.close()
        wait = max(self._not_before.get(request, 0.0) - self.clock.monotonic(), 0.0)
        self.queue.add_after(request, wait, Trigger("retry" if wait else "requested", "the end of the daemon"))

    def _result(self, daemon: _Daemon, error: BaseException | None) -> str:
        """Returns the result of a daemon, and records the time of the next start."""
        run, request = daemon.run, daemon.run.request
        if daemon.ctx.stopped:
            if isinstance(error, Exception):
                _log.warning("%s %s: the daemon failed during its end", self.name, request, exc_info=error)
                return ERROR
            return CANCELLED if error is not None else SUCCESS
        if run.seconds >= STABLE_SECONDS:
            self._restarts.forget(request)
        if error is None:
            self._ended[request] = _Ended(daemon.uid, None)
            return SUCCESS
        if isinstance(error, TerminalError):
            self._ended[request] = _Ended(daemon.uid, daemon.version)
            _log.error("%s %s: %s; waiting for the next change", self.name, request, error, exc_info=error)
            return TERMINAL
        asked = error.after if isinstance(error, Requeue) else None
        seconds = self._restarts.delay(request) if asked is None else max(asked, 0.0)
        self._not_before[request] = self.clock.monotonic() + seconds
        if isinstance(error, Requeue):
            return REQUEUE
        _log.error("%s %s: the daemon failed; starting again in %.3g s", self.name, request, seconds, exc_info=error)
        return ERROR

    # The end of a daemon

    def _stop_soon(self, daemon: _Daemon, reason: str, grace: float | None = None) -> None:
        """Asks a daemon to stop, and cancels the daemon after its grace. A given grace replaces a running one."""
        daemon.ctx.request_stop(reason)
        if daemon.ending is not None and grace is None:
            return
        if daemon.ending is not None:
            daemon.ending.cancel()
        daemon.ending = asyncio.ensure_future(self._stop_daemon(daemon, self.daemon.grace if grace is None else grace))

    async def _stop_daemon(self, daemon: _Daemon, grace: float) -> None:
        task, request = daemon.task, daemon.run.request
        if await self._ends_within(task, grace):
            return
        if daemon.cancelled_at is None:
            daemon.cancelled_at = self.clock.monotonic()
            task.cancel()
        if not await self._ends_within(task, PATIENCE_SECONDS):
            line = self._daemon_threads.line_of(task)
            _log.warning(
                "%s %s: the daemon was cancelled, but still runs at %s; waiting for its end: return when ctx.stopped "
                "is true",
                self.name,
                request,
                line or where(task),
            )
            await asyncio.wait((task,))

    async def _ends_within(self, task: "asyncio.Task[None]", seconds: float) -> bool:
        if seconds > 0 and not task.done():
            try:
                async with timeout(self.clock, seconds):
                    await asyncio.wait((task,))
            except TimeoutError:
                return task.done()
        return task.done()

    async def stop(self, graceful: float | None = GRACEFUL_SECONDS) -> None:
        """Stops all daemons, each within its grace and the given seconds, and then the controller."""
        self._is_closing = True
        self._daemon_threads.begin_close()
        grace = self.daemon.grace if graceful is None else min(self.daemon.grace, graceful)
        daemons = list(self._daemons.values())
        for daemon in daemons:
            self._stop_soon(daemon, SHUTDOWN, grace)
        try:
            if daemons:
                await asyncio.wait([each.task for each in daemons])
        except asyncio.CancelledError:
            graceful = 0
            for daemon in daemons:
                daemon.task.cancel()
            await asyncio.wait([each.task for each in daemons])
            raise
        finally:
            endings = [each.ending for each in daemons if each.ending is not None]
            for ending in endings:
                ending.cancel()
            await asyncio.gather(*endings, return_exceptions=True)
            await self._daemon_threads.close()
            await super().stop(graceful)

    def stuck(self) -> list[Watched]:
        """Returns the daemons, and the supervising reconciles, that were cancelled some time ago and still run."""
        last = self.clock.monotonic() - GRACE_SECONDS
        found = [
            Watched(each.run, each.task, each.cancelled_at)
            for each in self._daemons.values()
            if each.cancelled_at is not None and each.cancelled_at < last
        ]
        return [*super().stuck(), *found]

    # Threads

    async def run_daemon_in_thread(self, ctx: DaemonContext[Any], function: Callable[[ThreadCall], T]) -> T:
        """Runs a `def` daemon in a thread. Waits, with a warning, while all threads are in use."""
        if self._daemon_threads.is_full and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "%s %s: the daemon waits for a thread, because %d daemons run: set daemon_threads to the number of "
                "objects, or define the daemon with `async def`",
                self.name,
                ctx.request,
                self.daemon.daemon_threads,
            )
        return await self._daemon_threads.run(function)

    def line_in_thread(self, task: "asyncio.Task[Any]") -> str:
        return self._daemon_threads.line_of(task) or super().line_in_thread(task)

    def families(self) -> list[MetricFamily]:
        """Returns the number of running daemons and of ended ones, beside the metrics of a controller."""
        about = {"controller": self.name}
        stopping = sum(each.ctx.stopped for each in self._daemons.values())
        states = {"running": len(self._daemons) - stopping, "stopping": stopping}
        return [
            *super().families(),
            MetricFamily(
                "setpoint_daemons",
                "gauge",
                "Running daemons.",
                [({**about, "state": state}, found) for state, found in states.items()],
            ),
            MetricFamily(
                "setpoint_daemon_ends_total",
                "counter",
                "Ended daemons.",
                [({**about, "result": result}, found) for result, found in self._results.items()],
            ),
        ]
