"""The controller of ExecutableReplicaSets: creates the desired number of Executables from a template, and reports how
many are healthy.

Scaling down removes failed, then unready, then the youngest replicas. A changed template replaces replicas only with
the strategy RollingUpdate: one at a time, each stopped before the next is created (both might use the same port), and
only while all new replicas are ready, so that a broken template replaces only one replica.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from setpoint.client.kinds import tree_of
from setpoint.client.patches import merge
from setpoint.controller.child_names import child_name
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Result
from setpoint.objects.errors import AlreadyExists, Invalid, NotFound
from setpoint.objects.metavalidation import ORPHAN
from setpoint.schema.types import MicroTime, ObjectMeta
from setpoint.workload.controllers.backoff import next_wait
from setpoint.workload.controllers.children import OWNER_LABEL, children, delete_all, delete_child
from setpoint.workload.controllers.replica_set import replica_restart
from setpoint.workload.controllers.replica_set.replica_restart import is_good
from setpoint.workload.kinds.api_names import DISPLAY_NAME, FINALIZERS, GROUP
from setpoint.workload.kinds.executable import FINAL, Executable
from setpoint.workload.kinds.executable_replica_set import ExecutableReplicaSet, ExecutableReplicaSetStatus
from setpoint.workload.kinds.parts import HealthStatus, RestartBackoff
from setpoint.workload.progress import WorkloadConditions, progress
from setpoint.workload.runtime import Machine

FINALIZER = FINALIZERS["ExecutableReplicaSet"]
_PREFIX = f"executable-replica-set.{GROUP}"
STATE, REPLICA_ID, SET_NAME = (f"{_PREFIX}/{name}" for name in ("replica-state", "replica-id", "replica-set-name"))
INSTANCE_ID = "otel-service-instance-id"
TEMPLATE_HASH = "setpoint.dev/template-hash"
ACTIVE, INACTIVE = "active", "inactive"


@dataclass
class _ReplicaSetState:
    """The state of a set that is not stored in its objects."""

    uid: str
    # The number of the last created replica: display names are never reused.
    last: int = 0
    scaled_at: datetime | None = None
    # The backoff before the last replacement of a failed replica.
    wait: timedelta | None = None
    # The replica that is replaced next, and when.
    replaced: str = ""
    due: datetime | None = None


class ReplicaSets:
    """The controller of ExecutableReplicaSets."""

    def __init__(self, machine: Machine) -> None:
        self._clock = machine.clock
        self._states: dict[str, _ReplicaSetState] = {}
        self.controller = Controller(
            "executable-replica-set",
            self._reconcile,
            kind=ExecutableReplicaSet,
            clock=machine.clock,
            ids=machine.ids,
            owns=(Executable,),
            concurrency=4,
        )

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: ExecutableReplicaSet | None = await ctx.object()
        if obj is None:
            self._states.pop(request.name, None)
            return None
        uid = obj.metadata.uid or ""
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(_clean_up, ctx, obj)):
            return None
        replicas = await children(ctx, Executable, uid)
        known = self._knowledge(obj, replicas)
        hash_ = _template_hash(obj)
        active = [each for each in replicas if _is_active(each)]
        after, problem = None, ""
        active = await self._scale_down(ctx, obj, known, active)
        active = await replica_restart.suspend(ctx, obj, active)
        if obj.spec.replace_failed:
            active, after = await self._replace_failed(ctx, obj, known, active)
        if obj.spec.update_strategy == "RollingUpdate":
            active = await self._update(ctx, obj, known, active, hash_)
        holds = 0
        if obj.spec.update_strategy == "RollingUpdate":
            here = {each.metadata.uid for each in active}
            holds = sum(
                each.metadata.uid not in here and not _has_ended(each) and _hash(each) != hash_ for each in replicas
            )
        try:
            active = await self._scale_up(ctx, obj, known, active, hash_, holds)
        except Invalid as error:
            problem = str(error)
        active, obeyed = await replica_restart.restart(ctx, obj, active)
        self._report(ctx, obj, known, active, hash_, problem, obeyed)
        return Result(requeue_after=after)

    def _knowledge(self, obj: ExecutableReplicaSet, replicas: Sequence[Executable]) -> _ReplicaSetState:
        name, uid = obj.metadata.name or "", obj.metadata.uid or ""
        known = self._states.get(name)
        if known is None or known.uid != uid:
            known = self._states[name] = _ReplicaSetState(
                uid, scaled_at=obj.status.last_scale_time if obj.status is not None else None
            )
        known.last = max(known.last, *map(_number, replicas), 0)
        return known

    # Scaling and updates

    async def _scale_up(
        self,
        ctx: Context,
        obj: ExecutableReplicaSet,
        known: _ReplicaSetState,
        active: list[Executable],
        hash_: str,
        held_back: int,
    ) -> list[Executable]:
        """Creates the missing replicas, except `held_back` whose predecessors must end first. Raises Invalid."""
        made = list(active)
        while len(made) + held_back < obj.spec.replicas:
            known.last += 1
            replica = ctx.own(_replica(obj, known.last, hash_))
            try:
                made.append(await ctx.client.create(replica))
            except AlreadyExists:
                # Created before by a control plane that was killed, or the name belongs to an object of another owner.
                found = await ctx.api.get(Executable, replica.metadata.name or "")
                if _is_active(found) and (found.metadata.labels or {}).get(OWNER_LABEL) == known.uid:
                    made.append(found)
            known.scaled_at = self._clock.now()
        return made

    async def _scale_down(
        self, ctx: Context, obj: ExecutableReplicaSet, known: _ReplicaSetState, active: list[Executable]
    ) -> list[Executable]:
        surplus = len(active) - obj.spec.replicas
        if surplus <= 0:
            return active
        going = sorted(active, key=_worst_and_youngest)[:surplus]
        return await self._retire(ctx, obj, known, active, going)

    async def _retire(
        self,
        ctx: Context,
        obj: ExecutableReplicaSet,
        known: _ReplicaSetState,
        active: Sequence[Executable],
        retired: Sequence[Executable],
    ) -> list[Executable]:
        """Deletes replicas, or stops and keeps them. Returns the other replicas."""
        for each in retired:
            if not obj.spec.stop_on_scale_down:
                await delete_child(ctx, each)
                continue
            change = {"metadata": {"annotations": {STATE: INACTIVE}}, "spec": {"stop": True}}
            try:
                await ctx.client.patch(Executable, merge(change), each.metadata.name or "")
            except NotFound:
                continue
        known.scaled_at = self._clock.now()
        gone = {each.metadata.uid for each in retired}
        return [each for each in active if each.metadata.uid not in gone]

    async def _replace_failed(
        self, ctx: Context, obj: ExecutableReplicaSet, known: _ReplicaSetState, active: list[Executable]
    ) -> tuple[list[Executable], float | None]:
        """Retires ended replicas after the backoff, so that others are created. Returns the remaining replicas and the
        delay in seconds."""
        ended = sorted((each for each in active if _has_ended(each) and not each.spec.suspend), key=_number)
        if not ended:
            return active, None
        first = ended[0]
        if known.replaced != first.metadata.uid:
            known.wait = next_wait(
                known.wait, obj.spec.template.spec.restart_backoff or RestartBackoff(), _lived(first)
            )
            known.replaced, known.due = first.metadata.uid or "", self._clock.now() + known.wait
        assert known.due is not None
        left = (known.due - self._clock.now()).total_seconds()
        if left > 0:
            return active, left
        # Other replicas that have ended meanwhile are replaced too: one delay is enough for all of them.
        return await self._retire(ctx, obj, known, active, ended), None

    async def _update(
        self, ctx: Context, obj: ExecutableReplicaSet, known: _ReplicaSetState, active: list[Executable], hash_: str
    ) -> list[Executable]:
        """Retires one replica of an older template if all replicas of the new one are ready; retires all of them if the
        set is suspended."""
        old = [each for each in active if _hash(each) != hash_]
        new = [each for each in active if _hash(each) == hash_]
        if obj.spec.suspend:
            return await self._retire(ctx, obj, known, active, old) if old else active
        if not old or len(active) < obj.spec.replicas or not all(map(is_good, new)):
            return active
        return await self._retire(ctx, obj, known, active, sorted(old, key=_worst_and_youngest)[:1])

    # Status

    def _report(
        self,
        ctx: Context,
        obj: ExecutableReplicaSet,
        known: _ReplicaSetState,
        active: Sequence[Executable],
        hash_: str,
        problem: str,
        obeyed: str,
    ) -> None:
        states = [each.status.state if each.status is not None else "" for each in active]
        succeeded = [each for each in active if _progress(each).succeeded]
        healthy = sum(each.status is not None and each.status.health_status == "Healthy" for each in active)
        wanted = obj.spec.replicas
        health: HealthStatus = "Healthy" if healthy >= wanted else "Caution" if healthy else "Unhealthy"
        status = ExecutableReplicaSetStatus(
            observed_replicas=len(active),
            running_replicas=states.count("Running"),
            failed_replicas=states.count("FailedToStart") + states.count("Unknown"),
            finished_replicas=states.count("Finished") + states.count("Terminated"),
            succeeded_replicas=len(succeeded),
            updated_replicas=sum(_hash(each) == hash_ for each in active),
            health_status=health,
        )
        if known.scaled_at is not None:
            status.last_scale_time = MicroTime.of(known.scaled_at)
        if obeyed:
            status.observed_restart = obeyed
        ctx.status.put(status)
        unready = [(each, how_far) for each in active if not (how_far := _progress(each)).ready]
        if problem:
            message = f"{problem}; correct spec.template"
            ctx.status.condition("Ready", False, "InvalidTemplate", message)
        elif obj.spec.suspend:
            name = obj.metadata.name
            message = f"the replica set is suspended; `setpoint start {name}` starts it again"
            ctx.status.condition("Ready", False, "Suspended", message)
        elif len(active) < wanted:
            ctx.status.condition("Ready", False, "Scaling", f"{len(active)} of {wanted} replicas exist")
        elif len(succeeded) >= wanted > 0:
            ctx.status.condition("Ready", False, "Completed", "all replicas have ended with exit code 0")
        elif unready:
            first, how_far = unready[0]
            said = f"{wanted - len(unready)} of {wanted} replicas are ready; {first.metadata.name}: {how_far.says}"
            ctx.status.condition("Ready", False, "ReplicasNotReady", said)
        elif any(_hash(each) != hash_ for each in active) and obj.spec.update_strategy == "RollingUpdate":
            ctx.status.condition("Ready", True, "Updating", "replicas of an older template are being replaced")
        else:
            ctx.status.condition("Ready", True, "ReplicasReady", f"{wanted} of {wanted} replicas are ready")


def _replica(obj: ExecutableReplicaSet, number: int, hash_: str) -> Executable:
    """Returns a new replica. Its name is derived from its number, so that none is created twice."""
    set_name, template = obj.metadata.name or "", obj.spec.template
    name = child_name(set_name, obj.metadata.uid or "", number)
    id_ = name.rpartition("-")[2]
    annotations = {
        **template.annotations,
        STATE: ACTIVE,
        DISPLAY_NAME: f"{set_name}-{number}",
        REPLICA_ID: id_,
        INSTANCE_ID: id_,
        SET_NAME: set_name,
        TEMPLATE_HASH: hash_,
        **replica_restart.notes(obj),
    }
    labels = {**template.labels, OWNER_LABEL: obj.metadata.uid or ""}
    metadata = ObjectMeta(name=name, labels=labels, annotations=annotations)
    spec = msgspec.structs.replace(template.spec, suspend=True) if obj.spec.suspend else template.spec
    return Executable(metadata=metadata, spec=spec)


def _template_hash(obj: ExecutableReplicaSet) -> str:
    text = msgspec.json.encode(tree_of(obj)["spec"]["template"], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:16]


def _annotation(replica: Executable, name: str) -> str:
    return (replica.metadata.annotations or {}).get(name, "")


def _hash(replica: Executable) -> str:
    return _annotation(replica, TEMPLATE_HASH)


def _number(replica: Executable) -> int:
    text = _annotation(replica, DISPLAY_NAME).rpartition("-")[2]
    return int(text) if text.isdecimal() else 0


async def _clean_up(ctx: Context, obj: ExecutableReplicaSet) -> None:
    """Deletes the replicas before their set, unless the deletion orphans them: then the garbage collector removes their
    owner. Raises Requeue until they are deleted."""
    if ORPHAN not in obj.metadata.finalizers:
        await delete_all(ctx, [Executable], obj.metadata.uid or "")


def _is_active(replica: Executable) -> bool:
    return replica.metadata.deletion_timestamp is None and _annotation(replica, STATE) != INACTIVE


def _has_ended(replica: Executable) -> bool:
    """Returns True if the replica has ended; a stopped and kept replica has ended when its process has."""
    return replica.metadata.deletion_timestamp is None and replica.status is not None and replica.status.state in FINAL


def _lived(replica: Executable) -> float:
    status = replica.status
    if status is None or status.startup_timestamp is None or status.finish_timestamp is None:
        return 0.0
    return (status.finish_timestamp - status.startup_timestamp).total_seconds()


def _progress(replica: Executable) -> WorkloadConditions:
    return progress({**tree_of(replica), "kind": "Executable"})


def _worst_and_youngest(replica: Executable) -> tuple[int, float, int]:
    """Returns the sort key for removal: failed or ended replicas first, then not started, then unhealthy ones; the
    youngest first among equals."""
    how_far = _progress(replica)
    if _has_ended(replica):
        rank = 0
    elif not how_far.started:
        rank = 1
    else:
        rank = 3 if how_far.ready else 2
    made = replica.metadata.creation_timestamp or datetime.fromtimestamp(0, UTC)
    return rank, -made.timestamp(), -_number(replica)
