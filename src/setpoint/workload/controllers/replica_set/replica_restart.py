"""What a set does to replicas that are there: it stops and starts them with itself, and has them restart one by one.

What was done because of the set is noted in the replica, so that one replica that somebody stopped or restarted by
itself is left as it is.
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

# In a replica: the last restart of its set that it took part in, or was made after.
RESTARTED_WITH = "setpoint.dev/restarted-with-set"


def is_good(replica: Executable) -> bool:
    """Whether nothing has to be waited for: it is ready, has done its work, or is meant not to run."""
    how_far = progress({**tree_of(replica), "kind": "Executable"})
    return how_far.ready or how_far.succeeded or replica.spec.suspend


def notes(obj: ExecutableReplicaSet) -> dict[str, str]:
    """The annotations of a replica that is made now."""
    suspended = "true" if obj.spec.suspend else ""
    found = {RESTARTED_WITH: _annotation(obj, RESTART_REQUESTED), SUSPENDED_WITH_SET: suspended}
    return {name: value for name, value in found.items() if value}


async def suspend(ctx: Context, obj: ExecutableReplicaSet, active: Sequence[Executable]) -> list[Executable]:
    """Stops all replicas for the time being, or starts those again that were stopped so; as they are then. That start
    is all that a restart can ask for."""
    request = _annotation(obj, RESTART_REQUESTED)
    asked = {RESTART_REQUESTED: request, RESTARTED_WITH: request} if request else {}

    def change(replica: Executable) -> Object | None:
        if obj.spec.suspend and not replica.spec.suspend:
            return {"metadata": {"annotations": {SUSPENDED_WITH_SET: "true"}}, "spec": {"suspend": True}}
        if not obj.spec.suspend and _annotation(replica, SUSPENDED_WITH_SET):
            return {"metadata": {"annotations": {SUSPENDED_WITH_SET: None, **asked}}, "spec": {"suspend": False}}
        return None

    return await _changed(ctx, active, change)


async def restart(
    ctx: Context, obj: ExecutableReplicaSet, active: Sequence[Executable]
) -> tuple[list[Executable], str]:
    """Has the replicas started again, where that was asked for: first all that are unwell, then one after the other.
    The replicas as they are then, and the last request that all of them have obeyed."""
    request = _annotation(obj, RESTART_REQUESTED)
    before = obj.status.observed_restart if obj.status is not None else ""
    pending = [each for each in active if request and _annotation(each, RESTARTED_WITH) != request]
    if not pending:
        return list(active), request if all(map(_is_settled, active)) else before
    unwell = [each for each in pending if not is_good(each)]
    waiting = {each.metadata.uid for each in pending}
    others_are_well = all(_is_settled(each) for each in active if each.metadata.uid not in waiting)
    turn = {each.metadata.uid for each in unwell or (pending[:1] if others_are_well else [])}
    change: Object = {"metadata": {"annotations": {RESTART_REQUESTED: request, RESTARTED_WITH: request}}}
    return await _changed(ctx, active, lambda replica: change if replica.metadata.uid in turn else None), before


def _is_settled(replica: Executable) -> bool:
    """Whether it has obeyed what was asked of it, and nothing has to be waited for."""
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
            continue  # it is made again
    return found


def _annotation(obj: Executable | ExecutableReplicaSet, name: str) -> str:
    return (obj.metadata.annotations or {}).get(name, "")
