"""Access to the past: authorizes reads at older revisions.

Kubernetes itself reads the recent past: a list continues at the revision of its first page, a watch resumes after the
last event, `resourceVersionMatch=Exact` names a revision. Such reads need only the list or watch permission

* if the revision was current within a window (`Services.history_window_seconds`, five minutes by default), and
* if a read in a namespace does not reach back before the creation of that namespace, because older objects belonged to
  the namespace's previous owner.

Otherwise the server responds with 410, and clients list again. All other reads of the past (`?at=`, history, and the
reads above beyond their limits) need the permission to `get` `PLURAL.GROUP/history` in the group `setpoint.dev`, in
addition to the permission for the present. Granted in a namespace, the permission covers the time since that namespace
was created; older revisions need the permission in the whole cluster.
"""

from typing import NamedTuple

from setpoint.objects.errors import Expired
from setpoint.objects.gvk import GroupResource
from setpoint.server.access.authorization.authorizer import refusal
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import OWN_GROUP, RequestInfo
from setpoint.store.contract import TooLate

SUBRESOURCE = "history"
_NAMESPACES = GroupResource("", "namespaces")


async def authorize_past(context: Context, resource: Resource, revision: int) -> None:
    """Checks the permission to read at a past revision. Raises Forbidden or Expired."""
    info = context.info
    await authorize_history(context, resource, info.namespace, info.name)
    if revision < await first_revision(context, resource, info.name):
        raise Expired(
            f"revision {revision} is older than namespace {info.namespace!r}: older revisions require permission to "
            f"get {resource.group_resource}/{SUBRESOURCE} in group {OWN_GROUP} in the whole cluster"
        )


async def authorize_history(context: Context, resource: Resource, namespace: str = "", name: str = "") -> None:
    """Checks the permission to read the past of an object, a namespace or the whole cluster. Raises Forbidden."""
    authorizer, permission = context.services.authorizer, _history_of(resource, namespace, name)
    await authorizer.prepare(context.user)
    decision = authorizer.decide(context.user, permission)
    if not decision.allowed:
        raise refusal(context.user, permission, decision)


async def is_within_reach(context: Context, resource: Resource, revision: int) -> bool:
    """Returns True if a list may be read at a revision, because the revision is recent or the user has the
    permission."""
    services = context.services
    if revision >= await services.store.revision():
        return True
    if await _may_read(context, resource, "", ""):
        return True
    namespace = context.info.namespace
    if namespace and revision < await _created(context, namespace):
        return False
    if await services.history_window.contains(revision):
        return True
    return await _may_read(context, resource, namespace, context.info.name)


class Past(NamedTuple):
    """The past that a watch may not send: entries up to revision `until` that are older than time `since`."""

    until: int = 0
    since: float = 0.0


async def past_of_watch(context: Context, resource: Resource, revision: int) -> Past:
    """Returns the part of the past that a watch from a revision may not send. Raises TooLate if the watch may not begin
    there.

    A watch of objects that have not changed for a long time may resume from an old revision, as with kube-apiserver's
    watch cache: the age of the entries to send counts, not the age of the revision.
    """
    services, namespace = context.services, context.info.namespace
    current = await services.store.revision()
    if revision >= current or await _may_read(context, resource, "", ""):
        return Past()
    if namespace and revision < await _created(context, namespace):
        raise TooLate(revision, current)
    if await _may_read(context, resource, namespace, context.info.name):
        return Past()
    return Past(current, services.history_window.begin)


async def first_revision(context: Context, resource: Resource, name: str) -> int:
    """Returns the first revision that a user with the history permission may read."""
    namespace = context.info.namespace
    if not namespace or await _may_read(context, resource, "", name):
        return 0
    return await _created(context, namespace)


async def _created(context: Context, namespace: str) -> int:
    """Returns the revision that created a namespace, or the revision that deleted the namespace if deleted."""
    services = context.services
    resource = services.registry.resource("", "v1", "namespaces")
    assert resource is not None, "namespaces are always served"
    key = resource.storage.key("", namespace)
    item = await services.store.get(key)
    if item is not None:
        return item.created
    last = await services.store.history(key, None, 1)
    return last[0].revision if last else 0


async def _may_read(context: Context, resource: Resource, namespace: str, name: str) -> bool:
    authorizer = context.services.authorizer
    await authorizer.prepare(context.user)
    return authorizer.decide(context.user, _history_of(resource, namespace, name)).allowed


def _history_of(resource: Resource, namespace: str, name: str) -> RequestInfo:
    """Returns the request attributes for a check of the history permission."""
    return RequestInfo(
        "get",
        "",
        is_resource=True,
        group=OWN_GROUP,
        version="v1",
        namespace=namespace,
        resource=str(resource.group_resource),
        name=name,
        subresource=SUBRESOURCE,
        in_namespace=bool(namespace) and resource.group_resource != _NAMESPACES,
    )
