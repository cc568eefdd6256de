"""Simulated nodes: the pods that are assigned to them pass through the phases of a kubelet, and end when deleted.

One controller serves all simulated nodes of a plane. No process runs; all times are those of the injected clock.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

from setpoint.client.client import Client
from setpoint.client.patches import merge, strategic
from setpoint.client.transport import TransportError
from setpoint.controller.context import Context
from setpoint.controller.request import Request, Result
from setpoint.objects.errors import AlreadyExists, APIError, Conflict, NotFound
from setpoint.objects.times import format_micro_time, parse_time
from setpoint.objects.tree import Object
from setpoint.system.node_scripts import ContainerRun
from setpoint.system.node_setting import NODE_FAILURE, NodeSetting
from setpoint.system.nodelifecycle.node_health import NOT_READY, UNKNOWN, ready_status
from setpoint.system.nodes.container_status import reported
from setpoint.system.nodes.kubelet_events import KubeletEvent, status_events, stop_events
from setpoint.system.nodes.node_objects import (
    LEASE,
    LEASE_NAMESPACE,
    NODE,
    lease,
    node,
    node_address,
    node_name,
    node_status,
    pod_network,
)
from setpoint.system.nodes.pod_life import Addresses, PodLife, behaviour_of
from setpoint.system.nodes.pod_memory import PodMemory, RunTimes
from setpoint.system.nodes.scripted_run import ScriptedRun
from setpoint.system.pods.state import ENDED, POD, phase_of

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder
    from setpoint.system.stages.stage_controllers import Stages

COMPONENT = FIELD_MANAGER = "kubelet"
RENEW_SECONDS = 10.0


class SimulatedNodes:
    """The nodes `node-0`, `node-1`, ... and the pods on them."""

    def __init__(self, client: Client, setting: NodeSetting, recorder: "Recorder") -> None:
        number = setting.number
        self._client = client
        self._scripts = setting.scripts
        self._recorder = recorder
        # The stages of KWOK; None without any.
        self.stages: Stages | None = None
        self._records_all = setting.events
        # The UIDs of the pods whose containers are being stopped, if all events are recorded.
        self._stopping: set[str] = set()
        # The memory of the pods that have not ended and have timers, by UID.
        self._memories: dict[str, PodMemory] = {}
        self._numbers = {node_name(each): each for each in range(number)}
        self._addresses = {name: PodAddresses(pod_network(each)) for name, each in self._numbers.items()}
        # The keys of the pods of each node that have not ended, by UID.
        self._pods: dict[str, dict[str, Request]] = {name: {} for name in self._numbers}
        # The nodes that have failed: they report no states, and their pods stay as they are.
        self._failed: set[str] = set()

    def has(self, name: str | None) -> bool:
        """Returns True if a node is one of the simulated ones."""
        return name in self._numbers

    def pods_on(self, name: str) -> Sequence[Request]:
        """Returns the names and namespaces of the pods of a node that have started and have not ended."""
        return tuple(self._pods[name].values())

    def run_of(self, pod: Object, container: str, reported: RunTimes) -> ScriptedRun:
        """Returns a run of a container with its behaviour and its exact times, as far as known."""
        memory = self._memories.get(pod["metadata"]["uid"])
        times = reported if memory is None else memory.times_of(container, reported)
        run = ContainerRun(pod, container, reported.run)
        return ScriptedRun(behaviour_of(self._scripts, run, is_init=False)[0], times)

    # The nodes

    async def register(self) -> None:
        """Creates the nodes that do not exist, marks all as ready, and creates their leases."""
        for name, number in self._numbers.items():
            try:
                found: Object = await self._client.create(node(number))
            except AlreadyExists:
                found = await self._client.get(NODE, name)
                if NODE_FAILURE in (found["metadata"].get("annotations") or {}):
                    self._failed.add(name)
                    continue
            status = node_status(number, self._client.clock.now())
            found = await self._client.patch_status(NODE, strategic({"status": status}), name)
            # New nodes have this taint until they are ready.
            taints = [each for each in found["spec"].get("taints") or () if each["key"] != NOT_READY]
            if len(taints) != len(found["spec"].get("taints") or ()):
                await self._client.patch(NODE, merge({"spec": {"taints": taints or None}}), name)
            await self._renew(name, found)

    async def keep_alive(self) -> None:
        """Renews the leases of all existing nodes until cancelled."""
        while True:
            await self._client.clock.sleep(RENEW_SECONDS)
            for name in self._numbers:
                if name in self._failed:
                    continue
                try:
                    await self._renew(name, None)
                except (APIError, TransportError):
                    continue  # the node was deleted, or the server is stopping: tried again at the next renewal

    async def reconcile_node(self, ctx: Context[Any], request: Request) -> Sequence[Request]:
        """Lets a node fail or recover by its annotation. Returns the pods that a recovered node has to examine."""
        node = await ctx.client.find(NODE, request.name)
        if node is None:
            return ()
        if NODE_FAILURE in (node["metadata"].get("annotations") or {}):
            self._failed.add(request.name)
            return ()
        has_recovered = request.name in self._failed
        self._failed.discard(request.name)
        if not has_recovered and ready_status(node) != UNKNOWN:
            return ()
        status = node_status(self._numbers[request.name], ctx.clock.now())
        await ctx.api.patch_status(NODE, strategic({"status": {"conditions": status["conditions"]}}), request.name)
        await self._renew(request.name, node)
        return self.pods_on(request.name)

    async def _renew(self, name: str, owner: Object | None) -> None:
        now = self._client.clock.now()
        patch = merge({"spec": {"renewTime": format_micro_time(now)}})
        try:
            await self._client.patch(LEASE, patch, name, LEASE_NAMESPACE)
        except NotFound:
            found = owner or await self._client.get(NODE, name)
            await self._client.create(lease(name, now, found))

    # The pods

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Takes the next step of a pod."""
        try:
            pod: Object = await ctx.client.get(POD, request.name, request.namespace)
        except NotFound:
            return None
        name = pod["spec"].get("nodeName")
        if not self.has(name) or name in self._failed:
            return None
        if self.stages is not None:
            turn = await self.stages.pods.turn(ctx.api, pod)
            # A deleted pod without a matching stage ends as usual.
            if turn.governs and not (turn.is_unmatched and pod["metadata"].get("deletionTimestamp")):
                return None if turn.wait is None else Result(requeue_after=turn.wait)
        wait = await (self.end(ctx, pod) if pod["metadata"].get("deletionTimestamp") else self.run(ctx, pod))
        return None if wait is None else Result(requeue_after=wait)

    async def run(self, ctx: Context[Any], pod: Object) -> float | None:
        """Takes the steps of a pod that are due, and returns the seconds until the next one."""
        if phase_of(pod) in ENDED:
            return None
        metadata, name = pod["metadata"], pod["spec"]["nodeName"]
        address = node_address(self._numbers[name])
        own = address if pod["spec"].get("hostNetwork") else self._addresses[name].take(metadata["uid"])
        self._pods[name][metadata["uid"]] = Request(metadata["name"], metadata["namespace"])
        memory = self._memories.get(metadata["uid"]) or PodMemory()
        step = PodLife(pod, self._scripts, memory, ctx.clock.now()).step(Addresses(address, own))
        if not memory.is_empty:
            self._memories[metadata["uid"]] = memory
        if _differs(step.status, pod.get("status") or {}):
            known = {"uid": metadata["uid"]}
            if self.stages is None:
                # With its version, the change is recognized as an own report, and triggers no second reconcile. A Stage
                # may match the new status.
                known["resourceVersion"] = metadata["resourceVersion"]
            patch = strategic({"metadata": known, "status": reported(step.status)})
            try:
                await ctx.api.patch_status(POD, patch, metadata["name"], metadata["namespace"])
            except (NotFound, Conflict):
                return None  # deleted, replaced or changed meanwhile: the change triggers a reconcile
        if self._records_all:
            self._record(pod, status_events(pod, step.status))
        place = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        for container in step.backing_off:
            text = f"Back-off restarting failed container {container} in pod {place}"
            self._recorder.warning(pod, "BackOff", text, action="Restarting")
        return step.wait

    async def end(self, ctx: Context[Any], pod: Object) -> float | None:
        """Ends a pod that is being deleted: its containers exit at once, or as scripted within the grace period."""
        metadata = pod["metadata"]
        name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
        life = PodLife(pod, self._scripts, PodMemory(), ctx.clock.now())
        if self._records_all and uid not in self._stopping:
            self._stopping.add(uid)
            self._record(pod, stop_events(pod))
        if phase_of(pod) not in ENDED:
            grace = metadata.get("deletionGracePeriodSeconds") or 0
            requested = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=grace)
            due = requested + timedelta(seconds=min(life.stop_seconds(), grace))
            if due > ctx.clock.now():
                return (due - ctx.clock.now()).total_seconds()
        try:
            if metadata.get("finalizers") and phase_of(pod) not in ENDED:
                # The owner of a finalizer waits for the phase of a pod that has ended.
                patch = strategic({"metadata": {"uid": uid}, "status": life.stop()})
                await ctx.api.patch_status(POD, patch, name, namespace)
            await ctx.api.delete(POD, name, namespace, grace_period=0, uid=uid)
        except (NotFound, Conflict):
            return None
        return None

    # The addresses for the templates of stages: `stages.stage_templates.Addresses`.

    def node_address(self, name: str) -> str:
        """Returns the address of a node; empty if unknown."""
        return node_address(self._numbers[name]) if self.has(name) else ""

    def pod_address(self, pod: Object) -> str:
        """Returns the address of a pod on its node."""
        name = pod["spec"]["nodeName"]
        return self._addresses[name].take(pod["metadata"]["uid"]) if self.has(name) else ""

    def _record(self, pod: Object, events: Iterable[KubeletEvent]) -> None:
        for each in events:
            record = self._recorder.normal if each.is_normal else self._recorder.warning
            record(pod, each.reason, each.note, field_path=each.field_path)

    def keep_address(self, pod: Object) -> None:
        """Records the address of a pod that an earlier process of the nodes has started."""
        name, address = pod["spec"].get("nodeName"), (pod.get("status") or {}).get("podIP")
        if address and self.has(name) and not pod["spec"].get("hostNetwork"):
            self._addresses[name].keep(pod["metadata"]["uid"], address)

    def observe(self, uid: str, name: str, *, is_deleted: bool) -> None:
        """Frees the resources of a pod of a node that was deleted or has ended. The times of scripted runs are kept
        until the deletion, for their logs."""
        if is_deleted:
            self._stopping.discard(uid)
        if is_deleted or not self._scripts:
            self._memories.pop(uid, None)
        if self.has(name):
            self._addresses[name].free(uid)
            self._pods[name].pop(uid, None)


class PodAddresses:
    """The addresses of the pods of one node."""

    def __init__(self, network: IPv4Network) -> None:
        self._network = network
        # The places of the pods in the network by UID, and the UIDs by place.
        self._taken: dict[str, int] = {}
        self._owners: dict[int, str] = {}
        self._free: list[int] = []
        # The next place that was never used; 0 is the network itself, and 1 its gateway.
        self._next = 2

    def keep(self, uid: str, address: str) -> None:
        """Records the address that a pod has from an earlier process, unless the address is another pod's or of another
        network: a Stage can write any address."""
        try:
            known = IPv4Address(address)
        except ValueError:
            return
        place = int(known) - int(self._network.network_address)
        if known in self._network and uid not in self._taken and place not in self._owners:
            self._set(uid, place)

    def take(self, uid: str) -> str:
        """Returns the address of a pod. A node with more pods than addresses begins again with the first ones."""
        place = self._taken.get(uid)
        if place is None:
            place = self._unused()
            self._set(uid, place)
        return str(self._network[place % self._network.num_addresses])

    def _unused(self) -> int:
        while self._free:
            place = self._free.pop()
            if place not in self._owners:
                return place
        while self._next in self._owners:
            self._next += 1
        return self._next

    def _set(self, uid: str, place: int) -> None:
        self._taken[uid], self._owners[place] = place, uid

    def free(self, uid: str) -> None:
        """Makes the address of a pod free again."""
        place = self._taken.pop(uid, None)
        if place is not None:
            del self._owners[place]
            self._free.append(place)


def _differs(status: Object, known: Object) -> bool:
    """Returns True if a status has another value than the stored one. Fields of others do not count."""
    stored = {each["type"]: each for each in known.get("conditions") or ()}
    if any(not _holds(each, stored.get(each["type"]) or {}) for each in status["conditions"]):
        return True
    return any(name != "conditions" and known.get(name) != value for name, value in status.items())


def _holds(wanted: Object, stored: Object) -> bool:
    return all(stored.get(name) == value for name, value in wanted.items())
