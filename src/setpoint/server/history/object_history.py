"""The history of one object: every retained revision, with its actor, its cause, and its changes.

    GET /apis/setpoint.dev/v1/[namespaces/{namespace}/]{plural}[.{group}]/{name}/history[?limit=N&continue=REVISION]

The resource is named as in `kubectl` and in error messages: `configmaps`, `deployments.apps`. So a rule that allows
reading the history names the resource: group `setpoint.dev`, resource `deployments.apps/history`, verb `get`. The verb
`get` on the object itself is also required: past states need the same right as the current one. The object may be
deleted, and the history covers all objects of that name since the creation of the namespace; with the right
cluster-wide, earlier ones as well (`past_access`). The response is an `ObjectHistory`, newest revision first:

    {"kind": "ObjectHistory", "apiVersion": "setpoint.dev/v1",
     "metadata": {"resourceVersion": "41", "continue": "17"},
     "items": [{"revision": "40", "previous": "17", "type": "MODIFIED", "time": "2026-01-31T12:00:00.000000Z",
                "actor": {"user": "system:admin", "groups": ["system:masters"], "fieldManager": "kubectl"},
                "cause": {"id": "…"},
                "patch": [{"op": "replace", "path": "/data/k", "value": "v"}]}]}

`patch` is the JSON Patch from the previous revision to this one: a new object is added whole, and so is one whose
previous revision is no longer retained; a deleted object is removed. `managedFields` and `resourceVersion` are omitted,
because the actor and the revision carry that information. A cause is the request's audit ID, or the reconcile of a
controller with its key and, in `because`, the changes that triggered the reconcile. A reconcile is `verified` if stated
by one of the server's own controllers, or by a user with the right to `assert` `causes.setpoint.dev`; otherwise
`claimedBy` names the user. The whole object at a revision is available at its own path, with `?at=REVISION`.

A revision whose value was purged (`server/history/purge.py`) has the type `PURGED`, no patch, and in `purged` the user,
the time and the reason of the purge. `purges` lists the latest purges of the object, including those whose revisions
are no longer retained.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from setpoint.merge import jsonpatch
from setpoint.objects.errors import BadRequest, Expired, NotFound
from setpoint.objects.gotext import parse_uint
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Json, Object
from setpoint.server.access.authorization.attributes import authorize_reading
from setpoint.server.access.past_access import first_revision
from setpoint.server.codec.response import json_answer
from setpoint.server.history.tombstones import tombstones
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import OWN_GROUP
from setpoint.server.watch.frames import kind_of
from setpoint.store.contract import Item, LogEntry

GROUP, VERSION = OWN_GROUP, "v1"
# The default and maximum number of revisions in a response.
_PAGE = 100
# The number of bytes of the objects of a response: with large objects, a response has fewer revisions.
_PAGE_BYTES = 4 << 20


async def history(context: Context, resource: Resource) -> Response:
    """Returns the history of an object. Raises NotFound if there is none, and Expired before the first revision that
    the user may read."""
    info, store = context.info, context.services.store
    group_resource, name = resource.group_resource, info.name
    namespace = info.namespace if resource.namespaced else ""
    await authorize_reading(context, resource, namespace, name)
    limit, before = _number(context, "limit"), _number(context, "continue")
    first = await first_revision(context, resource, name)
    if before is not None and before <= first:
        raise Expired(
            f"the history of {group_resource} {name!r} before revision {first} belongs to an earlier namespace"
        )
    limit = min(limit, _PAGE) if limit else _PAGE
    revision = await store.revision()
    # One more than shown, for the comparison with the oldest one shown.
    key = resource.storage.key(namespace, name)
    entries = [entry for entry in await store.history(key, before, limit + 1) if entry.revision >= first]
    purges = await tombstones(store, key, first) if before is None else []
    if not entries and not purges and before is None:
        raise NotFound.of(group_resource, name)
    metadata: Object = {"resourceVersion": str(revision)}
    entries, size = _within_bytes(entries)
    if len(entries) > limit or size > _PAGE_BYTES:
        limit = min(limit, len(entries) - 1)
        metadata["continue"] = str(entries[limit - 1].revision)
    if resource.fetch is None:
        items = await context.offload(lambda: _items(resource, entries, limit), size)
    else:
        stored = (Item(entry.key, entry.value, entry.revision, 0) for entry in entries if entry.value is not None)
        items = await resource.converting(lambda: _items(resource, entries, limit), stored)
    return await json_answer(
        context,
        {
            "kind": "ObjectHistory",
            "apiVersion": f"{GROUP}/{VERSION}",
            "metadata": metadata,
            "items": items,
            **({"purges": purges} if purges else {}),
        },
    )


def _within_bytes(entries: list[LogEntry]) -> tuple[list[LogEntry], int]:
    """Returns the newest entries, at least two, up to the one that exceeds the size of a page, and their total bytes.
    The last one is not shown: the patch of the next newer one is computed from it."""
    size = 0
    for place, entry in enumerate(entries, 1):
        size += len(entry.value or b"")
        if size > _PAGE_BYTES and 1 < place < len(entries):
            return entries[:place], size
    return entries, min(size, _PAGE_BYTES)


def _number(context: Context, name: str) -> int | None:
    text = context.parameter(name)
    if not text:
        return None
    try:
        return parse_uint(text)
    except ValueError as error:
        raise BadRequest(f"{name} must be a number: {error}") from None


def _items(resource: Resource, entries: Sequence[LogEntry], limit: int) -> list[Object]:
    """Returns the newest entries, each with its patch. Every object is decoded once."""
    found: list[Object] = []
    trees = [_tree(resource, entry) for entry in entries]
    for place, entry in enumerate(entries[:limit]):
        before = entries[place + 1] if place + 1 < len(entries) else None
        if entry.purged is not None:
            found.append(entry_summary(entry))
            continue
        known = before is not None and before.revision == entry.previous and before.purged is None
        found.append(_item(entry, _patch(trees[place], trees[place + 1] if known else None)))
    return found


def _tree(resource: Resource, entry: LogEntry) -> Object | None:
    if entry.value is None:
        return None
    tree = resource.decode(entry.value, entry.revision)
    for name in ("managedFields", "resourceVersion"):
        tree["metadata"].pop(name, None)
    return tree


def _patch(tree: Object | None, before: Object | None) -> Json:
    if tree is None:
        return [{"op": "remove", "path": ""}]
    if before is None:
        return [{"op": "add", "path": "", "value": tree}]
    return jsonpatch.diff(before, tree)


def _item(entry: LogEntry, patch: Json) -> Object:
    return {**entry_summary(entry), "patch": patch}


def entry_summary(entry: LogEntry) -> Object:
    """Returns an entry of the log without the object: revision, time, actor and cause."""
    actor, cause = entry.actor, entry.cause
    item: Object = {"revision": str(entry.revision)}
    if entry.previous:
        item["previous"] = str(entry.previous)
    item["type"] = kind_of(entry)
    item["time"] = format_micro_time(datetime.fromtimestamp(entry.time, UTC))
    item["actor"] = _without_empty(
        user=actor.user,
        groups=list(actor.groups),
        uid=actor.uid,
        fieldManager=actor.field_manager,
        impersonator=actor.impersonator,
    )
    if entry.purged is not None:
        purged_at = format_micro_time(datetime.fromtimestamp(entry.purged.time, UTC))
        item["purged"] = {"user": entry.purged.user, "time": purged_at, "reason": entry.purged.reason}
    if cause is not None:
        because: list[Json] = [
            _without_empty(event=each.event, kind=each.kind, object=each.object, revision=each.revision)
            for each in cause.because
        ]
        item["cause"] = _without_empty(
            id=cause.id,
            controller=cause.controller,
            key=cause.key,
            because=because,
            verified=cause.is_reconcile and not (claimant := cause.claimant(actor)),
            claimedBy=cause.is_reconcile and claimant,
        )
    return item


def _without_empty(**fields: Json) -> Object:
    return {name: value for name, value in fields.items() if value}
