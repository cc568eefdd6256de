"""The controller of the scheduler: assigns each waiting pod to a node, and reports pods without a suitable node.

Pods of higher priority come first. A pod that fits no node may preempt others. The pod is tried again after a change
of nodes, assigned pods or storage, with a pause that grows from one to ten seconds. A pod with claims that wait for
their first pod is assigned when the claims are bound.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from setpoint.cache.cache import Cache
from setpoint.cache.change import Change
from setpoint.cache.entry import CachedObject
from setpoint.client.patches import strategic
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Requeue, Result, Trigger
from setpoint.controller.watch import Watch
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost
from setpoint.system.persistentvolume.pods_by_claim import known_pods_using
from setpoint.system.persistentvolume.storage_state import CLAIM, CLASS, VOLUME, claims_of_pod
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import ENDED as _ENDED
from setpoint.system.pods.state import POD, condition_of, phase_of
from setpoint.system.scheduler.cluster_objects import CACHED, SERVICE, CachedObjects
from setpoint.system.scheduler.cluster_state import ClusterState, priority_of
from setpoint.system.scheduler.framework import Nomination, Unschedulable
from setpoint.system.scheduler.pod_volumes import Placement
from setpoint.system.scheduler.preemption import PREEMPTED, TARGET
from setpoint.system.scheduler.scheduler import Scheduler, default_profile
from setpoint.system.scheduler.volume_reservations import Reservation, VolumeReservations, VolumesFailed
from setpoint.system.turns import PER_TURN

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

NODE = "v1/Node"
COMPONENT = FIELD_MANAGER = "default-scheduler"
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 10.0


def is_waiting(pod: Object) -> bool:
    """Returns True for a pod that this scheduler has to assign."""
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName", COMPONENT) == COMPONENT
        and not pod["metadata"].get("deletionTimestamp")
        and phase_of(pod) not in _ENDED
    )


def _waits(entry: CachedObject[Any]) -> bool:
    """Returns True for a pod in the cache that this scheduler has to assign."""
    facts = facts_of(entry)
    return (
        not facts.node
        and not facts.has_gates
        and facts.scheduler in ("", COMPONENT)
        and not entry.meta.deletion_timestamp
        and not facts.has_ended
    )


_WAITING = Predicate(lambda change: change.new is not None and _waits(change.new), "waits for a node")


class _PriorityController(Controller):
    """Queues pods by their priority."""

    def enqueue(self, request: Request, trigger: Trigger | None = None, priority: int = 0) -> None:
        entry = self.entry_of(request)
        super().enqueue(request, trigger, priority if entry is None else facts_of(entry).priority)


class SchedulerController:
    """Assigns pods."""

    def __init__(self, scheduler: Scheduler, recorder: "Recorder", cache: Cache) -> None:
        self._cache = cache
        self._scheduler = scheduler
        self._recorder = recorder
        # The attempts and the time of the last one of each pod that fits no node.
        self._failures: dict[Request, tuple[int, float]] = {}
        # The deleted victims of each pod: until the cache shows their end, the pod is not tried again.
        self._victims: dict[Request, list[str]] = {}
        # The pods whose assignment has an unknown outcome, because the response was lost or an error.
        self._uncertain: set[Request] = set()
        # The pods without claims that wait for a change, in the order of their failures; and those to try again.
        self._unschedulable: dict[Request, None] = {}
        self._retried: deque[Request] = deque()
        self._is_retrying = False
        # The pods with claims that wait for a change of the cluster.
        self._claimants: dict[Request, None] = {}
        # The pods that wait for their claims on their node.
        self._reservations = VolumeReservations(scheduler.cluster)
        self.controller = _PriorityController(
            COMPONENT,
            self.reconcile,
            kind=Watch(POD, predicates=(_WAITING,)),
            # A change of a claim triggers the pods that wait for the claim on their node.
            reads=[CLAIM, VOLUME],
            own_status_triggers=False,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Tries to assign a pod."""
        self._unschedulable.pop(request, None)
        self._claimants.pop(request, None)
        cluster = self._scheduler.cluster
        try:
            pod: Object = await ctx.client.get(POD, request.name, request.namespace)
        except NotFound:
            self._failures.pop(request, None)
            self._victims.pop(request, None)
            self._uncertain.discard(request)
            return None
        if request in self._uncertain and not await self._is_free(ctx, request, pod):
            return None
        reservation = self._reservations.of(request)
        if reservation is not None and reservation.uid == pod["metadata"]["uid"] and is_waiting(pod):
            return await self._complete(ctx, request, pod, reservation)
        if not is_waiting(pod) or cluster.is_assigned(pod["metadata"]["uid"]):
            self._failures.pop(request, None)
            return None
        if any(cluster.is_running(uid) for uid in self._victims.get(request, ())):
            self._wait(request, pod)
            return None
        self._victims.pop(request, None)
        try:
            placement = await self._scheduler.place(pod, ctx.clock.now())
        except Unschedulable as reason:
            await self._fail(ctx, request, pod, reason)
            return None
        cluster.assign(pod, placement.node)
        try:
            await _announce(ctx, pod, placement)
            has_claims = await self._reservations.reserve(ctx, request, pod, placement)
        except BaseException:
            cluster.remove(pod["metadata"]["uid"])
            raise
        reservation = self._reservations.of(request) if has_claims else None
        if reservation is not None:
            return await self._complete(ctx, request, pod, reservation)
        await self._bind(ctx, request, pod, placement.node)
        return None

    async def _complete(
        self, ctx: Context[Any], request: Request, pod: Object, reservation: Reservation
    ) -> Result | None:
        """Assigns a pod to its node when its claims are bound. Changes of the claims trigger the pod again."""
        try:
            if not await self._reservations.are_bound(ctx, request, reservation):
                return Result(requeue_after=max(reservation.deadline - ctx.clock.monotonic(), 1.0))
        except VolumesFailed as error:
            self._reservations.forget(request)
            self._scheduler.cluster.remove(reservation.uid)
            text = f'running PreBind plugin "VolumeBinding": binding volumes: {error}'
            self._recorder.warning(pod, "FailedScheduling", text, action="Scheduling")
            await self._report(ctx, pod, text, "", "SchedulerError")
            raise Requeue(_FIRST_PAUSE, text) from None
        self._reservations.forget(request)
        await self._bind(ctx, request, pod, reservation.node)
        return None

    async def _bind(self, ctx: Context[Any], request: Request, pod: Object, node: str) -> None:
        """Assigns a pod to its node."""
        try:
            await ctx.api.bind(request.name, request.namespace, node=node)
        except NotFound:  # deleted meanwhile
            self._scheduler.cluster.remove(pod["metadata"]["uid"])
            return
        except Conflict:  # being deleted, or assigned meanwhile
            await self._is_free(ctx, request, pod)
            return
        except BaseException:
            # The server may have assigned the pod: its room stays taken until a read shows the outcome.
            self._uncertain.add(request)
            raise
        self._failures.pop(request, None)
        text = f"Successfully assigned {request.namespace}/{request.name} to {node}"
        self._recorder.normal(pod, "Scheduled", text, action="Binding")

    async def _is_free(self, ctx: Context[Any], request: Request, pod: Object) -> bool:
        """Reads a pod after an assignment with an unknown outcome. Returns True if the pod has no node, and then frees
        its room. Raises an error of the read, after which the next reconcile reads the pod again."""
        self._uncertain.add(request)
        try:
            found: Object | None = await ctx.api.get(POD, request.name, request.namespace)
        except NotFound:
            found = None
        self._uncertain.discard(request)
        uid = pod["metadata"]["uid"]
        if found is None or found["metadata"]["uid"] != uid or found["spec"].get("nodeName"):
            return False  # the cache will show it
        self._scheduler.cluster.remove(uid)
        return True

    async def _fail(self, ctx: Context[Any], request: Request, pod: Object, reason: Unschedulable) -> None:
        """Ends the victims of preemption, reports the failure, and waits for a change of the cluster."""
        attempts, _ = self._failures.get(request, (0, 0.0))
        self._failures[request] = attempts + 1, ctx.clock.monotonic()
        self._wait(request, pod)
        nomination, before = reason.nomination, (pod.get("status") or {}).get("nominatedNodeName", "")
        node = before if nomination is None else nomination.node
        self._scheduler.cluster.nominate(pod, node)
        self._recorder.warning(pod, "FailedScheduling", str(reason), action="Scheduling")
        await self._report(ctx, pod, str(reason), node)
        if nomination is not None and nomination.victims:
            await self._preempt(ctx, request, pod, nomination)

    def _wait(self, request: Request, pod: Object) -> None:
        """Lets a pod wait for a change of the cluster."""
        has_claims = next(claims_of_pod(pod), None) is not None
        (self._claimants if has_claims else self._unschedulable)[request] = None

    async def _report(
        self, ctx: Context[Any], pod: Object, text: str, node: str, reason: str = "Unschedulable"
    ) -> None:
        """Writes the condition PodScheduled and the nominated node."""
        status: Object = {}
        known = condition_of(pod, "PodScheduled")
        wanted = {"type": "PodScheduled", "status": "False", "reason": reason, "message": text}
        if known is None or any(known.get(name) != value for name, value in wanted.items()):
            is_same = known is not None and known["status"] == "False"
            moment = known["lastTransitionTime"] if known and is_same else format_time(ctx.clock.now())
            generation = pod["metadata"].get("generation", 1)
            found = {**wanted, "lastProbeTime": None, "lastTransitionTime": moment, "observedGeneration": generation}
            status["conditions"] = [found]
        if node != (pod.get("status") or {}).get("nominatedNodeName", ""):
            status["nominatedNodeName"] = node or None
        if status:
            await _patch_status(ctx, pod, status)

    async def _preempt(self, ctx: Context[Any], request: Request, pod: Object, nomination: Nomination) -> None:
        """Deletes the victims, and ends the nominations of less important pods for the node."""
        for other in self._scheduler.cluster.nominated_to(nomination.node):
            if other.priority < priority_of(pod):
                self._scheduler.cluster.withdraw(other.uid)
                await _patch_status(ctx, other.reference, {"nominatedNodeName": None})
        for victim in nomination.victims:
            metadata = victim["metadata"]
            if metadata.get("deletionTimestamp"):
                continue
            condition = {
                "type": TARGET,
                "status": "True",
                "reason": PREEMPTED,
                "message": f"{COMPONENT}: preempting to accommodate a higher priority pod",
                "lastTransitionTime": format_time(ctx.clock.now()),
                "observedGeneration": metadata.get("generation", 1),
            }
            if not await _patch_status(ctx, victim, {"conditions": [condition]}):
                continue
            try:
                await ctx.api.delete(POD, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            except (NotFound, Conflict):
                continue
            self._victims.setdefault(request, []).append(metadata["uid"])
            text = f"Preempted by pod {pod['metadata']['uid']} on node {nomination.node}"
            self._recorder.normal(victim, "Preempted", text, action="Preempting", related=pod)

    # Changes of the cluster

    def node_changed(self, change: Change[Any]) -> None:
        """Follows a node."""
        new = change.new
        self._scheduler.cluster.set_node(change.held.meta.name, None if new is None else new.object)
        if new is not None:
            self._retry()

    def pod_changed(self, change: Change[Any]) -> None:
        """Follows an assigned pod."""
        cluster, new = self._scheduler.cluster, change.new
        if change.old is not None and (new is None or new.meta.uid != change.old.meta.uid):
            uid = change.old.meta.uid
            self._reservations.forget(Request(change.old.meta.name, change.old.meta.namespace))
            if cluster.remove(uid):
                self._retry()
            cluster.withdraw(uid)
        if new is None:
            return
        facts = facts_of(new)
        if not facts.node:
            if facts.nominated_node and _waits(new):
                cluster.nominate(new.object, facts.nominated_node)
        elif facts.has_ended:
            if cluster.remove(new.meta.uid):
                self._retry()
        elif not cluster.update(new):
            cluster.assign(new.object, facts.node)

    def claim_changed(self, change: Change[Any]) -> None:
        """Tries the pods again that use a claim."""
        if not self._claimants or change.new is None:
            return
        for each in known_pods_using(self._cache, change.new.meta.name, change.new.meta.namespace):
            request = Request(each.meta.name, each.meta.namespace)
            if request in self._claimants:
                self._retry({request: self._claimants.pop(request)})

    def storage_changed(self, change: Change[Any]) -> None:
        """Tries the pods with claims again after the change of a volume or a class."""
        if change.new is not None:
            self._retry(self._claimants)

    def _retry(self, *waiting: dict[Request, None]) -> None:
        """Tries the pods again that wait for a change, each after its pause: all, or those of the given groups."""
        for group in waiting or (self._unschedulable, self._claimants):
            self._retried.extend(group)
            group.clear()
        if not self._is_retrying:
            self._retry_some()

    def _retry_some(self) -> None:
        """Queues some of the pods to try again, and continues in the next turn: ten thousand may wait."""
        now = self.controller.clock.monotonic()
        for _ in range(min(len(self._retried), PER_TURN)):
            request = self._retried.popleft()
            attempts, last = self._failures.get(request, (0, 0.0))
            pause = min(_FIRST_PAUSE * 2 ** max(attempts - 1, 0), _LONGEST_PAUSE)
            delay = max(last + pause - now, 0.0)
            self.controller.queue.add_after(request, delay, Trigger("requested", "a change of the cluster"))
        self._is_retrying = bool(self._retried)
        if self._is_retrying:
            asyncio.get_running_loop().call_soon(self._retry_some)


async def _announce(ctx: Context[Any], pod: Object, placement: Placement) -> None:
    """Reports the node of a pod that has to wait for its claims."""
    known = (pod.get("status") or {}).get("nominatedNodeName")
    if (placement.volumes.choices or placement.volumes.provisions) and known != placement.node:
        await _patch_status(ctx, pod, {"nominatedNodeName": placement.node})


async def _patch_status(ctx: Context[Any], pod: Object, status: Object) -> bool:
    """Changes the status of a pod. Returns False if the pod was deleted or replaced."""
    metadata = pod["metadata"]
    patch = strategic({"metadata": {"uid": metadata["uid"]}, "status": status})
    try:
        await ctx.api.patch_status(POD, patch, metadata["name"], metadata["namespace"])
    except (NotFound, Conflict):
        return False
    return True


async def start(host: ControllerHost) -> None:
    """Starts the scheduler."""
    objects = CachedObjects(host.cache)
    scheduler = Scheduler(default_profile(), ClusterState(host.clock), objects)
    found = SchedulerController(scheduler, host.recorder(COMPONENT, legacy=False), host.cache)
    found.controller.clock = host.clock
    handlers = {
        NODE: found.node_changed,
        POD: found.pod_changed,
        SERVICE: objects.service_changed,
        CLAIM: found.claim_changed,
        VOLUME: found.storage_changed,
        CLASS: found.storage_changed,
    }
    informers = {kind: host.cache.acquire(kind) for kind in dict.fromkeys((*handlers, *CACHED))}
    for informer in informers.values():
        await informer.wait_synced()
    for kind, handler in handlers.items():
        informers[kind].add_handler(handler)
    await host.control(found.controller)
