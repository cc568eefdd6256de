"""The controller of DaemonSets."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.client.kinds import kind_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.system.controlled_objects import AdoptionFailed, ByController, Claims, candidates
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.daemonset.history import DAEMON_SET, REVISION, History, hash_of
from setpoint.system.daemonset.placement import Placement, pod_for, target_of
from setpoint.system.daemonset.plan import ROLLING, Plan, View, placed, updated
from setpoint.system.daemonset.status import new_status
from setpoint.system.pods.availability import next_availability
from setpoint.system.pods.control import PodControl, PodFailure, in_batches
from setpoint.system.pods.state import ENDED, FAILED, POD, phase_of
from setpoint.system.selectors import selector_of
from setpoint.system.turns import PER_TURN, in_turns

COMPONENT = "daemonset-controller"
NODE = "v1/Node"
CONCURRENCY = 2
# The most pods that one step creates or deletes.
BURST = 250
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 900.0


class FailedPodDelays:
    """The delays before the deletion of failed pods: a kubelet may refuse each new pod."""

    def __init__(self) -> None:
        self._delays: dict[tuple[str, int, str], tuple[float, datetime]] = {}

    def left(self, key: tuple[str, int, str], now: datetime) -> float:
        """Returns the seconds until a failed pod may be deleted; 0 if at once, which begins the next delay."""
        delay, since = self._delays.get(key, (0.0, now))
        passed = (now - since).total_seconds()
        if passed < delay:
            return delay - passed
        if passed > 2 * _LONGEST_DELAY:
            delay = 0.0
        # The oldest delays come first.
        self._delays.pop(key, None)
        self._delays[key] = min(2 * delay or _FIRST_DELAY, _LONGEST_DELAY), now
        return 0.0

    def forget(self, now: datetime) -> None:
        """Forgets old delays: at most 256, the others the next time."""
        limit = timedelta(seconds=2 * _LONGEST_DELAY)
        for key, (_, since) in list(islice(self._delays.items(), PER_TURN)):
            if now - since <= limit:
                return
            del self._delays[key]


class DaemonSetReconciler:
    """Reconciles daemon sets."""

    def __init__(self, pods: PodControl) -> None:
        self._pods = pods
        self._delays = FailedPodDelays()

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Takes the next step towards one current pod on each selected node. Raises Requeue after a failure."""
        try:
            found: Object = await ctx.client.get(DAEMON_SET, request.name, request.namespace)
        except NotFound:
            return None
        selector = selector_of(found)
        if selector.is_everything:
            text = "This daemon set is selecting all pods. A non-empty selector is required."
            self._pods.recorder.warning(found, "SelectingAll", text)
            return None
        if found["metadata"].get("deletionTimestamp"):
            return None
        try:
            pods = await Claims(ctx, found, selector, POD).claim(await candidates(ctx, POD, found))
            known = await Claims(ctx, found, selector, REVISION).claim(await candidates(ctx, REVISION, found))
        except AdoptionFailed as error:
            raise Requeue(None, str(error)) from None
        history = History(ctx, found, known)
        revision = hash_of(await history.current(pods))
        view = await _view(ctx, found, pods, revision)
        wait, failure = await self._step(ctx, view)
        if failure is None:
            await history.truncate(pods)
        status = await new_status(view)
        if status is not None:
            await ctx.client.update({**found, "status": status}, subresource="status")
        if failure is not None:
            raise Requeue(None, str(failure))
        waits = [await next_availability(ctx, pods, found["spec"].get("minReadySeconds") or 0), wait]
        due = min((each for each in waits if each is not None), default=None)
        return None if due is None else Result(requeue_after=due)

    async def _step(self, ctx: Context[Any], view: View) -> tuple[float | None, PodFailure | None]:
        """Creates and deletes pods. Returns the seconds until a failed pod may be deleted, and the failure."""
        waits: list[float] = []
        self._delays.forget(view.now)
        plan = await placed(view, lambda pod, node: self._removes(view, pod, node, waits))
        strategy = (view.daemon_set["spec"].get("updateStrategy") or {}).get("type")
        if not plan.create and not plan.delete and strategy == ROLLING:
            plan = await updated(view)
        failure = None
        try:
            await self._carry_out(ctx, view, plan)
        except PodFailure as error:
            failure = error
        return min(waits, default=None), failure

    def _removes(self, view: View, pod: Object, node: str, waits: list[float]) -> bool:
        """Returns True for a pod that has ended and is deleted now; else adds the seconds to wait."""
        metadata, owner = pod["metadata"], view.daemon_set["metadata"]
        where = f"{metadata['namespace']}/{metadata['name']} on node {node}"
        if phase_of(pod) != FAILED:
            text = f"Found succeeded daemon pod {where}, will try to delete it"
            self._pods.recorder.normal(view.daemon_set, "SucceededDaemonPod", text)
            return True
        observed = (view.daemon_set.get("status") or {}).get("observedGeneration", 0)
        left = self._delays.left((owner["uid"], observed, node), view.now)
        if left:
            waits.append(left)
            return False
        text = f"Found failed daemon pod {where}, will try to kill it"
        self._pods.recorder.warning(view.daemon_set, "FailedDaemonPod", text)
        return True

    async def _carry_out(self, ctx: Context[Any], view: View, plan: Plan) -> None:
        """Writes a plan. The deletions are tried after a failed creation too. Raises PodFailure."""
        nodes = iter(plan.create)

        async def create() -> None:
            await self._pods.create(ctx, view.daemon_set, pod_for(view.daemon_set, next(nodes), view.revision))

        try:
            await in_batches(ctx, min(len(plan.create), BURST), create)
        finally:
            await self._pods.delete_many(ctx, view.daemon_set, plan.delete[:BURST])


async def _view(ctx: Context[Any], found: Object, pods: Sequence[Object], revision: str) -> View:
    """Decides about all nodes, and assigns the pods to them, without those that have ended and are being deleted."""
    placement, nodes = Placement(found), {}
    async for entry in in_turns(ctx, (await ctx.client.cache.query(NODE)).entries()):
        nodes[entry.meta.name] = placement.decide(entry.object)
    by_node: dict[str, list[Object]] = {}
    async for pod in in_turns(ctx, pods):
        node = target_of(pod)
        is_over = phase_of(pod) in ENDED and pod["metadata"].get("deletionTimestamp")
        if node is not None and not is_over:
            by_node.setdefault(node, []).append(pod)
    return View(found, nodes, by_node, revision, ctx.clock.now(), ctx.clock)


class _ByNode:
    """Maps a node to all daemon sets."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._kind = kind_of(DAEMON_SET)

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        return [Request(each.meta.name, each.meta.namespace) for each in self._cache.informer(self._kind).store.all()]


def _changes_placement(change: Change[Any]) -> bool:
    if change.old is None or change.new is None:
        return True
    return _selected_by(change.old.object) != _selected_by(change.new.object)


def _selected_by(node: Object) -> tuple[Any, Any]:
    return node["metadata"].get("labels"), node["spec"].get("taints")


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            DaemonSetReconciler(PodControl(host.recorder(COMPONENT))).reconcile,
            clock=host.clock,
            kind=DAEMON_SET,
            watches=[
                Watch(POD, ByController(host.cache, DAEMON_SET, selector_of)),
                Watch(REVISION, ByController(host.cache, DAEMON_SET, selector_of)),
                Watch(NODE, _ByNode(host.cache), predicates=(Predicate(_changes_placement, "changes placement"),)),
            ],
            concurrency=CONCURRENCY,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
