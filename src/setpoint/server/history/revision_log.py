"""The log of all kinds: the revision, time, actor and cause of every write, without the objects.

    GET /apis/setpoint.dev/v1/revisions[?after=REVISION][&limit=N][&objects=true]
    GET /apis/setpoint.dev/v1/revisions?time=2026-01-31T12:00:00Z

The response is a `RevisionList`, oldest first, whose items are those of an `ObjectHistory` with a reference to the
written `object` in place of the patch. With `time` there are no items: `metadata.at` is the last revision written by
then, at which all objects can be read with `?at=REVISION`. The changes of a revision are part of the history of its
object, which needs a right of its own; this endpoint requires the verb `list` on `revisions.setpoint.dev`.

With `objects` each item also has the whole object in its storage version, as `value` (null if deleted), its `key`, and
the revision that `created` the object, for full copies. That requires the rights to list each of the resources and to
get its history, cluster-wide. The size of a response is then limited; the next one starts after the revision in
`continue`.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from setpoint.objects.errors import BadRequest, Expired
from setpoint.objects.gotext import parse_uint
from setpoint.objects.times import format_micro_time, parse_micro_time, parse_time
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.attributes import authorize_listing
from setpoint.server.access.past_access import authorize_history
from setpoint.server.codec.response import json_answer
from setpoint.server.history.object_history import GROUP, VERSION, entry_summary
from setpoint.server.message import Response
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.store.contract import LogEntry

_PAGE = 500
# With objects: the maximum number of items, the number of entries in the first read, and the size at which a page ends.
_WHOLE_PAGE = 4000
_STEP = 64
_PAGE_BYTES = 4 << 20


async def revisions(context: Context) -> Response:
    """Returns a part of the log, or the revision at a time."""
    store = context.services.store
    metadata: Object = {"resourceVersion": str(await store.revision()), "oldest": str(await store.oldest())}
    items: list[Object] = []
    if text := context.parameter("time"):
        metadata["at"] = str(await _at(context, _time(text)))
    else:
        limit, after = _number(context, "limit") or _PAGE, _number(context, "after")
        if context.parameter("objects") == "true":
            items, following = await _with_objects(context, after, min(limit, _WHOLE_PAGE))
        else:
            limit = min(limit, _PAGE)
            entries = await store.log(after, limit)
            prefixes = _prefixes(context.registry)
            items = [item for entry in entries if (item := _item(entry, prefixes)) is not None]
            following = entries[-1].revision if len(entries) >= limit else 0
        if following:
            metadata["continue"] = str(following)
    kind = {"kind": "RevisionList", "apiVersion": f"{GROUP}/{VERSION}"}
    return await json_answer(context, {**kind, "metadata": metadata, "items": items})


async def _with_objects(context: Context, after: int, limit: int) -> tuple[list[Object], int]:
    """Returns a part of the log with objects, and the revision to continue after; 0 at the end of the log."""
    store, prefixes = context.services.store, _prefixes(context.registry)
    allowed: set[Resource] = set()
    items: list[Object] = []
    size = 0
    step = _STEP
    while len(items) < limit and size < _PAGE_BYTES:
        entries = await store.log(after, step)
        for entry in entries:
            resource = _resource(entry, prefixes)
            item = _item(entry, prefixes)
            if resource is None or item is None:
                continue
            if resource not in allowed:
                await authorize_listing(context, resource)
                await authorize_history(context, resource)
                allowed.add(resource)
            size += len(entry.value or b"")
            value: Any = None if entry.value is None else msgspec.Raw(entry.value)
            items.append({**item, "key": entry.key, "created": str(entry.created), "value": value})
        if len(entries) < step:
            return items, 0
        after = entries[-1].revision
        # The store computes values from earlier ones: larger reads cost less per entry.
        step = min(4 * step, limit) if size < _PAGE_BYTES // 8 else _STEP
    return items, after


async def _at(context: Context, moment: datetime) -> int:
    """Returns the last revision written by a time. Raises Expired for a time before the oldest retained entry."""
    moments = context.services.moments
    found = await moments.at(moment.timestamp())
    if found is not None:
        return found
    begins = await moments.begins()
    if begins is None:
        return await context.services.store.revision()
    since = format_micro_time(datetime.fromtimestamp(begins, UTC))
    raise Expired(f"no history at {format_micro_time(moment)}: the oldest retained entry is from {since}")


def _time(text: str) -> datetime:
    for parse in (parse_micro_time, parse_time):
        try:
            return parse(text)
        except ValueError:
            continue
    raise BadRequest(f"time must be in RFC 3339, e.g. 2026-01-31T12:00:00Z, not {text!r}")


def _number(context: Context, name: str) -> int:
    text = context.parameter(name)
    try:
        return parse_uint(text) if text else 0
    except ValueError as error:
        raise BadRequest(f"{name} must be a number: {error}") from None


def _prefixes(registry: Registry) -> dict[str, Resource]:
    """Returns the resources by the prefix of their keys, in their storage version."""
    return {resource.storage.prefix: resource.in_storage_version for resource in registry}


def _resource(entry: LogEntry, prefixes: dict[str, Resource]) -> Resource | None:
    """Returns the resource of an entry; None if the entry is not an object of a served kind."""
    parts = entry.key.split("/", 3)
    return prefixes.get("/".join(parts[:3]) + "/") if len(parts) == 4 else None


def _item(entry: LogEntry, prefixes: dict[str, Resource]) -> Object | None:
    """Returns an item of the response; None if the entry is not an object of a served kind."""
    resource = _resource(entry, prefixes)
    if resource is None:
        return None
    namespace, _, name = entry.key.split("/", 3)[3].rpartition("/")
    place = {"namespace": namespace} if namespace else {}
    about = {"apiVersion": resource.api_version, "kind": resource.kind, **place, "name": name}
    return {**entry_summary(entry), "object": {**about, "resource": str(resource.group_resource)}}
