"""The controllers of ReplicaSets and ReplicationControllers: they create and delete pods until the number is right.

Both kinds have one implementation; `Replicated` has the differences. A reconcile reads the pods from the shared cache,
which shows the own writes of earlier reconciles. So a stale cache delays the next step, and no pod is created twice.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from setpoint.cache.entry import CachedObject
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import NotFound
from setpoint.objects.labels import Selector, from_labels
from setpoint.objects.tree import Object
from setpoint.system.controlled_objects import (
    AdoptionFailed,
    ByController,
    Claims,
    candidate_entries,
    candidates,
    controlled_by,
)
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.pods.control import PodControl, PodFailure, pod_of_template
from setpoint.system.pods.deletion_order import pods_to_delete
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import POD
from setpoint.system.replicaset.status import Tally, new_status
from setpoint.system.selectors import selector_of
from setpoint.system.turns import in_turns

# The most pods that one reconcile creates or deletes.
BURST = 500
CONCURRENCY = 5

REPLICA_SET, REPLICATION_CONTROLLER = "apps/v1/ReplicaSet", "v1/ReplicationController"


class Replicated(NamedTuple):
    """A kind of replicated pods."""

    kind: str
    # The component in events.
    component: str
    selector_of: Callable[[Object], Selector]
    counts_terminating: bool


def _label_selector(controller: Object) -> Selector:
    return from_labels(controller["spec"].get("selector") or {})


REPLICA_SETS = Replicated(REPLICA_SET, "replicaset-controller", selector_of, True)
REPLICATION_CONTROLLERS = Replicated(REPLICATION_CONTROLLER, "replication-controller", _label_selector, False)


class ReplicaSetReconciler:
    """Reconciles one of the two kinds."""

    def __init__(self, replicated: Replicated, pods: PodControl) -> None:
        self._replicated = replicated
        self._pods = pods

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Brings the number of pods to the desired one, and writes the status. Raises Requeue after a failure."""
        kind = self._replicated.kind
        try:
            found: Object = await ctx.client.get(kind, request.name, request.namespace)
        except NotFound:
            return None
        claims = Claims(ctx, found, self._replicated.selector_of(found), POD)
        pods = [pod async for pod in in_turns(ctx, await candidate_entries(ctx, POD, found)) if not _has_ended(pod)]
        try:
            active = await claims.claim_entries([pod for pod in pods if not pod.meta.deletion_timestamp])
        except AdoptionFailed as error:
            raise Requeue(None, str(error)) from None
        terminating = None
        if self._replicated.counts_terminating:
            terminating = 0
            async for pod in in_turns(ctx, pods):
                terminating += bool(pod.meta.deletion_timestamp) and claims.is_own_entry(pod)
        failure: PodFailure | None = None
        if not found["metadata"].get("deletionTimestamp"):
            try:
                await self._manage(ctx, found, active)
            except PodFailure as error:
                failure = error
        now = ctx.clock.now()
        tally = Tally(found, now)
        async for pod in in_turns(ctx, active):
            tally.add(pod)
        status = new_status(found, tally, terminating, str(failure) if failure is not None else None, now)
        if status is not None:
            await ctx.client.update({**found, "status": status}, subresource="status")
        if failure is not None:
            raise Requeue(None, str(failure))
        return None if tally.next_available is None else Result(requeue_after=tally.next_available)

    async def _manage(self, ctx: Context[Any], found: Object, active: list[CachedObject[Any]]) -> None:
        """Creates missing pods, or deletes those beyond the desired number. Raises PodFailure."""
        wanted = _replicas(found)
        missing = wanted - len(active)
        if missing > 0:
            pod = pod_of_template(found["spec"]["template"], found)
            await self._pods.create_many(ctx, found, pod, min(missing, BURST))
        elif missing < 0:
            number = min(-missing, BURST)
            own = [pod.object async for pod in in_turns(ctx, active)]
            related = await self._related(ctx, found, own) if number < len(own) else ()
            chosen = await pods_to_delete(ctx, own, related, number)
            await self._pods.delete_many(ctx, found, chosen)

    async def _related(self, ctx: Context[Any], found: Object, active: list[Object]) -> list[Object]:
        """Returns the pods of all replica sets with the same controller, the own ones among them."""
        related = list(active)
        for other in await controlled_by(ctx, self._replicated.kind, found):
            if other["metadata"]["uid"] != found["metadata"]["uid"]:
                found_pods = await candidates(ctx, POD, other)
                related += [pod async for pod in in_turns(ctx, found_pods) if _is_controlled(pod, other)]
        return related


def _has_ended(pod: CachedObject[Any]) -> bool:
    return facts_of(pod).has_ended


def _is_controlled(pod: Object, owner: Object) -> bool:
    references = pod["metadata"].get("ownerReferences") or ()
    return any(each.get("controller") and each["uid"] == owner["metadata"]["uid"] for each in references)


def _replicas(found: Object) -> int:
    wanted: int | None = found["spec"].get("replicas")
    return 1 if wanted is None else wanted


async def start(host: ControllerHost) -> None:
    """Starts the controller of ReplicaSets."""
    await _start(host, REPLICA_SETS)


async def start_replication_controllers(host: ControllerHost) -> None:
    """Starts the controller of ReplicationControllers."""
    await _start(host, REPLICATION_CONTROLLERS)


async def _start(host: ControllerHost, replicated: Replicated) -> None:
    reconciler = ReplicaSetReconciler(replicated, PodControl(host.recorder(replicated.component)))
    by_controller = ByController(host.cache, replicated.kind, replicated.selector_of)
    await host.control(
        Controller(
            host.name,
            reconciler.reconcile,
            clock=host.clock,
            kind=replicated.kind,
            watches=[Watch(POD, by_controller)],
            concurrency=CONCURRENCY,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
