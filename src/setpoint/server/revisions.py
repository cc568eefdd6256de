"""The log itself: which revision wrote what, when, who and why, across all kinds, without the objects.

    GET /apis/setpoint.dev/v1/revisions[?after=REVISION][&limit=N]
    GET /apis/setpoint.dev/v1/revisions?time=2026-01-31T12:00:00Z

The answer is a `RevisionList`, oldest first, whose items are as those of an `ObjectHistory` with the `object` that each
wrote in place of the patch. With `time` there are no items: `metadata.at` is the last revision that had been written by
then, at which everything can be read with `?at=REVISION`. What a revision changed is for the history of its object to
tell, which takes the right to read that; the right to this is the one to `list` `revisions.setpoint.dev`.
"""

from datetime import UTC, datetime

from setpoint.objects.errors import BadRequest, Expired
from setpoint.objects.gotext import parse_uint
from setpoint.objects.times import format_micro_time, parse_micro_time, parse_time
from setpoint.objects.tree import Object
from setpoint.server.answer import json_answer
from setpoint.server.context import Context
from setpoint.server.exchange import Response
from setpoint.server.history import GROUP, VERSION, told
from setpoint.server.registry import Registry
from setpoint.server.requestinfo import RequestInfo
from setpoint.server.resource import Resource
from setpoint.store.contract import Entry, Store

RESOURCE = "revisions"
_PAGE = 500


def is_revisions(info: RequestInfo) -> bool:
    """Whether a request asks for the log."""
    return info.resource == RESOURCE and info.group == GROUP and info.version == VERSION and info.verb == "list"


async def revisions(context: Context) -> Response:
    """Answers with a part of the log, or with the revision at a time."""
    store = context.services.store
    metadata: Object = {"resourceVersion": str(await store.revision()), "oldest": str(await store.oldest())}
    items: list[Object] = []
    if text := context.parameter("time"):
        metadata["at"] = str(await _at(store, _time(text)))
    else:
        limit = min(_number(context, "limit") or _PAGE, _PAGE)
        entries = await store.log(_number(context, "after"), limit)
        prefixes = _prefixes(context.registry)
        items = [item for entry in entries if (item := _item(entry, prefixes)) is not None]
        if len(entries) >= limit:
            metadata["continue"] = str(entries[-1].revision)
    kind = {"kind": "RevisionList", "apiVersion": f"{GROUP}/{VERSION}"}
    return json_answer(context, {**kind, "metadata": metadata, "items": items})


async def _at(store: Store, moment: datetime) -> int:
    """The last revision that had been written at a time. Raises Expired for one before all that is kept."""
    first, last, time = await store.oldest(), await store.revision(), moment.timestamp()
    oldest = await store.log(max(first - 1, 0), 1)
    if oldest and oldest[0].time > time:
        since = format_micro_time(datetime.fromtimestamp(oldest[0].time, UTC))
        raise Expired(f"nothing is kept of {format_micro_time(moment)}: the past begins at {since}")
    while first < last:
        middle = (first + last + 1) // 2
        entries = await store.log(middle - 1, 1)
        if entries and entries[0].time <= time:
            first = max(middle, min(entries[0].revision, last))
        else:
            last = middle - 1
    return first


def _time(text: str) -> datetime:
    for parse in (parse_micro_time, parse_time):
        try:
            return parse(text)
        except ValueError:
            continue
    raise BadRequest(f"time must be one such as 2026-01-31T12:00:00Z, and {text!r} is none")


def _number(context: Context, name: str) -> int:
    text = context.parameter(name)
    try:
        return parse_uint(text) if text else 0
    except ValueError as error:
        raise BadRequest(f"{name} must be a number: {error}") from None


def _prefixes(registry: Registry) -> dict[str, Resource]:
    """The resource whose objects lie below each prefix, in the version they are stored in."""
    return {resource.storage.prefix: resource.in_storage_version for resource in registry}


def _item(entry: Entry, prefixes: dict[str, Resource]) -> Object | None:
    """A line of the log; None for what is no object of a kind that is served."""
    parts = entry.key.split("/", 3)
    resource = prefixes.get("/".join(parts[:3]) + "/") if len(parts) == 4 else None
    if resource is None:
        return None
    namespace, _, name = parts[3].rpartition("/")
    place = {"namespace": namespace} if namespace else {}
    about = {"apiVersion": resource.api_version, "kind": resource.kind, **place, "name": name}
    return {**told(entry), "object": {**about, "resource": str(resource.group_resource)}}
