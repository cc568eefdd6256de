"""The workloads that a controller makes for its objects: found by a label, deleted before their owner goes.

The label has the uid of the owner, so that those of an object of the same name that is gone are never taken for ours.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from setpoint.controller.context import Context
from setpoint.controller.request import Requeue
from setpoint.objects.errors import NotFound
from setpoint.schema.types import Resource
from setpoint.workload.kinds.api_names import OWNER_LABEL as OWNER_LABEL

# How long nobody looks at children that are being stopped, unless one of them has gone.
_GOING_SECONDS = 60.0

R = TypeVar("R", bound=Resource)


async def children(ctx: Context, kind: type[R], uid: str) -> list[R]:
    """All children of an owner, also those that are about to go."""
    return list((await ctx.client.list(kind, labels={OWNER_LABEL: uid})).items)


async def delete_child(ctx: Context, child: Resource) -> None:
    """Deletes a child, and never another object that has its name by now."""
    if child.metadata.deletion_timestamp is None:
        with suppress(NotFound):
            await ctx.client.delete(type(child), child.metadata.name or "", uid=child.metadata.uid or "")


async def delete_all(ctx: Context, kinds: Sequence[type[Any]], uid: str) -> None:
    """Has all children go. Raises Requeue until they have."""
    found = [child for kind in kinds for child in await children(ctx, kind, uid)]
    for child in found:
        await delete_child(ctx, child)
    if found:
        raise Requeue(_GOING_SECONDS, f"{len(found)} of its children are being stopped")
