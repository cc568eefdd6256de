"""The controller of taint eviction: deletes pods that do not tolerate the NoExecute taints of their node.

A toleration with `tolerationSeconds` delays the deletion, which is cancelled if the taints are removed before.
"""

from typing import TYPE_CHECKING, Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.client.patches import strategic
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.pods.by_node import known_pods_on
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import POD
from setpoint.system.scheduler.plugins.taint_toleration import NO_EXECUTE, tolerations_of

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

NODE = "v1/Node"
COMPONENT = "taint-eviction-controller"
_TARGET = "DisruptionTarget"


class TaintEviction:
    """Reconciles pods on nodes with NoExecute taints."""

    def __init__(self, cache: Cache, recorder: "Recorder") -> None:
        self._cache = cache
        self._recorder = recorder
        # The start of the delay of each pod that will be deleted: its UID and the time.
        self._delays: dict[Request, tuple[str, float]] = {}

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Deletes a pod whose delay is over, begins a delay, or cancels one."""
        pod = await ctx.client.find(POD, request.name, request.namespace)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            self._delays.pop(request, None)
            return None
        uid, now = pod["metadata"]["uid"], ctx.clock.monotonic()
        node = await ctx.client.find(NODE, pod["spec"].get("nodeName") or "")
        seconds = None if node is None else tolerated_seconds(pod, execute_taints(node))
        known = self._delays.get(request)
        if known is not None and known[0] != uid:
            known = None
        if seconds is None:
            if self._delays.pop(request, None) is not None and known is not None:
                self._tell(request, f"Cancelling deletion of Pod {request.namespace}/{request.name}")
            return None
        start = now if known is None else known[1]
        self._delays[request] = uid, start
        if start + seconds > now:
            return Result(requeue_after=start + seconds - now)
        self._tell(request, f"Marking for deletion Pod {request.namespace}/{request.name}")
        await _delete(ctx, pod)
        self._delays.pop(request, None)
        return None

    def _tell(self, request: Request, text: str) -> None:
        # As in kube-controller-manager, the event names the pod without its UID.
        metadata = {"name": request.name, "namespace": request.namespace}
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        self._recorder.normal(about, "TaintManagerEviction", text)

    # Sources

    def by_node(self, entry: CachedObject[Any]) -> list[Request]:
        """Maps a node to its pods."""
        return [Request(each.meta.name, each.meta.namespace) for each in known_pods_on(self._cache, entry.meta.name)]

    def concerns(self, change: Change[Any]) -> bool:
        """Returns True for a new pod of a node with taints."""
        old, new = change.old, change.new
        if new is None:
            return Request(change.held.meta.name, change.held.meta.namespace) in self._delays
        name = facts_of(new).node
        node = self._cache.informer(NODE).store.get(name) if name else None
        if node is None or not execute_taints(node.object):
            return False
        return old is None or _matters(old.object) != _matters(new.object)


def _matters(pod: Object) -> tuple[Any, ...]:
    return pod["spec"].get("nodeName"), pod["spec"].get("tolerations")


def execute_taints(node: Object) -> list[Object]:
    """Returns the taints of a node by which pods are evicted."""
    return [each for each in node["spec"].get("taints") or () if each["effect"] == NO_EXECUTE]


def tolerated_seconds(pod: Object, taints: list[Object]) -> float | None:
    """Returns the seconds for which a pod may stay with these taints; None for no limit."""
    used = [tolerations_of(pod, taint) for taint in taints]
    if not all(used):
        return 0.0 if taints else None
    limits = [
        each["tolerationSeconds"] for found in used for each in found[:1] if each.get("tolerationSeconds") is not None
    ]
    return max(float(min(limits)), 0.0) if limits else None


def _taints_changed(change: Change[Any]) -> bool:
    before = [] if change.old is None else execute_taints(change.old.object)
    return change.new is not None and before != execute_taints(change.new.object)


async def _delete(ctx: Context[Any], pod: Object) -> None:
    metadata = pod["metadata"]
    condition = {
        "type": _TARGET,
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": format_time(ctx.clock.now()),
        "observedGeneration": metadata.get("generation", 1),
    }
    patch = strategic({"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [condition]}})
    try:
        await ctx.api.patch_status(POD, patch, metadata["name"], metadata["namespace"])
        await ctx.api.delete(POD, metadata["name"], metadata["namespace"], uid=metadata["uid"])
    except NotFound:
        return
    except Conflict as error:
        # A pod with the same name but another UID is a later one.
        if (await ctx.client.find(POD, metadata["name"], metadata["namespace"])) is not None:
            raise error


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    eviction = TaintEviction(host.cache, host.recorder(COMPONENT))
    for kind in (NODE, POD):
        await host.cache.acquire(kind).wait_synced()
    await host.control(
        Controller(
            host.name,
            eviction.reconcile,
            clock=host.clock,
            kind=Watch(POD, predicates=(Predicate(eviction.concerns, "is on a tainted node"),)),
            watches=[Watch(NODE, eviction.by_node, predicates=(Predicate(_taints_changed, "has other taints"),))],
            own_status_triggers=False,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
