"""Serves the timeline of the app: the states of its parts over time, with the critical path.

    GET /apis/setpoint.dev/v1/timeline[?from=2026-01-31T12:00:00Z][&to=]

Contains the parts that exist, from their creation or from `from` on. Requires the right to list `timeline` in the group
`setpoint.dev`, and the rights to list the workloads and to get their history; kinds that the user may not list are left
out. The number of changes is bounded: of parts with more changes the oldest ones are missing, and `truncated` is true.
"""

from datetime import UTC, datetime
from typing import Any

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest
from setpoint.objects.times import format_micro_time, parse_micro_time, parse_time
from setpoint.objects.tree import Object
from setpoint.server.access.past_access import authorize_history
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.server.request.slices import ranged
from setpoint.workload.summaries.endpoints import part_resources
from setpoint.workload.summaries.part_timeline import Change, PartTimeline

_API_VERSION = "setpoint.dev/v1"
# The maximum number of objects, and of changes of one object.
_MOST_OBJECTS, _MOST_CHANGES = 500, 100
# The maximum number of changes of all objects, which are in memory during the request.
_MOST_IN_ALL = 5000
# The number of changes between two pauses.
_SLICE = 20


async def timeline(context: Context) -> Response:
    """Returns the timeline. Raises BadRequest for invalid times, and Forbidden."""
    begin, end = _seconds(context, "from") or 0.0, _seconds(context, "to")
    if end is not None and end < begin:
        raise BadRequest("to: must not be before from")
    changes, truncated = await _changes(context)
    found, plurals = PartTimeline(), dict[tuple[str, str], Object]()
    for place, (change, resource) in enumerate(changes):
        if place and place % _SLICE == 0:
            await context.pause()
        if end is None or change.time <= end:
            found.add(change)
            plurals[change.kind, change.name] = resource
    items = [
        {
            "object": plurals[span.part] | {"uid": span.uid},
            "state": span.state,
            "from": _text(max(span.begin, begin)),
            "to": _text(min(span.end, end or span.end)) if span.end is not None else _text(end),
            "waitsFor": list(span.waits_for),
        }
        for span in found.spans(begin, end)
    ]
    path = [
        {"object": plurals[step.part], "from": _text(step.begin), "to": _text(step.end)}
        for step in found.critical_path(begin, end)
    ]
    answer = {"kind": "Timeline", "apiVersion": _API_VERSION, "items": items, "criticalPath": path}
    return await json_answer(context, {**answer, "truncated": truncated})


async def _changes(context: Context) -> tuple[list[tuple[Change, Object]], bool]:
    """Returns the changes of all parts and services in the order of the log, each with the names of its object, and
    True if there are more."""
    store = context.services.store
    found: list[tuple[int, Change, Object]] = []
    truncated, number = False, 0
    for resource in await part_resources(context, "list"):
        await authorize_history(context, resource)
        page = await ranged(context, store, resource.storage.prefix)
        for item in page.items:
            number += 1
            if number > _MOST_OBJECTS or len(found) >= _MOST_IN_ALL:
                return _ordered(found), True
            tree = resource.decode(item.value, item.revision)
            place: Object = {"resource": resource.resource, "group": resource.group, "kind": resource.kind}
            place["name"] = meta.name(tree)
            entries = await store.history(item.key, limit=_MOST_CHANGES + 1)
            truncated = truncated or len(entries) > _MOST_CHANGES
            for entry in entries[:_MOST_CHANGES]:
                if len(found) % _SLICE == 0:
                    await context.pause()
                changed = resource.decode(entry.value, entry.revision) if entry.value is not None else None
                change = Change(entry.time, resource.kind, place["name"], changed)
                found.append((entry.revision, change, place))
    return _ordered(found), truncated


def _ordered(found: list[tuple[int, Change, Object]]) -> list[tuple[Change, Object]]:
    return [(change, place) for _, change, place in sorted(found, key=lambda each: each[0])]


def _seconds(context: Context, name: str) -> float | None:
    text = context.parameter(name)
    if not text:
        return None
    for parse in (parse_micro_time, parse_time):
        try:
            return parse(text).timestamp()
        except ValueError:
            continue
    raise BadRequest(f"{name}: {text!r} is not a time such as 2026-01-31T12:00:00Z")


def _text(seconds: float | None) -> Any:
    return None if seconds is None else format_micro_time(datetime.fromtimestamp(seconds, UTC))
