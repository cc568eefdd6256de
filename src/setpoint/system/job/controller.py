"""The controller of Jobs, and the controller that frees pods without a job that counts them."""

from collections.abc import Iterable
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.ratelimit import Exponential
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.owners import controller_of
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controlled_objects import AdoptionFailed, ByController, Claims, candidates, controlled
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.job.backoff import Backoff
from setpoint.system.job.conditions import SUSPENDED, condition, end_of, set_condition
from setpoint.system.job.job_state import JobState
from setpoint.system.job.pod_management import PodManagement, remove_finalizer
from setpoint.system.job.pod_state import FINALIZER, has_finalizer
from setpoint.system.job.tracking import Tracking
from setpoint.system.pods.control import PodControl, PodFailure
from setpoint.system.pods.state import POD
from setpoint.system.selectors import selector_of

JOB = "batch/v1/Job"
COMPONENT = "job-controller"
# The second controller, with the name of the second queue in kube-controller-manager.
ORPHANS = "job-orphan-pod"
CONCURRENCY = 5
_MANAGER = "kubernetes.io/job-controller"
# The delays after failed reconciles, and the shortest delay until the next pod.
_FIRST_RETRY, _LAST_RETRY, _SHORTEST_WAIT = 1.0, 60.0, 1.0


class JobReconciler:
    """Reconciles jobs."""

    def __init__(self, pods: PodControl) -> None:
        self._pods = pods
        # The failures since the last success, by the uid of the job. A restart begins anew, as in
        # kube-controller-manager.
        self._backoffs: dict[Request, tuple[str, Backoff]] = {}

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Brings the pods of a job to the desired number, counts ended ones, and writes the status. Raises Requeue and
        APIError."""
        try:
            found: Object = await ctx.client.get(JOB, request.name, request.namespace)
        except NotFound:
            self._backoffs.pop(request, None)
            return None
        if is_managed_elsewhere(found):
            return None
        if end_of(found):
            self._backoffs.pop(request, None)
            return None
        claims = Claims(ctx, found, selector_of(found), POD, finalizer=FINALIZER)
        try:
            pods = await claims.claim(await candidates(ctx, POD, found))
        except AdoptionFailed as error:
            raise Requeue(None, str(error)) from None
        uid, backoff = self._backoffs.get(request, ("", Backoff()))
        if uid != found["metadata"]["uid"]:
            backoff = Backoff()
        return await self._sync(ctx, request, JobState(thaw(found), pods, backoff, ctx.clock.now()))

    async def _sync(self, ctx: Context[Any], request: Request, state: JobState) -> Result | None:
        before = {name: state.status.get(name) for name in ("active", "ready", "terminating")}
        if "startTime" not in state.status and not state.is_suspended:
            state.status["startTime"] = format_time(state.now)
        state.evaluate()
        management = PodManagement(ctx, self._pods, state)
        changed, failure = await self._manage(state, management)
        state.status.update(active=state.active, ready=state.ready, terminating=state.terminating)
        if not state.active:
            del state.status["active"]
        changed |= any(state.status.get(name) != value for name, value in before.items())
        tracking = Tracking(ctx, state, self._pods.recorder)
        try:
            await tracking.run(changed=changed)
        finally:
            if tracking.is_flushed:
                self._backoffs[request] = state.job["metadata"]["uid"], state.backoff
        if failure is not None or tracking.has_more:
            raise Requeue(None, str(failure or "further pods have ended"))
        if end_of(state.job):
            self._backoffs.pop(request, None)
            return None
        return _next_check(state, management.wait)

    async def _manage(self, state: JobState, management: PodManagement) -> tuple[bool, PodFailure | None]:
        """Creates and deletes pods, and decides about the end of the job. Returns True if the status changed, and the
        failure after all attempts."""
        failure: PodFailure | None = None
        try:
            if state.ending is not None:
                await management.delete_active()
                return False, None
            if not state.is_deleted:
                await management.manage()
        except PodFailure as error:
            failure = error
        if state.ending is not None:
            # The job cannot end before its pods are deleted.
            state.ending = None
            return False, failure
        if state.is_complete():
            state.complete()
            return False, failure
        return not state.is_deleted and self._report_suspension(state), failure

    def _report_suspension(self, state: JobState) -> bool:
        """Reports the beginning and the end of a suspension. Returns True if the status changed."""
        if state.is_suspended:
            if not set_condition(
                state.status, condition(SUSPENDED, "True", "JobSuspended", "Job suspended", state.now)
            ):
                return False
            self._pods.recorder.normal(state.job, "Suspended", "Job suspended")
            state.status.pop("startTime", None)
            return True
        if not set_condition(state.status, condition(SUSPENDED, "False", "JobResumed", "Job resumed", state.now)):
            return False
        self._pods.recorder.normal(state.job, "Resumed", "Job resumed")
        # The deadline counts the seconds since the last start.
        state.status["startTime"] = format_time(state.now)
        return True


def _next_check(state: JobState, wait: float | None) -> Result | None:
    """Returns the time of the next pod or of the deadline."""
    waits = [] if wait is None else [max(wait, _SHORTEST_WAIT)]
    left = state.seconds_to_deadline()
    if left is not None and left > 0:
        waits.append(left)
    return Result(requeue_after=min(waits)) if waits else None


def is_managed_elsewhere(job: Object) -> bool:
    """Returns True if `managedBy` names another controller."""
    return job["spec"].get("managedBy") not in (None, _MANAGER)


# Orphans


async def free_orphan(ctx: Context[Any], request: Request) -> None:
    """Removes the finalizer of a pod without a job, or with an ended job, which has no more reconciles."""
    try:
        pod: Object = await ctx.client.get(POD, request.name, request.namespace)
    except NotFound:
        return
    if not has_finalizer(pod):
        return
    reference = controller_of(pod)
    if reference is not None:
        if reference["kind"] != "Job" or reference["apiVersion"] != "batch/v1":
            return
        try:
            job: Object | None = await ctx.client.get(JOB, reference["name"], request.namespace)
        except NotFound:
            job = None
        is_own = job is not None and job["metadata"]["uid"] == reference["uid"]
        if is_own and job is not None and (is_managed_elsewhere(job) or not end_of(job)):
            return
    await remove_finalizer(ctx, pod)


def _may_be_orphan(entry: CachedObject[Any]) -> bool:
    meta = entry.meta
    if FINALIZER not in (meta.finalizers or ()):
        return False
    return bool(meta.deletion_timestamp) or not any(each.controller for each in meta.owner_references or ())


class _PodsOf:
    """Maps a job to its pods."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def __call__(self, entry: CachedObject[Any]) -> Iterable[Request]:
        pods = await controlled(self._cache, POD, entry.meta.uid, entry.meta.namespace)
        return [Request(each.meta.name, each.meta.namespace) for each in pods]


_ORPHAN = Predicate(lambda change: change.new is not None and _may_be_orphan(change.new), "may be an orphan")
_OVER = Predicate(lambda change: change.new is None or bool(end_of(change.new.object)), "deleted or ended")


async def start(host: ControllerHost) -> None:
    """Starts both controllers."""
    reconciler = JobReconciler(PodControl(host.recorder(COMPONENT)))
    await host.control(
        Controller(
            host.name,
            reconciler.reconcile,
            clock=host.clock,
            kind=JOB,
            watches=[Watch(POD, ByController(host.cache, JOB, selector_of))],
            concurrency=CONCURRENCY,
            limiter=lambda: Exponential(_FIRST_RETRY, _LAST_RETRY),
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
    await host.control(
        Controller(
            ORPHANS,
            free_orphan,
            clock=host.clock,
            kind=Watch(POD, predicates=(_ORPHAN,)),
            watches=[Watch(JOB, _PodsOf(host.cache), predicates=(_OVER,))],
            concurrency=CONCURRENCY,
            limiter=lambda: Exponential(_FIRST_RETRY, _LAST_RETRY),
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
