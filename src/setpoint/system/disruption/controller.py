"""The controller of disruption budgets, and the one that clears the mark of evictions that did not happen."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.client.kinds import kind_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch, for_none
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.disruption.scales import (
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    ScaleUnknown,
    expected_scale,
)
from setpoint.system.disruption.status import (
    DELETION_SECONDS,
    Numbers,
    Tally,
    failed_status,
    new_status,
    share_of,
)
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.selection import selected_pods
from setpoint.system.pods.state import ENDED, POD, condition_of, phase_of
from setpoint.system.selectors import selector_of, selector_text
from setpoint.system.turns import in_turns

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

BUDGET = "policy/v1/PodDisruptionBudget"
COMPONENT = "controllermanager"
TARGET = "DisruptionTarget"
CONCURRENCY = 5
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result, the "
    "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these "
    'pods please set ".spec.minAvailable" field of the PDB to an integer value.'
)


class DisruptionReconciler:
    """Reconciles disruption budgets."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Writes the status of a budget."""
        try:
            budget: Object = await ctx.client.get(BUDGET, request.name, request.namespace)
        except NotFound:
            return None
        pods = await selected_pods(ctx, budget)
        if not pods:
            self._recorder.normal(budget, "NoPods", "No matching pods found")
        now = ctx.clock.now()
        try:
            expected, desired = await self._expected(ctx, budget, pods)
        except ScaleUnknown as error:
            text = f"Failed to calculate the number of expected pods: {error}"
            self._recorder.warning(budget, "CalculateExpectedPodCountFailed", text)
            await _write(ctx, budget, failed_status(budget, str(error), ctx.clock))
            return None
        tally = Tally(budget, now)
        async for pod in in_turns(ctx, pods):
            tally.add(pod)
        for pod in tally.overdue:
            # The namespace twice, as in kube-controller-manager.
            namespace = request.namespace
            text = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            self._recorder.warning(pod, "NotDeleted", text)
        numbers = Numbers(tally.healthy, desired, expected)
        await _write(ctx, budget, new_status(budget, numbers, tally.disrupted, ctx.clock))
        if tally.recheck is None:
            return None
        # One more second, because the recorded times have no fractions.
        return Result(requeue_after=max((tally.recheck - now).total_seconds(), 0.0) + 1.0)

    async def _expected(self, ctx: Context[Any], budget: Object, pods: list[Object]) -> tuple[int, int]:
        """Returns the number of expected pods, and of those that must be healthy. Raises ScaleUnknown."""
        spec = budget["spec"]
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if most is None and not isinstance(least, str):
            return (len(pods), least) if least is not None else (0, 0)
        expected, unmanaged = await expected_scale(ctx, pods)
        if unmanaged:
            text = _UNMANAGED.format(selector=selector_text(spec.get("selector") or {}))
            self._recorder.warning(budget, "UnmanagedPods", text)
        if most is not None:
            return expected, max(expected - share_of(most, expected), 0)
        return expected, share_of(str(least), expected)


async def _write(ctx: Context[Any], budget: Object, status: Object | None) -> None:
    if status is not None:
        await ctx.client.update({**budget, "status": status}, subresource="status")


class _ByPod:
    """Maps a pod to the budgets that select the pod."""

    def __init__(self, cache: Cache, recorder: "Recorder") -> None:
        self._cache = cache
        self._recorder = recorder
        self._budget = kind_of(BUDGET)

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        namespace, labels = entry.meta.namespace, entry.meta.labels
        budgets = self._cache.informer(self._budget).store.in_namespace(namespace)
        names = sorted(each.meta.name for each in budgets if selector_of(each.object).matches(labels))
        if len(names) > 1:
            text = (
                f'Pod "{namespace}"/"{entry.meta.name}" matches multiple PodDisruptionBudgets.  '
                f'Chose "{names[0]}" arbitrarily.'
            )
            self._recorder.warning(entry.object, "MultiplePodDisruptionBudgets", text)
        return [Request(name, namespace) for name in names]


def _counted(pod: CachedObject[Any]) -> tuple[Any, ...]:
    """Returns the fields of a pod that the status of a budget depends on."""
    meta = pod.meta
    return meta.labels, meta.deletion_timestamp, meta.owner_references, facts_of(pod).is_ready


def _changes_counts(change: Change[Any]) -> bool:
    if change.old is None or change.new is None:
        return True
    return _counted(change.old) != _counted(change.new)


def _stale_since(pod: Object) -> Object | None:
    """Returns the mark of an eviction on a pod that is not being deleted; None without one. The kubelet may take any
    time between its mark and the deletion."""
    found = condition_of(pod, TARGET)
    if pod["metadata"].get("deletionTimestamp") or phase_of(pod) in ENDED or found is None:
        return None
    return found if found["status"] == "True" and found.get("reason") != "TerminationByKubelet" else None


async def clear_stale_mark(ctx: Context[Any], request: Request) -> Result | None:
    """Clears the mark of an eviction from a pod that was not deleted within two minutes."""
    pod = await ctx.client.find(POD, request.name, request.namespace)
    mark = _stale_since(pod) if pod is not None else None
    if pod is None or mark is None:
        return None
    now = ctx.clock.now()
    due = parse_time(mark["lastTransitionTime"]) + timedelta(seconds=DELETION_SECONDS)
    if due > now:
        return Result(requeue_after=(due - now).total_seconds())
    status: Object = thaw(pod["status"])
    cleared = {"type": TARGET, "status": "False", "lastProbeTime": None, "lastTransitionTime": format_time(now)}
    status["conditions"] = [cleared if each["type"] == TARGET else each for each in status["conditions"]]
    await ctx.client.update({**pod, "status": status}, subresource="status")
    return None


def _is_marked(change: Change[Any]) -> bool:
    return (
        change.new is not None
        and facts_of(change.new).disruption is not None
        and _stale_since(change.new.object) is not None
    )


async def start(host: ControllerHost) -> None:
    """Starts both controllers."""
    recorder = host.recorder(COMPONENT)
    owners = (REPLICA_SET, DEPLOYMENT, STATEFUL_SET, REPLICATION_CONTROLLER)
    await host.control(
        Controller(
            host.name,
            DisruptionReconciler(recorder).reconcile,
            clock=host.clock,
            kind=BUDGET,
            watches=[
                Watch(POD, _ByPod(host.cache, recorder), predicates=(Predicate(_changes_counts, "changes counts"),)),
                *(Watch(kind, for_none) for kind in owners),
            ],
            concurrency=CONCURRENCY,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
    await host.control(
        Controller(
            f"{host.name}-stale-marks",
            clear_stale_mark,
            clock=host.clock,
            kind=POD,
            predicates=(Predicate(_is_marked, "is marked"),),
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
