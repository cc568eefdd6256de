"""Queries of traces, metrics and logs.

    GET /apis/setpoint.dev/v1/telemetry/services
    GET /apis/setpoint.dev/v1/telemetry/traces[?service=&text=&minDuration=10ms&errors=true&limit=&before=&ids=]
    GET /apis/setpoint.dev/v1/telemetry/traces/ID
    GET /apis/setpoint.dev/v1/telemetry/metrics[?service=]
    GET /apis/setpoint.dev/v1/telemetry/metrics/NAME[?service=&since=]
    GET /apis/setpoint.dev/v1/telemetry/logs[?service=&severity=&text=&traceId=&limit=&before=]

Lists of traces and logs have the newest records first; `before` is the `continue` of the page before, or a time. With
`watch=true`, a list is a stream of the records that arrive from then on, one line of JSON each. Access requires the
verb get, list or watch on `telemetry` in the group `setpoint.dev`. The path below `telemetry` is no part of the right.
`ids` has the IDs of up to 100 traces, separated by commas: a program that finds IDs in texts learns which are traces.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from setpoint.objects import duration
from setpoint.objects.errors import BadRequest, NotFound, ServiceUnavailable
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import OWN_GROUP, TELEMETRY
from setpoint.server.telemetry.watches import TelemetryWatch, shown_logs, shown_points, shown_services, shown_traces
from setpoint.telemetry.moments import format_nanoseconds, parse_nanoseconds
from setpoint.telemetry.queries import (
    LogQuery,
    Page,
    Place,
    TraceQuery,
    json_needle,
    select_logs,
    select_series,
    select_traces,
    spans_of,
)
from setpoint.telemetry.store import TelemetryStore

RESOURCE: Final = GroupResource(OWN_GROUP, TELEMETRY)
_API_VERSION: Final = f"{OWN_GROUP}/v1"
_DEFAULT_LIMIT, _MAX_LIMIT = 100, 1000
# The maximum number of spans of a trace, and of log records with it.
_MAX_SPANS, _MAX_TRACE_LOGS = 5000, 500
_MAX_TEXT: Final = 500
_MAX_IDS: Final = 100
_SEVERITIES: Final = {"TRACE": 1, "DEBUG": 5, "INFO": 9, "WARN": 13, "ERROR": 17, "FATAL": 21}
_is_trace_id = re.compile(r"[0-9a-f]{32}").fullmatch
_PLACE = re.compile(r"([0-9]{1,20})-([0-9]{1,18})")


async def answer(context: Context) -> Response:
    """Returns the response to a get, list or watch. Raises NotFound for an unknown path."""
    name, below = context.info.name or "services", "/".join(context.info.subpath)
    select, select_one = _LISTS.get(name), _OBJECTS.get(name)
    if select is None or (below and select_one is None):
        raise NotFound.of(RESOURCE, f"{name}/{below}" if below else name)
    recorder = context.services.telemetry
    if recorder is None:
        raise ServiceUnavailable(
            "this server receives no telemetry: start the app with `setpoint up`, or the server with --workloads and "
            "--telemetry-enabled"
        )
    await recorder.loaded()
    if below and select_one is not None:
        return await select_one(context, recorder.store, below)
    return await select(context, recorder.store)


async def _services(context: Context, store: TelemetryStore) -> Response:
    if _is_watch(context):
        return _watch(context, store, shown_services(store))
    counts = {"spans": store.spans.services(), "logs": store.logs.services(), "points": store.points.services()}
    items = [
        {
            "name": service,
            **{name: found.get(service, (0, 0))[0] for name, found in counts.items()},
            "lastSeen": format_nanoseconds(max(found.get(service, (0, 0))[1] for found in counts.values())),
        }
        for service in sorted(store.services())
    ]
    return await _list(context, "TelemetryServiceList", [msgspec.json.encode(each) for each in items])


async def _traces(context: Context, store: TelemetryStore) -> Response:
    query = TraceQuery(
        _text(context, "service"),
        _text(context, "text"),
        _duration(context, "minDuration"),
        _flag(context, "errors"),
        _limit(context),
        _before(context),
        _ids(context),
    )
    if _is_watch(context):
        return _watch(context, store, shown_traces(store, query))
    return await _page(context, "TraceList", await select_traces(store, query, context.pause))


async def _trace(context: Context, store: TelemetryStore, trace_id: str) -> Response:
    """Returns the spans of a trace, and the log records that name the trace."""
    found = spans_of(store, trace_id.lower(), _MAX_SPANS)
    if found is None or _is_watch(context):
        raise NotFound.of(RESOURCE, f"traces/{trace_id}")
    spans, summary = found
    wanted = LogQuery(trace_id=trace_id.lower(), limit=_MAX_TRACE_LOGS)
    logs = await select_logs(store, wanted, context.pause)
    tree: Object = {
        "kind": "Trace",
        "apiVersion": _API_VERSION,
        **msgspec.to_builtins(summary),
        "truncated": summary.spans > _MAX_SPANS,
    }
    tree["spanCount"] = tree["spans"]
    tree["spans"] = [msgspec.Raw(each) for each in spans]
    tree["logs"] = [msgspec.Raw(each) for each in reversed(logs.items)]
    return await json_answer(context, tree)


async def _metrics(context: Context, store: TelemetryStore) -> Response:
    service = _text(context, "service")
    if _is_watch(context):
        return _watch(context, store, shown_points(service, ""))
    items = [msgspec.json.encode(each) for each in store.metrics(service)]
    return await _list(context, "MetricList", items)


async def _metric(context: Context, store: TelemetryStore, name: str) -> Response:
    service, since = _text(context, "service"), _time(context, "since")
    if _is_watch(context):
        return _watch(context, store, shown_points(service, name))
    found = await select_series(store, name, service, since, context.pause)
    if found is None:
        raise NotFound.of(RESOURCE, f"metrics/{name}")
    tree: Object = {
        "kind": "Metric",
        "apiVersion": _API_VERSION,
        **msgspec.to_builtins(found.metric),
        "truncated": found.truncated,
        "series": [msgspec.Raw(msgspec.json.encode(each)) for each in found.series],
    }
    return await json_answer(context, tree)


async def _logs(context: Context, store: TelemetryStore) -> Response:
    trace_id = _text(context, "traceId").lower()
    if trace_id:
        _check_id("traceId", trace_id)
    query = LogQuery(
        _text(context, "service"),
        _severity(context),
        _text(context, "text"),
        trace_id,
        _limit(context),
        _before(context),
    )
    if _is_watch(context):
        return _watch(context, store, shown_logs(query, json_needle(query.text)))
    return await _page(context, "TelemetryLogList", await select_logs(store, query, context.pause))


def _is_watch(context: Context) -> bool:
    return context.info.verb == "watch"


def _watch(context: Context, store: TelemetryStore, shown: Callable[..., Sequence[bytes]]) -> Response:
    return Response(200, "application/json", TelemetryWatch(store, shown))


async def _page(context: Context, kind: str, page: Page) -> Response:
    following = page.following
    place = f"{following.time}-{following.number}" if following is not None else ""
    return await _list(context, kind, page.items, place)


async def _list(context: Context, kind: str, items: Sequence[bytes], following: str = "") -> Response:
    metadata = {"continue": following} if following else {}
    raw = [msgspec.Raw(each) for each in items]
    return await json_answer(context, {"kind": kind, "apiVersion": _API_VERSION, "metadata": metadata, "items": raw})


def _text(context: Context, name: str) -> str:
    found = context.parameter(name)
    if len(found) > _MAX_TEXT:
        raise BadRequest(f"{name} has more than {_MAX_TEXT} characters: use a shorter text")
    return found


def _ids(context: Context) -> frozenset[str]:
    given = context.parameter("ids").lower()
    if given.count(",") >= _MAX_IDS:
        raise BadRequest(f"ids has more than {_MAX_IDS} IDs: send several requests")
    found = frozenset(given.split(",")) if given else frozenset()
    for each in found:
        _check_id("ids", each)
    return found


def _check_id(name: str, trace_id: str) -> None:
    if not _is_trace_id(trace_id):
        raise BadRequest(f"{name} must have 32 hexadecimal digits, not {trace_id[:_MAX_TEXT]!r}")


def _flag(context: Context, name: str) -> bool:
    found = context.parameter(name)
    if found not in ("", "true", "false"):
        raise BadRequest(f"{name} must be true or false, not {found!r}")
    return found == "true"


def _limit(context: Context) -> int:
    text = context.parameter("limit")
    if not text:
        return _DEFAULT_LIMIT
    if not text.isdecimal() or len(text) > 9 or not int(text):
        raise BadRequest(f"limit must be a number from 1, not {text!r}")
    return min(int(text), _MAX_LIMIT)


def _severity(context: Context) -> int:
    """Returns the smallest wanted severity, by its number."""
    text = context.parameter("severity").upper()
    if text.isdecimal() and len(text) <= 2:
        return int(text)
    if text and text not in _SEVERITIES:
        raise BadRequest(f"severity must be one of {', '.join(_SEVERITIES)}, or a number up to 24, not {text!r}")
    return _SEVERITIES.get(text, 0)


def _duration(context: Context, name: str) -> int:
    """Returns nanoseconds."""
    text = context.parameter(name)
    try:
        return duration.parse(text) if text else 0
    except ValueError as error:
        raise BadRequest(f"{name} must be a duration such as 10ms: {error}") from None


def _time(context: Context, name: str) -> int:
    """Returns nanoseconds since 1970; 0 if absent."""
    text = context.parameter(name)
    try:
        return parse_nanoseconds(text) if text else 0
    except ValueError:
        raise BadRequest(f"{name} must be a time in RFC 3339, e.g. 2026-01-31T12:00:00Z, not {text!r}") from None


def _before(context: Context) -> Place | None:
    text = context.parameter("before")
    if place := _PLACE.fullmatch(text):
        return Place(int(place[1]), int(place[2]))
    return Place(_time(context, "before")) if text else None


_Select: TypeAlias = Callable[[Context, TelemetryStore], Awaitable[Response]]
_LISTS: Mapping[str, _Select] = {"services": _services, "traces": _traces, "metrics": _metrics, "logs": _logs}
_SelectOne: TypeAlias = Callable[[Context, TelemetryStore, str], Awaitable[Response]]
_OBJECTS: Mapping[str, _SelectOne] = {"traces": _trace, "metrics": _metric}
