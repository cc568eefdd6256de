"""The finalizers of a chain: added together before any handler is called, and removed one by one.

Each write is conditional on the resource version. After a conflict, the change is repeated on the server's current
version instead of the cached copy, so that concurrent removals of finalizers do not undo each other.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from setpoint.client.kinds import AnyObject, KindRef, tree_of
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.objects import meta
from setpoint.objects.errors import Conflict, NotFound
from setpoint.schema.types.resource import Resource

# The number of attempts to write after conflicts, before the whole reconcile is retried.
ATTEMPTS = 5


def finalizers_of(obj: AnyObject) -> Sequence[str]:
    """Returns the finalizers of an object."""
    return obj.metadata.finalizers or () if isinstance(obj, Resource) else meta.finalizers(obj)


def is_terminating(obj: AnyObject) -> bool:
    """Returns True if an object is being deleted."""
    return obj.metadata.deletion_timestamp is not None if isinstance(obj, Resource) else meta.is_being_deleted(obj)


async def change_finalizers(
    ctx: Context, kind: KindRef, obj: Any, *, add: Iterable[str] = (), remove: Collection[str] = ()
) -> Any:
    """Changes the finalizers of an object, and returns the object; None if deleted thereby.

    Sends no request without a change. Raises Conflict if all attempts fail.
    """
    request, uid = ctx.request, meta.uid(tree_of(obj))
    for attempt in range(ATTEMPTS):
        tree = tree_of(obj)
        if meta.uid(tree) != uid:
            return None
        has = meta.finalizers(tree)
        wanted = [each for each in has if each not in remove]
        if not meta.is_being_deleted(tree):  # finalizers cannot be added to a terminating object
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
