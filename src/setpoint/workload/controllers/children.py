"""The workloads that a controller creates for its objects: found by a label, and deleted before their owner.

The label has the uid of the owner, so that children of a deleted object with the same name are never mistaken for ours.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from setpoint.controller.context import Context
from setpoint.controller.request import Requeue
from setpoint.objects.errors import NotFound
from setpoint.schema.types import Resource
from setpoint.workload.kinds.api_names import OWNER_LABEL as OWNER_LABEL

# The requeue delay while children are stopping; the deletion of a child reconciles earlier.
_GOING_SECONDS = 60.0

R = TypeVar("R", bound=Resource)


async def children(ctx: Context, kind: type[R], uid: str) -> list[R]:
    """Returns all children of an owner, including terminating ones."""
    return list((await ctx.client.list(kind, labels={OWNER_LABEL: uid})).items)


async def delete_child(ctx: Context, child: Resource) -> None:
    """Deletes a child, by uid, so that another object with its name is never deleted."""
    if child.metadata.deletion_timestamp is None:
        with suppress(NotFound):
            await ctx.client.delete(type(child), child.metadata.name or "", uid=child.metadata.uid or "")


async def delete_all(ctx: Context, kinds: Sequence[type[Any]], uid: str) -> None:
    """Deletes all children. Raises Requeue until they are deleted."""
    found = [child for kind in kinds for child in await children(ctx, kind, uid)]
    for child in found:
        await delete_child(ctx, child)
    if found:
        raise Requeue(_GOING_SECONDS, f"{len(found)} children are being stopped")
