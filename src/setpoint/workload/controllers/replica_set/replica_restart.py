"""Suspends and resumes the replicas of a set together, and restarts them one by one.

Annotations of a replica record the actions of the set, so that a replica which a user stopped or restarted individually
keeps its state.
"""

from collections.abc import Callable, Sequence

from setpoint.client.kinds import tree_of
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import RESTART_REQUESTED, SUSPENDED_WITH_SET
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.kinds.executable_replica_set import ExecutableReplicaSet
from setpoint.workload.progress import progress

# On a replica: the last restart of its set in which the replica was restarted, or after which it was created.
RESTARTED_WITH = "setpoint.dev/restarted-with-set"


def is_good(replica: Executable) -> bool:
    """Returns True if the replica needs no waiting: the replica is ready, has succeeded, or is suspended."""
    how_far = progress({**tree_of(replica), "kind": "Executable"})
    return how_far.ready or how_far.succeeded or replica.spec.suspend


def notes(obj: ExecutableReplicaSet) -> dict[str, str]:
    """Returns the annotations of a new replica."""
    suspended = "true" if obj.spec.suspend else ""
    found = {RESTARTED_WITH: _annotation(obj, RESTART_REQUESTED), SUSPENDED_WITH_SET: suspended}
    return {name: value for name, value in found.items() if value}


async def suspend(ctx: Context, obj: ExecutableReplicaSet, active: Sequence[Executable]) -> list[Executable]:
    """Suspends all replicas, or resumes those that were suspended with the set. Returns the replicas. The resume also
    satisfies a pending restart request."""
    request = _annotation(obj, RESTART_REQUESTED)
    annotations = {RESTART_REQUESTED: request, RESTARTED_WITH: request} if request else {}

    def change(replica: Executable) -> Object | None:
        if obj.spec.suspend and not replica.spec.suspend:
            return {"metadata": {"annotations": {SUSPENDED_WITH_SET: "true"}}, "spec": {"suspend": True}}
        if not obj.spec.suspend and _annotation(replica, SUSPENDED_WITH_SET):
            return {"metadata": {"annotations": {SUSPENDED_WITH_SET: None, **annotations}}, "spec": {"suspend": False}}
        return None

    return await _changed(ctx, active, change)


async def restart(
    ctx: Context, obj: ExecutableReplicaSet, active: Sequence[Executable]
) -> tuple[list[Executable], str]:
    """Restarts the replicas if requested: first all unhealthy ones, then one after the other. Returns the replicas, and
    the last request that all of them have completed."""
    request = _annotation(obj, RESTART_REQUESTED)
    before = obj.status.observed_restart if obj.status is not None else ""
    pending = [each for each in active if request and _annotation(each, RESTARTED_WITH) != request]
    if not pending:
        return list(active), request if all(map(_is_restarted, active)) else before
    unwell = [each for each in pending if not is_good(each)]
    waiting = {each.metadata.uid for each in pending}
    others_are_well = all(_is_restarted(each) for each in active if each.metadata.uid not in waiting)
    turn = {each.metadata.uid for each in unwell or (pending[:1] if others_are_well else [])}
    change: Object = {"metadata": {"annotations": {RESTART_REQUESTED: request, RESTARTED_WITH: request}}}
    return await _changed(ctx, active, lambda replica: change if replica.metadata.uid in turn else None), before


def _is_restarted(replica: Executable) -> bool:
    """Returns True if the replica has completed the requested restart and needs no waiting."""
    if replica.spec.suspend:
        return True
    obeyed = replica.status.observed_restart if replica.status is not None else ""
    return obeyed == _annotation(replica, RESTART_REQUESTED) and is_good(replica)


async def _changed(
    ctx: Context, active: Sequence[Executable], change: Callable[[Executable], Object | None]
) -> list[Executable]:
    found = []
    for each in active:
        patch = change(each)
        if patch is None:
            found.append(each)
            continue
        try:
            found.append(await ctx.client.patch(Executable, merge(patch), each.metadata.name or ""))
        except NotFound:
            continue  # the replica is created again
    return found


def _annotation(obj: Executable | ExecutableReplicaSet, name: str) -> str:
    return (obj.metadata.annotations or {}).get(name, "")
