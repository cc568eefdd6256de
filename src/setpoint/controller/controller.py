"""The controller: watches for changes and reconciles each affected object until the reconcile succeeds.

    controller = Controller("website", reconcile, kind=Website, owns=["v1/ConfigMap"])
    await controller.run(cache)

Sources report changes, a queue collects the resulting requests, and workers take one request after the other and call
`reconcile` with a `Context`. A `def` function runs in a thread, with a `SyncContext`. Exceptions are contained: the
request is retried with backoff. The same request is never reconciled concurrently.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import count
from typing import Any, TypeVar, Unpack, cast

import setpoint.controller.child_report as child_report
import setpoint.controller.suspension_report as suspension_report
from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.cache.shared_watch import NotSynced
from setpoint.client.agent import user_agent
from setpoint.client.client import Client
from setpoint.client.kinds import KindRef, kind_of, tree_of
from setpoint.client.options import Options as ClientOptions
from setpoint.client.request_priority import RequestPriority
from setpoint.controller.child_apply import ChildError
from setpoint.controller.context import Context
from setpoint.controller.expectations import Expectations
from setpoint.controller.fence import Fence, fenced
from setpoint.controller.options import (
    AsyncReconcile,
    BlockingReconcile,
    Options,
    Reconcile,
    ReconcileObserver,
    Settings,
)
from setpoint.controller.outcome import conclude
from setpoint.controller.pace import HotLoop, Pace
from setpoint.controller.queue import Item, Queue, QueueState, ShutDown
from setpoint.controller.queue import QueueObserver as QueueObserver
from setpoint.controller.ratelimit import Exponential
from setpoint.controller.read_tracker import Lookups
from setpoint.controller.reconcile_client import Applied, ReconcileClient
from setpoint.controller.recording_client import RecordingClient
from setpoint.controller.remedies import has_status
from setpoint.controller.request import Request, Requeue, Result, TerminalError, Trigger
from setpoint.controller.run_record import CANCELLED, MOST_READS, SUCCESS, TIMEOUT, Access, ReconcileRecord
from setpoint.controller.source import Attached, Source
from setpoint.controller.status import StatusReport
from setpoint.controller.suspension import (
    CHILDREN_APPLIED,
    SUSPENDED,
    condition_types,
    suspension_reason,
)
from setpoint.controller.sync_context import SyncContext, call_in_thread, is_blocking
from setpoint.controller.threads import ThreadCall, ThreadPool
from setpoint.controller.tracing import span_of
from setpoint.controller.watch import Watch
from setpoint.controller.watchdog import Watchdog, Watched, where
from setpoint.controller.witness import Witness
from setpoint.objects import meta
from setpoint.objects.clock import Clock, SystemClock, timeout
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.metrics import MetricFamily
from setpoint.objects.provenance import Cause

T = TypeVar("T")
# The seconds that a stopping controller waits for its reconciles, as in controller-runtime.
GRACEFUL_SECONDS = 30.0
# The number of objects for which the last reconcile is kept.
MOST_REMEMBERED = 1000
# A worker yields to the event loop after this many reconciles.
_YIELDS_AFTER = 4
# The seconds after which a request is tried again that was not reconciled because this replica may no longer lead.
_FENCED_SECONDS = 1.0

_log = logging.getLogger(__name__)
# The class of the reconciled objects.
K = TypeVar("K")


class Controller:
    """Reconciles the objects of a kind.

    `run` does all the work; use `start`, `work` and `stop` to control the steps separately.

        async def reconcile(ctx: Context[Website], request: Request) -> Result | None: ...

        controller = Controller("website", reconcile, kind=Website, owns=["v1/ConfigMap"])
        await controller.run(cache)
    """

    def __init__(
        self,
        name: str,
        reconcile: Callable[[Context[K], Request], Awaitable[Result | None]]
        | Callable[[SyncContext[K], Request], Result | None],
        *,
        kind: type[K] | GroupVersionKind | str | KindRef | Watch | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        observer: ReconcileObserver | None = None,
        queue_observer: QueueObserver | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        if not name:
            raise ValueError("a controller needs a name")
        self.name = name
        self.options = Options(kind=kind, **settings)
        self.reconcile: Reconcile = reconcile
        self._is_blocking = is_blocking(reconcile)
        self.observer = observer
        self.queue_observer = queue_observer
        # Sees the runs and failures in a test.
        self.witness: Witness | None = None
        self.recorder: Any = None
        # The client of the writes, if not that of the cache: a copy by `Cache.recorded`, with another user.
        self.writer: Client | None = None
        # Guards the writes of a controller that runs only while its manager leads.
        self.fence: Fence | None = None
        self._configured_clock = clock
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = ids or SystemIds()
        self.initial_priority = self.options.initial_priority
        # The queue of a controller that this one continues; replaces the requests of the initial lists.
        self.initial_queue: QueueState[Request] | None = None
        # False if the run-time state is more than the queue: then a copy begins as after a restart.
        self.continues_queue = True
        watch = self.options.primary()
        self.primary: KindRef | None = None if watch is None else kind_of(watch.kind)
        # The conditions of built-in kinds belong to their own controllers.
        self._reports_conditions = self.primary is not None and self.primary.is_custom and has_status(self.primary)
        # The sources from the options; `watch` and `unwatch` add and remove others at run time.
        self.sources = self.options.sources(watch)
        if not self.sources:
            raise ValueError(f"{name} has no sources: set a kind, owns or watches")
        # The last reconciles, the newest at the end.
        self.runs: deque[ReconcileRecord] = deque(maxlen=self.options.keep_runs)
        # The last reconcile of each object, the newest at the end.
        self.last_runs: dict[Request, ReconcileRecord] = {}
        # The API accesses of the controller so far.
        self.accesses: set[Access] = set()
        self._caches: dict[str, Cache] = {}
        self._reset_state()

    def _reset_state(self) -> None:
        """Resets all run-time state."""
        options = self.options
        limiter = options.limiter() if options.limiter is not None else Exponential()
        self.queue: Queue[Request] = Queue(clock=self.clock, limiter=limiter, observer=self.queue_observer)
        self.lookups = Lookups()
        self._expectations: dict[str, Expectations] = {}
        self._applied = Applied()
        self._pace = Pace(self.clock, options.min_interval)
        # The threads of `ctx.in_thread`, and those of `def` functions.
        self._threads = ThreadPool(self.name, options.threads, self.clock)
        self._blocking = ThreadPool(f"{self.name}_reconcile", options.concurrency, self.clock)
        self._watchdog = Watchdog(self.clock, options.timeout, self.line_in_thread)
        self._attached: dict[Source, Attached] = {}
        self._tasks: list[asyncio.Task[None]] = []
        # The cancelled workers, until they have ended.
        self._ending: list[asyncio.Task[None]] = []
        # The workers that have a request, and wait because requests to the server go first.
        self._standing_by: set[asyncio.Task[Any]] = set()
        self._paused: asyncio.Event | None = None
        self._left_alone: set[Request] = set()
        # The suspended requests with the reasons.
        self.suspended: dict[Request, str] = {}
        self._warned: set[KindRef] = set()
        # The number of reconciles of each request.
        self._counts: dict[Request, int] = {}
        # False once the API server has dropped `observedGeneration` from the status: the kind does not have this field.
        self._observes = True

    # Running

    async def run(self, cache: Cache, **clusters: Cache) -> None:
        """Runs the controller until cancelled, and waits for running reconciles before returning."""
        await self.start(cache, clusters)
        try:
            self.work()
            await self.wait()
        finally:
            await self.stop()

    async def start(self, cache: Cache, clusters: Mapping[str, Cache] | None = None) -> None:
        """Attaches the sources and waits until they are synced; does not reconcile yet.

        Raises NotSynced if this takes longer than `sync_timeout`.
        """
        if self._configured_clock is None:
            self.clock = cache.client.clock
        self._reset_state()
        self._caches = {"": cache, **(clusters or {})}
        try:
            await self._attach_all()
        except BaseException:
            await self.stop(0)
            raise

    async def _attach_all(self) -> None:
        seconds = self.options.sync_timeout
        try:
            async with timeout(self.clock, seconds) if seconds is not None else nullcontext():
                for source in self.sources:
                    await self.watch(source)
                for attached in list(self._attached.values()):
                    await attached.wait_synced()
        except TimeoutError:
            why = "; ".join(self.problems) or "no response from the server"
            raise NotSynced(f"{self.name}: sources not synced after {seconds:g} s: {why}") from None

    def work(self) -> None:
        """Starts the workers."""
        if self._tasks:
            return
        if self.initial_queue is not None:
            self.queue.restore(self.initial_queue)
            self.initial_queue = None
        self._tasks = [asyncio.ensure_future(self._work()) for _ in range(self.options.concurrency)]
        self._tasks.append(asyncio.ensure_future(self._watchdog.watch()))

    async def wait(self) -> None:
        """Waits for the workers to end, and raises the error of a failed one. Cancelling this does not stop them."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            if not task.cancelled():
                task.result()

    async def run_once(self, request: Request, *why: Trigger) -> ReconcileRecord:
        """Reconciles a request now, without workers, and returns the record of the run. Meant for tests."""
        entry = self.entry_of(request)
        self._suspension_reason(request, entry)
        return await self._reconcile(Item(request, why, 0, 0, 0.0, self.queue.retries(request)), entry)

    async def stop(self, graceful: float | None = GRACEFUL_SECONDS) -> None:
        """Stops taking requests, waits for running reconciles, cancels the remaining ones and detaches all sources.

        `graceful` limits the wait in seconds; None waits without limit. If cancelled, ends the wait at once: running
        reconciles are cancelled and awaited.
        """
        self.queue.shut_down()
        self.queue.clear()
        tasks, self._tasks = self._tasks, []
        self._ending = [*self._ending, *tasks]
        try:
            await self._drain(graceful if tasks else 0)
        finally:
            await self._cancel(tasks)

    async def _drain(self, graceful: float | None) -> None:
        """Waits for running reconciles, at most for some seconds."""
        if self._standing_by:
            waiting = list(self._standing_by)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        if self.queue.working() and graceful != 0:
            try:
                if graceful is None:
                    await self.queue.drained()
                else:
                    async with timeout(self.clock, graceful):
                        await self.queue.drained()
            except TimeoutError:
                _log.warning("%s: cancelling reconciles that still run after %g s", self.name, graceful)

    async def _cancel(self, tasks: "Sequence[asyncio.Task[None]]") -> None:
        """Cancels the workers, waits for their ends, and detaches all sources."""
        self._blocking.begin_close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._ending = [task for task in self._ending if not task.done()]
        await self._blocking.close()
        await self._threads.close()
        attached, self._attached = list(self._attached.values()), {}
        for each in attached:
            await each.detach()

    @property
    def working(self) -> bool:
        """True while the workers run."""
        return bool(self._tasks)

    # Sources

    async def watch(self, source: Source) -> None:
        """Attaches a source, also while the controller runs."""
        if source not in self._attached:
            self._attached[source] = await source.attach(self)

    async def unwatch(self, source: Source) -> None:
        """Detaches a source. Requests that are already queued are still reconciled."""
        attached = self._attached.pop(source, None)
        if attached is not None:
            await attached.detach()

    @property
    def watched(self) -> list[Source]:
        """The declared sources, and those that were attached at run time."""
        return [*self.sources, *(each for each in self._attached if each not in self.sources)]

    @property
    def synced(self) -> bool:
        """True if all sources are synced."""
        return all(attached.synced for attached in self._attached.values())

    @property
    def problems(self) -> list[str]:
        """The problems of the sources, one text each."""
        return [trouble for attached in self._attached.values() if (trouble := attached.problem)]

    def unended(self) -> list[str]:
        """Returns the positions of cancelled reconciles that still run."""
        return [self.line_in_thread(task) or where(task) for task in self._ending if not task.done()]

    def stuck(self) -> list[Watched]:
        """Returns the reconciles that were cancelled after their timeout and still run."""
        return self._watchdog.stuck()

    def families(self) -> Sequence[MetricFamily]:
        """Returns the metrics of this controller beyond those that every controller has."""
        count = len(self.suspended)
        return [MetricFamily("setpoint_suspended", "gauge", "Suspended objects.", [({"controller": self.name}, count)])]

    def hot_loops(self) -> list[HotLoop]:
        """Returns the requests in a hot loop, with the fields that keep changing."""
        return self._pace.hot_loops()

    def tolerate_loops(self) -> None:
        """Ends the detection of hot loops, which slows them down. For controllers with steps that depend on the status
        of objects that they write: a rollout writes as often as pods become ready."""
        self._pace.loop_detection = False

    # Called by sources.

    def cache(self, cluster: str = "") -> Cache:
        """Returns the cache of a cluster. Raises LookupError for an unknown cluster."""
        found = self._caches.get(cluster)
        if found is None:
            raise LookupError(f"{self.name} has no cluster {cluster!r}: pass its cache to run() or start()")
        return found

    def client(self, cluster: str = "") -> Client:
        """Returns the client of a cluster; refuses writes while this replica does not lead. Raises LookupError."""
        cache = self.cache(cluster)
        client = cache.client if self.writer is None or cluster else self.writer
        return client if self.fence is None else fenced(client, self.fence)

    def enqueue(self, request: Request, trigger: Trigger | None = None, priority: int = 0) -> None:
        """Queues a request to be reconciled soon."""
        if trigger is None:
            trigger = Trigger("requested")
        elif self._is_own_report(request, trigger):
            return
        self.queue.add_after(request, self.options.debounce, trigger, priority=priority)

    def has_readers(self, kind: KindRef) -> bool:
        """Returns False if no request looked up an object."""
        return bool(self.lookups.buckets)

    def enqueue_readers(self, kind: KindRef, change: Change[Any], trigger: Trigger, cluster: str = "") -> None:
        """Queues every request that looked up the changed object."""
        if not self.lookups.buckets:
            return
        for request in self.lookups.requests_for(cluster, kind.gvk, change):
            self.enqueue(request, trigger, self.initial_priority if change.initial or change.resync else 0)

    def report_failure(self, source: str, error: Exception) -> None:
        """Reports the exception of a source to the witness."""
        if self.witness is not None:
            self.witness.source_failed(self.name, source, error)

    # Pausing

    def pause(self, request: Request | None = None) -> None:
        """Pauses the controller, or one request, until `resume`. Running reconciles continue."""
        if request is not None:
            self._left_alone.add(request)
        elif self._paused is None:
            self._paused = asyncio.Event()

    def resume(self, request: Request | None = None) -> None:
        """Resumes the controller, or one request, after `pause`."""
        if request is not None:
            if request in self._left_alone:
                self._left_alone.discard(request)
                self.enqueue(request, Trigger("resumed"))
        elif self._paused is not None:
            self._paused.set()
            self._paused = None

    @property
    def paused(self) -> bool:
        return self._paused is not None

    def _can_skip(self, request: Request, entry: CachedObject[Any] | None) -> bool:
        """Returns True if the request needs neither a reconcile nor a status report."""
        return request in self._left_alone or (
            bool(self._suspension_reason(request, entry)) and not self._reports_conditions
        )

    def _suspension_reason(self, request: Request, entry: CachedObject[Any] | None) -> str:
        """Returns why the object of a request is suspended; empty: not suspended."""
        if why := suspension_reason(entry, self.options.suspend):
            self.suspended[request] = why
        else:
            self.suspended.pop(request, None)
        return why

    # Working

    async def _work(self) -> None:
        priority = self.cache().client.priority
        for number in count():
            while self._paused is not None:
                await self._paused.wait()
            if number % _YIELDS_AFTER == 0:
                await self.clock.sleep(0)  # a reconcile may never wait: let other tasks run
            try:
                item = await self.queue.get()
            except ShutDown:
                return
            if priority is not None:
                await self._wait_turn(priority, item)
            if self._paused is None:
                await self._process(item)
            else:
                self._requeue(item, 0.0)
                self.queue.done(item.key)

    async def _wait_turn(self, priority: RequestPriority, item: Item[Request]) -> None:
        """Waits while requests to a server in this process go first."""
        task = asyncio.current_task()
        assert task is not None
        self._standing_by.add(task)
        try:
            await priority.reconcile_turn()
        except asyncio.CancelledError:
            self.queue.done(item.key)
            raise
        finally:
            self._standing_by.discard(task)

    def _requeue(self, item: Item[Request], seconds: float) -> None:
        """Requeues the item with its triggers, without counting a retry."""
        for reason in item.reasons or (None,):
            self.queue.add_after(item.key, seconds, reason, priority=item.priority)

    async def _process(self, item: Item[Request]) -> None:
        """Processes one request, and marks the item as done in the queue in every case."""
        request = item.key
        try:
            news = self._without_reports(item)
            if news is None:
                return
            entry = self.entry_of(request)
            if self._can_skip(request, entry):
                return
            item = news
            wait = self._pace.wait(request)
            if wait > 0:
                self._requeue(item, wait)
                return
            if self.fence is not None and not self.fence.seconds:
                _log.info("%s %s: not reconciled, because this replica may no longer lead", self.name, request)
                self._requeue(item, _FENCED_SECONDS)
                return
            await self._reconcile(item, entry)
        finally:
            self.queue.done(request)

    async def _reconcile(self, item: Item[Request], entry: CachedObject[Any] | None) -> ReconcileRecord:
        clock = self.clock
        task = asyncio.current_task()
        assert task is not None
        number = self._counts[item.key] = self._counts.get(item.key, 0) + 1
        why = tuple([reason for reason in item.reasons if isinstance(reason, Trigger)])
        run = ReconcileRecord(
            id=self.ids.uid(),
            controller=self.name,
            request=item.key,
            why=why,
            more=item.more,
            priority=item.priority,
            attempt=item.retries,
            waited=item.waited,
            began=clock.now(),
            started=clock.monotonic(),
            number=number,
        )
        ctx = Context(self, run, self._watchdog.begin(run, task), entry)
        if self.observer is not None:
            self.observer.started(run)
        tracer = self.options.tracer
        with nullcontext() if tracer is None else span_of(tracer, run):
            await self._execute(ctx, run, task)
        return run

    async def _execute(self, ctx: Context, run: ReconcileRecord, task: "asyncio.Task[Any]") -> None:
        """Runs one reconcile, records its result and error, and decides about the next run."""
        result: Result | None = None
        try:
            result = await self._attempt(ctx)
            run.result = SUCCESS
        except asyncio.CancelledError as error:
            if self._watchdog.end(run):
                task.uncancel()
                run.result, run.error = TIMEOUT, TimeoutError(f"took longer than {self.options.timeout:g} s")
            elif task.cancelling():
                run.result, run.error = CANCELLED, error
                raise
            else:  # the reconcile awaited a cancelled task: a failure like any other
                run.error = error
        except Exception as error:
            run.error = error
        finally:
            self._watchdog.end(run)
            run.seconds = self.clock.monotonic() - run.started
            self._finish(ctx, run, result)

    async def _attempt(self, ctx: Context) -> Result | None:
        """Reconciles, and writes the collected status even if the reconcile failed."""
        try:
            conditions = self._reported_conditions(ctx.entry)
            result = await self._call_reconcile(ctx, conditions)
        except Requeue:
            if ctx.reported is not None:
                await self._report(ctx, ctx.reported, final=False)
            raise
        except Exception as failure:
            if isinstance(failure, ChildError) and self.primary is not None:
                regarding = self.primary_object(ctx.request)
                if regarding is not None:
                    child_report.report(ctx, self.primary, regarding, failure)
            try:
                if ctx.reported is not None:
                    await self._report(ctx, ctx.reported, final=False, failed=not isinstance(failure, Conflict))
            except Exception as error:
                _log.warning("%s %s: cannot write the status of a failed reconcile: %s", self.name, ctx.request, error)
            raise
        if result is not None and not isinstance(result, Result):
            raise TerminalError(
                f"reconcile must return a Result or None, not {type(result).__name__}: "
                "return sp.Result(requeue_after=SECONDS)"
            )
        if CHILDREN_APPLIED in conditions:
            await child_report.clear(ctx)
        if ctx.reported is not None:
            await self._report(ctx, ctx.reported, final=True)
        return result

    def _reported_conditions(self, entry: CachedObject[Any] | None) -> Sequence[Any]:
        """Returns the types of the conditions that an object has before a reconcile, if the controller writes any."""
        return condition_types(entry.object) if self._reports_conditions and entry is not None else ()

    async def _call_reconcile(self, ctx: Context, reported: Sequence[Any]) -> Result | None:
        """Calls the reconcile function; for a suspended object, only reports the suspension. `reported` are the types
        of the conditions that the object has."""
        request = ctx.request
        if why := self.suspended.get(request):
            if self._reports_conditions:
                await suspension_report.report(ctx, why)
            return None
        if SUSPENDED in reported:
            await suspension_report.clear(ctx)
        if self._is_blocking:
            return await call_in_thread(ctx, cast(BlockingReconcile, self.reconcile), request)
        return await cast(AsyncReconcile, self.reconcile)(ctx, request)

    async def _report(self, ctx: Context, status: StatusReport, *, final: bool, failed: bool = False) -> None:
        """Writes the collected status of a reconcile. Only a successful one updates `observedGeneration`."""
        if final and self._observes and ctx.request not in self.suspended:
            status.observe()
        try:
            self._observes = await status.write(ctx) and self._observes
        except NotFound:
            if not self._is_deleted_or_terminating(ctx.request):
                raise
            return  # the status was deleted with the object
        if self.recorder is not None and self.options.condition_events and status.changed:
            regarding = self.primary_object(ctx.request)
            if regarding is not None:
                status.record_transitions(self.recorder, regarding, self.options.condition_events, failed=failed)

    def _is_deleted_or_terminating(self, request: Request) -> bool:
        """Returns True if the object is deleted or being deleted."""
        found = self.primary_object(request)
        return found is None or meta.is_being_deleted(tree_of(found))

    def _finish(self, ctx: Context, run: ReconcileRecord, result: Result | None) -> None:
        """Decides when the request runs next, and records the run."""
        request, queue = run.request, self.queue
        self._record_run(run)
        entry = self.entry_of(request)
        conclude(run, result, queue)
        ok = run.error is None
        if ctx.lookups or self.lookups.buckets:
            self.lookups.finish_run(request, ctx.lookups, complete=ok)
        hot = self._pace.record_run(run, entry.meta.generation if entry is not None else 0)
        if hot is not None:
            self._warn_of(hot)
        if ok and entry is None and self.primary is not None and request not in queue:
            self._discard_state(request)
        if self.observer is not None:
            self.observer.finished(run)
        if self.witness is not None:
            self.witness.run_ended(run)
        ctx.close()

    def _record_run(self, run: ReconcileRecord) -> None:
        runs, last = self.runs, self.last_runs
        if len(run.reads) > MOST_READS:
            run.more_reads = len(run.reads) - MOST_READS
            del run.reads[MOST_READS:]
        if len(runs) == runs.maxlen and runs:
            runs[0].release_objects()
        runs.append(run)
        last.pop(run.request, None)
        if len(last) >= MOST_REMEMBERED:
            del last[next(iter(last))]
        last[run.request] = run

    def _warn_of(self, hot: HotLoop) -> None:
        _log.warning("%s: %s; slowing down", self.name, hot)
        if self.witness is not None:
            self.witness.hot_loop_found(self.name, hot)
        regarding = self.primary_object(hot.request)
        if self.recorder is not None and regarding is not None:
            self.recorder.warning(regarding, "HotLoop", str(hot))

    def _discard_state(self, request: Request) -> None:
        """Drops the state of a request after the reconcile of its deleted object."""
        self._pace.discard(request)
        self.lookups.discard(request)
        self._counts.pop(request, None)
        self._left_alone.discard(request)
        self.suspended.pop(request, None)
        for expectations in self._expectations.values():
            expectations.discard(request)

    # Called by contexts.

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Runs a blocking function in one of the controller's threads."""
        return await self._threads.run(lambda call: function(*args), abandons=True)

    async def run_blocking(self, function: Callable[[ThreadCall], T]) -> T:
        """Runs a `def` function of the author in a thread. There are as many threads as concurrent reconciles."""
        return await self._blocking.run(function)

    def line_in_thread(self, task: "asyncio.Task[Any]") -> str:
        """Returns the line that a task runs in a thread, and the name of the thread; empty without one."""
        return self._blocking.line_of(task) or self._threads.line_of(task)

    def client_for(self, ctx: Context, cluster: str, cause: Cause) -> ReconcileClient:
        """Returns the client of a reconcile for a cluster, with cached reads."""
        cache = self.cache(cluster)
        return ReconcileClient(
            *self._client_arguments(ctx, cluster, cause), cache=cache, applied=self._applied, cluster=cluster
        )

    def api_for(self, ctx: Context, cluster: str, cause: Cause) -> RecordingClient:
        """Returns the client of a reconcile for a cluster, without the cache."""
        return RecordingClient(*self._client_arguments(ctx, cluster, cause))

    def _client_arguments(
        self, ctx: Context, cluster: str, cause: Cause
    ) -> tuple[Client, ClientOptions, Context, Expectations, GroupVersionKind | None]:
        client = self.client(cluster)
        manager = self.options.field_manager or client.options.field_manager or self.name
        agent = f"{client.options.user_agent or user_agent()}/{self.name}"
        options = client.options._replace(cause=cause, field_manager=manager, user_agent=agent)
        expectations = self._expectations.get(cluster)
        if expectations is None:
            expectations = self._expectations[cluster] = Expectations()
        primary = self.primary.gvk if self.primary is not None and cluster == ctx.request.cluster else None
        return client, options, ctx, expectations, primary

    def primary_object(self, request: Request) -> Any:
        """Returns the object of a request from the cache; None if the cache has no such object."""
        entry = self.entry_of(request)
        return None if entry is None else entry.object

    def warn_undeclared(self, kind: KindRef) -> None:
        """Logs once that an undeclared kind is read from the server each time."""
        if kind not in self._warned:
            self._warned.add(kind)
            _log.info(
                "%s reads %s from the server each time, without being triggered by changes: add the kind to `reads`",
                self.name,
                kind,
            )

    def entry_of(self, request: Request) -> Any:
        """Returns the cache entry of the object of a request."""
        cache = self._caches.get(request.cluster)
        if self.primary is None or cache is None:
            return None
        return cache.entry(self.primary, request.name, request.namespace)

    def all_entries(self) -> Iterator[CachedObject[Any]]:
        """Yields the cache entries of the objects that the controller reconciles."""
        for cache in self._caches.values():
            for informer in cache.informers:
                if informer.kind == self.primary:
                    yield from informer.store.all()

    # Internals

    def _is_own_report(self, request: Request, trigger: Trigger) -> bool:
        """Returns True if the change is only the controller's own write of the object's status."""
        if trigger.event != "updated" or self.options.own_status_triggers:
            return False
        if self.primary is None or trigger.kind != self.primary.gvk or trigger.object != request.object:
            return False  # a request that looked up another object must see its changes
        expectations = self._expectations.get(request.cluster)
        return expectations is not None and expectations.consume_report(trigger)

    def _without_reports(self, item: Item[Request]) -> Item[Request] | None:
        """Returns the item without triggers that are the controller's own status writes; None if no trigger is left.

        Such triggers may be queued before the response to the status write arrives.
        """
        reasons = item.reasons
        news = tuple(why for why in reasons if not (isinstance(why, Trigger) and self._is_own_report(item.key, why)))
        if len(news) == len(reasons):
            return item
        return item._replace(reasons=news) if news or item.more else None
