"""Permanently removes the past values of one object.

    POST /apis/setpoint.dev/v1/[namespaces/{namespace}/]{plural}[.{group}]/{name}/purge
    {"reason": "leaked in a ticket", "through": "40"}

Removes every replaced or deleted value or, with `through`, those that were written at or before a revision. The current
object remains: to remove its value too, delete the object first. The resource is named as in `history.py`; the right is
the verb `purge` on `secrets/purge` in the group `setpoint.dev`. Of the default roles, only cluster-admin has this
right. With the right in a namespace, only values from the current incarnation of the namespace are removed; earlier
ones require the right cluster-wide.

A store in etcd cannot remove the past of one key. There a purge compacts the whole cluster, up to the revision that
replaced the last of the values, and defragments every member. That requires the right cluster-wide and, in the body,
`"confirmClusterWide": true`.

The response is sent when the values cannot be read any more and their bytes are gone from the files of the store. A
read of a removed value is answered with 410 (Expired), as is a watch that would replay the value. The history shows the
revision with the type `PURGED` and the tombstone. The objects of earlier runs lose the values too. Archives
(`setpoint export`) and audit logs are not covered.
"""

import unicodedata
from typing import NamedTuple

import msgspec

from setpoint.objects.errors import BadRequest, NotFound, UnsupportedMediaType
from setpoint.objects.gotext import parse_uint
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.authorizer import refusal
from setpoint.server.codec.request_body import JSON, media_type
from setpoint.server.codec.response import json_answer
from setpoint.server.history.tombstones import PREFIX, bury, tombstones
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services
from setpoint.server.requestinfo import OWN_GROUP, RequestInfo
from setpoint.store.contract import Closed, Purge, Selection, TooLate

GROUP, VERSION = OWN_GROUP, "v1"
_MOST_REASON = 1024


class PurgeRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The body of a purge request."""

    reason: str
    through: str = ""
    confirm_cluster_wide: bool = False
    kind: str = "Purge"
    api_version: str = f"{GROUP}/{VERSION}"


async def purge(context: Context, resource: Resource) -> Response:
    """Removes past values of an object. Raises NotFound if there is no past, BadRequest and Forbidden."""
    info, services = context.info, context.services
    store = services.store
    wanted = _request(context)
    key = resource.storage.key(info.namespace if resource.namespaced else "", info.name)
    if (
        not await store.history(key, limit=1)
        and not await tombstones(store, key)
        and not await _is_copied(services, key)
    ):
        raise NotFound.of(resource.group_resource, info.name)
    since = 0
    if not store.purges_single_keys:
        await _authorize_everywhere(context)
        if not wanted.confirm_cluster_wide:
            raise BadRequest(
                "this store cannot remove the past of one object: a purge compacts the past of the whole etcd cluster "
                'and defragments every member; set "confirmClusterWide": true to do so'
            )
    elif info.namespace and not await _is_allowed_everywhere(context):
        since = await _incarnation(services, info.namespace)
    through = await _through(context, wanted.through)
    selection = Selection(key, since=since, through=through)
    request = Requested(context.audit_id, context.actor(), context.cause, wanted.reason)
    removed = await remove(services, selection, request)
    record = (await tombstones(store, key))[0]
    return await json_answer(
        context,
        {
            "kind": "PurgeResult",
            "apiVersion": f"{GROUP}/{VERSION}",
            "metadata": {"resourceVersion": str(await store.revision())},
            "removed": removed,
            "tombstone": record,
        },
    )


async def _is_copied(services: Services, key: str) -> bool:
    """Returns True if an earlier run has the object."""
    return any([await copies().has(key) for copies in services.past_copies])


class Requested(NamedTuple):
    """A requested purge: its ID, its user, its cause and the reason."""

    id: str
    actor: Actor
    cause: Cause | None
    reason: str


async def remove(services: Services, selection: Selection, requested: Requested) -> int:
    """Removes the selected values of one object and writes a tombstone; returns the number of values.

    The tombstone is written first: if the server stops before the values are removed, the tombstone records the
    request.
    """
    store, moment = services.store, services.clock.now()
    id, actor, cause, reason = requested  # noqa: A001 - the field's own name
    record: Object = {
        "id": id,
        "user": actor.user,
        "time": format_micro_time(moment),
        "reason": reason,
        "phase": "Requested",
    }
    if selection.through is not None:
        record["through"] = str(selection.through)
    await bury(store, selection.key, record, actor, cause)
    try:
        page = await store.purge(selection, Purge(actor.user, moment.timestamp(), reason))
        # Even if no value was removed: compaction leaves remains of compacted values in the files.
        await store.scrub(always=True)
        copied = sum([await copies().purge(selection) for copies in services.past_copies])
    finally:
        evict(services, selection.key)
    removed = copied + sum(number for _, number in page.removed)
    await bury(store, selection.key, {**record, "phase": "Completed", "removed": removed}, actor, cause)
    return removed


def evict(services: Services, key: str) -> None:
    """Removes an object from the caches of the server."""
    for resource in services.registry:
        if key.startswith(resource.storage.prefix):
            resource.changes.evict(key)
            resource.messages.evict(key)
    services.definitions.clear_conversions()


async def follow(services: Services) -> None:
    """Removes objects from the caches of the server when another server of the same store purges them, until the store
    is closed."""
    while True:
        watch = services.store.watch(f"{PREFIX}/")
        try:
            while True:
                for event in await watch.next():
                    evict(services, event.entry.key.removeprefix(PREFIX))
        except TooLate:
            continue
        except Closed:
            return
        finally:
            watch.close()


def _request(context: Context) -> PurgeRequest:
    if context.parameter("dryRun"):
        raise BadRequest("dryRun is not supported for a purge")
    if media_type(context) != JSON:
        raise UnsupportedMediaType.of([JSON])
    try:
        found = msgspec.json.decode(context.request.body or b"{}", type=PurgeRequest)
    except msgspec.DecodeError as error:
        raise BadRequest(f'the body is not a purge such as {{"reason": "leaked"}}: {error}') from None
    if not found.reason.strip() or len(found.reason) > _MOST_REASON:
        raise BadRequest(f"reason must have 1 to {_MOST_REASON} characters")
    if any(unicodedata.category(character).startswith("C") for character in found.reason):
        raise BadRequest("reason must not contain control characters")
    return found


async def _through(context: Context, text: str) -> int | None:
    if not text:
        return None
    try:
        through = parse_uint(text)
    except ValueError as error:
        raise BadRequest(f"through must be a revision: {error}") from None
    current = await context.services.store.revision()
    if through > current:
        raise BadRequest(f"through must be a revision up to the current one, which is {current}")
    return through


async def _is_allowed_everywhere(context: Context) -> bool:
    """Returns True if the user may purge such objects in every namespace."""
    authorizer = context.services.authorizer
    await authorizer.prepare(context.user)
    return authorizer.decide(context.user, _everywhere(context.info)).allowed


async def _authorize_everywhere(context: Context) -> None:
    authorizer, info = context.services.authorizer, _everywhere(context.info)
    await authorizer.prepare(context.user)
    decision = authorizer.decide(context.user, info)
    if not decision.allowed:
        raise refusal(context.user, info, decision)


def _everywhere(info: RequestInfo) -> RequestInfo:
    """Returns the same request without its namespace."""
    return info._replace(namespace="", in_namespace=False)


async def _incarnation(services: Services, namespace: str) -> int:
    """Returns the revision that created the namespace. If the namespace does not exist, returns a future revision, as
    all values belong to an earlier incarnation."""
    item = await services.store.get(f"/core/namespaces/{namespace}")
    return item.created if item is not None else await services.store.revision() + 1
