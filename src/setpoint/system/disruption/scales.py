"""The number of pods that the controllers of some pods want: the whole of which a budget may be a percentage."""

from collections.abc import Sequence
from typing import Any

from setpoint.client.kinds import kind_of
from setpoint.client.mapper import NoMatch
from setpoint.controller.context import Context
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.owners import controller_of
from setpoint.objects.tree import Object
from setpoint.system.turns import in_turns

REPLICA_SET, DEPLOYMENT, STATEFUL_SET = "apps/v1/ReplicaSet", "apps/v1/Deployment", "apps/v1/StatefulSet"
REPLICATION_CONTROLLER = "v1/ReplicationController"
# The kinds that are read from the cache, by group and kind.
_CACHED = {
    ("apps", "ReplicaSet"): REPLICA_SET,
    ("apps", "Deployment"): DEPLOYMENT,
    ("apps", "StatefulSet"): STATEFUL_SET,
    ("", "ReplicationController"): REPLICATION_CONTROLLER,
}


class ScaleUnknown(Exception):  # noqa: N818 - named for the state
    """The number of pods that a controller wants cannot be determined."""


async def expected_scale(ctx: Context[Any], pods: Sequence[Object]) -> tuple[int, list[str]]:
    """Returns the sum of the replicas that the controllers of the pods want, and the names of the pods without a
    controller. Raises ScaleUnknown."""
    scales: dict[str, int] = {}
    # The uids of the references that are resolved: a ReplicaSet stands for its Deployment.
    known: set[str] = set()
    unmanaged = []
    async for pod in in_turns(ctx, pods):
        reference = controller_of(pod)
        if reference is None:
            unmanaged.append(pod["metadata"]["name"])
            continue
        if reference["uid"] in known:
            continue
        known.add(reference["uid"])
        found = await _controller(ctx, reference, pod["metadata"]["namespace"])
        if found is None:
            raise ScaleUnknown(f'found no controllers for pod "{pod["metadata"]["name"]}"')
        uid, replicas = found
        scales[uid] = replicas
    return sum(scales.values()), unmanaged


async def _controller(ctx: Context[Any], reference: Object, namespace: str) -> tuple[str, int] | None:
    """Returns the uid and the replicas of a controller, of the Deployment for the ReplicaSet of one; None if the
    controller does not exist any more."""
    group, _, version = reference["apiVersion"].rpartition("/")
    cached = _CACHED.get((group, reference["kind"]))
    if cached is None or cached == DEPLOYMENT:
        return await _by_scale(ctx, GroupVersionKind(group, version, reference["kind"]), reference, namespace)
    found = _owner(ctx, cached, reference, namespace)
    above = controller_of(found) if found is not None else None
    if cached == REPLICA_SET and above is not None and above["kind"] == "Deployment":
        found = _owner(ctx, DEPLOYMENT, above, namespace)
    if found is None:
        return None
    replicas = found["spec"].get("replicas")
    return found["metadata"]["uid"], 1 if replicas is None else replicas


def _owner(ctx: Context[Any], kind: str, reference: Object, namespace: str) -> Object | None:
    """Returns the cached owner. Its later changes do not trigger the reconcile: they lead to changes of pods."""
    entry = ctx.client.cache.entry(kind_of(kind), reference["name"], namespace)
    return entry.object if entry is not None and entry.meta.uid == reference["uid"] else None


async def _by_scale(
    ctx: Context[Any], kind: GroupVersionKind, reference: Object, namespace: str
) -> tuple[str, int] | None:
    """Asks the server for the scale of a controller, such as a custom resource. Raises ScaleUnknown."""
    try:
        scale = await ctx.api.scale(kind, reference["name"], namespace)
    except NoMatch as error:
        raise ScaleUnknown(str(error)) from None
    except NotFound:
        resource = await ctx.api.mapper.resource(kind)
        if "scale" in resource.subresources:
            return None
        name = f"{resource.plural}.{kind.group}" if kind.group else resource.plural
        raise ScaleUnknown(f"{name} does not implement the scale subresource") from None
    except APIError as error:
        raise ScaleUnknown(str(error)) from error
    if scale["metadata"]["uid"] != reference["uid"]:
        return None
    return reference["uid"], (scale.get("spec") or {}).get("replicas") or 0
