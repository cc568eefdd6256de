"""The finalizers of a chain: put on before anything else happens, all at once, and taken off one by one.

Each write is conditional on the version that it changes; where somebody else was faster it is done again on what they
wrote, and not on the copy that a cache still has. So several who take off theirs do not undo each other's work.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from setpoint.client.kinds import AnyObject, KindRef, tree_of
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.objects import meta
from setpoint.objects.errors import Conflict, NotFound
from setpoint.schema.types.resource import Resource

# How often a write is done again on what somebody else wrote meanwhile, before the whole is tried again later.
ATTEMPTS = 5


def finalizers_of(obj: AnyObject) -> Sequence[str]:
    """The finalizers of an object."""
    return obj.metadata.finalizers or () if isinstance(obj, Resource) else meta.finalizers(obj)


def is_terminating(obj: AnyObject) -> bool:
    """Whether an object is being deleted."""
    return obj.metadata.deletion_timestamp is not None if isinstance(obj, Resource) else meta.is_being_deleted(obj)


async def change_finalizers(
    ctx: Context, kind: KindRef, obj: Any, *, add: Iterable[str] = (), remove: Collection[str] = ()
) -> Any:
    """The object with other finalizers, written if that changes any; None where it is gone with that.

    Raises Conflict where others are faster all the time.
    """
    request, uid = ctx.request, meta.uid(tree_of(obj))
    for attempt in range(ATTEMPTS):
        tree = tree_of(obj)
        if meta.uid(tree) != uid:
            return None
        has = meta.finalizers(tree)
        wanted = [each for each in has if each not in remove]
        if not meta.is_being_deleted(tree):  # then none can be added any more
            wanted += [each for each in add if each not in wanted]
        if list(has) == wanted:
            return obj
        body = {"metadata": {"resourceVersion": meta.resource_version(tree), "uid": uid, "finalizers": wanted or None}}
        try:
            found = await ctx.client.patch(kind, merge(body), request.name, request.namespace)
        except NotFound:
            return None
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            try:
                obj = await ctx.api.get(kind, request.name, request.namespace)
            except NotFound:
                return None
            continue
        is_gone = meta.is_being_deleted(tree_of(found)) and not wanted
        return None if is_gone else found
    return obj
