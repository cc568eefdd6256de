"""The controller of the lifecycle of nodes.

A node that has not renewed its lease or its status for 40 seconds is unknown: its pods are marked as not ready, and the
node gets taints, by which its pods are evicted later. Each node has one timer; renewals only move its end.
"""

from typing import TYPE_CHECKING, Any

from setpoint.cache.informer import Change
from setpoint.client.client import Client
from setpoint.client.patches import merge, strategic
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Result, Trigger
from setpoint.objects.clock import Clock
from setpoint.objects.errors import NotFound
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.nodelifecycle.node_health import (
    TRUE,
    UNKNOWN,
    Zones,
    has_execute_taint,
    ready_status,
    unknown_conditions,
    wanted_labels,
    wanted_taints,
    zone_of,
)
from setpoint.system.nodes.node_objects import LEASE, LEASE_NAMESPACE, NODE
from setpoint.system.pods.by_node import pods_on
from setpoint.system.pods.state import POD, condition_of, is_ready
from setpoint.system.turns import in_turns

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

COMPONENT = "node-controller"
# The seconds without a sign of life after which a node is unknown; a node that never reported has longer.
GRACE_SECONDS, START_SECONDS = 40.0, 60.0


class NodeLifecycle:
    """Reconciles nodes. `client` reads leases from the server before a node is given up."""

    def __init__(self, client: Client, clock: Clock, recorder: "Recorder") -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        # The time of the last sign of life, and the last renewal, by node.
        self._seen: dict[str, float] = {}
        self._renewals: dict[str, str] = {}
        self._heartbeats: dict[str, str] = {}
        self._zones = Zones()
        self.controller: Controller | None = None

    # Signs of life

    def lease_changed(self, change: Change[Any]) -> None:
        """Follows the lease of a node."""
        if change.new is not None:
            self._renewed(change.new.meta.name, change.new.object["spec"].get("renewTime") or "")

    def _renewed(self, name: str, moment: str) -> bool:
        if self._renewals.get(name, "") >= moment:
            return False
        self._renewals[name] = moment
        self._seen[name] = self._clock.monotonic()
        return True

    def _last_sign(self, node: Object) -> float:
        """Returns the time of the last sign of life; a new heartbeat in the status is one."""
        name = node["metadata"]["name"]
        beats = [each.get("lastHeartbeatTime") or "" for each in (node.get("status") or {}).get("conditions") or ()]
        beat = max(beats, default="")
        if name not in self._seen or beat > self._heartbeats.get(name, ""):
            self._seen[name] = self._clock.monotonic()
            self._heartbeats[name] = beat
        return self._seen[name]

    # Reconciling

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Brings the conditions, the taints and the pods of a node up to date."""
        name = request.name
        try:
            node: Object = await ctx.client.get(NODE, name)
        except NotFound:
            for known in (self._seen, self._renewals, self._heartbeats):
                known.pop(name, None)
            self._zones.remove(name)
            return None
        wait = await self._wait(node)
        if wait <= 0 and ready_status(node) != UNKNOWN:
            node = await self._give_up(ctx, node)
        status = ready_status(node)
        if self._zones.set(name, zone_of(node), bool(status) and status != TRUE):
            await self._enqueue_failed(ctx, name)
        eviction = await self._taint(ctx, node)
        if status == UNKNOWN:
            await self._mark_pods(ctx, name)
        waits = [each for each in (wait if wait > 0 else None, eviction) if each is not None]
        return Result(requeue_after=min(waits)) if waits else None

    async def _wait(self, node: Object) -> float:
        """Returns the seconds until a node is unknown without a further sign of life."""
        seconds = GRACE_SECONDS if ready_status(node) else START_SECONDS
        wait = self._last_sign(node) + seconds - self._clock.monotonic()
        if wait <= 0:
            name = node["metadata"]["name"]
            try:
                lease: Object = await self._client.get(LEASE, name, LEASE_NAMESPACE)
            except NotFound:
                return wait
            if self._renewed(name, lease["spec"].get("renewTime") or ""):
                return seconds
        return wait

    async def _give_up(self, ctx: Context[Any], node: Object) -> Object:
        """Marks a node as unknown."""
        before, status = ready_status(node), {**(node.get("status") or {})}
        status["conditions"] = unknown_conditions(node, ctx.clock.now())
        changed: Object = await ctx.client.update({**node, "status": status}, subresource="status")
        if before == TRUE:
            name = node["metadata"]["name"]
            self._recorder.normal(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        return changed

    async def _taint(self, ctx: Context[Any], node: Object) -> float | None:
        """Writes taints and labels. Returns the seconds until the eviction of pods may begin."""
        evicts: bool | None = None
        wait: float | None = None
        if ready_status(node) not in (TRUE, ""):
            if self._zones.is_all_failed:
                evicts = False
            elif has_execute_taint(node):
                evicts = True
            else:
                wait = self._zones.wait(zone_of(node), self._clock.monotonic())
                evicts = True if wait == 0 else None
                wait = wait or None
        taints, labels = wanted_taints(node, evicts=evicts, now=ctx.clock.now()), wanted_labels(node)
        metadata = node["metadata"]
        patch: Object = {"metadata": {"resourceVersion": metadata["resourceVersion"]}}
        if labels:
            patch["metadata"]["labels"] = labels
        if taints is not None:
            patch["spec"] = {"taints": taints or None}
        if labels or taints is not None:
            await ctx.api.patch(NODE, merge(patch), metadata["name"])
        return wait

    async def _mark_pods(self, ctx: Context[Any], name: str) -> None:
        """Marks the pods of a node as not ready."""
        entries = await pods_on(ctx.client.cache, name)
        async for entry in in_turns(ctx, entries):
            pod = entry.object
            ready = condition_of(pod, "Ready")
            if ready is None or not is_ready(pod):
                continue
            found = {**ready, "status": "False", "lastTransitionTime": format_time(ctx.clock.now())}
            metadata = pod["metadata"]
            patch = strategic({"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [found]}})
            try:
                await ctx.api.patch_status(POD, patch, metadata["name"], metadata["namespace"])
            except NotFound:
                continue
            self._recorder.warning(pod, "NodeNotReady", "Node is not ready")

    async def _enqueue_failed(self, ctx: Context[Any], name: str) -> None:
        """Examines the other failed nodes again: evictions depend on the number of failed nodes."""
        assert self.controller is not None
        async for each in in_turns(ctx, self._zones.failed()):
            if each != name:
                self.controller.enqueue(Request(each), Trigger("requested", f"the state of node {name}"))


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    lifecycle = NodeLifecycle(host.client, host.clock, host.recorder(COMPONENT))
    leases = host.cache.acquire(LEASE, LEASE_NAMESPACE)
    pods = host.cache.acquire(POD)
    await leases.wait_synced()
    await pods.wait_synced()
    leases.add_handler(lifecycle.lease_changed)
    lifecycle.controller = Controller(
        host.name,
        lifecycle.reconcile,
        clock=host.clock,
        kind=NODE,
        field_manager=FIELD_MANAGER,
        keep_runs=64,
    )
    await host.control(lifecycle.controller)
