"""A trace in a form for terminals and assistants: a tree of a bounded number of spans, with errors and log records.

The root and failing spans are kept first, then the longest. A span without a kept parent is below its nearest kept
ancestor. Secrets are masked. Has no side effects.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from setpoint.objects.duration import measured
from setpoint.objects.tree import Object
from setpoint.past.secret_mask import MASK, is_secret_name, masked_text
from setpoint.telemetry.records import LogRecord, Span

# The number of spans that are shown. Their tree may be as deep.
MOST_SPANS = 150
MOST_LOGS = 50
# The number of spans whose attributes are shown if they failed, and of their attributes.
_MOST_DETAILED = 25
_MOST_ATTRIBUTES = 20
_MOST_TEXT = 300
_NANOSECONDS = 1e9


def compact_trace(trace: Object) -> Object:
    """Returns a trace of the API in its compact form."""
    spans = msgspec.convert(trace["spans"], list[Span])
    logs = msgspec.convert(trace["logs"], list[LogRecord])
    return {
        "kind": "Trace",
        **{name: trace[name] for name in ("traceId", "service", "start", "durationNanoseconds", "spanCount", "errors")},
        "name": _text(trace["name"]),
        "omittedSpans": trace["spanCount"] - min(len(spans), MOST_SPANS),
        "spans": _tree(spans),
        "logs": [_record(each) for each in _most_severe(logs)],
        "omittedLogs": max(len(logs) - MOST_LOGS, 0),
    }


def _tree(spans: Sequence[Span]) -> list[Object]:
    """Returns the kept spans without kept ancestors, each with those below."""
    by_id = {each.span_id: each for each in spans}
    first = next((each for each in spans if each.parent_span_id not in by_id), None)
    order = sorted(spans, key=lambda each: (each is not first, not each.is_error, -each.duration_nanoseconds))
    nodes = {each.span_id: _node(each, place < _MOST_DETAILED) for place, each in enumerate(order[:MOST_SPANS])}
    ancestors = _Ancestors(by_id, nodes)
    parents: dict[str, str] = {}
    roots: list[Object] = []
    # The order of the API is that of the starts.
    for span in spans:
        above = ancestors.nearest(span.span_id)
        if span.span_id not in nodes:
            if above:
                nodes[above]["omitted"] += 1
            continue
        if not above or span.span_id in _up(above, parents):
            roots.append(nodes[span.span_id])
        else:
            parents[span.span_id] = above
            nodes[above]["children"].append(nodes[span.span_id])
    return roots


def _up(span: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yields a span and the spans above. Spans of a faulty client may be their own ancestors."""
    while span:
        yield span
        span = parents.get(span, "")


class _Ancestors:
    """Finds the nearest kept ancestors of spans. Chains of parents may be long, or cycles."""

    def __init__(self, by_id: Mapping[str, Span], kept: Collection[str]) -> None:
        self._by_id, self._kept = by_id, kept
        self._found: dict[str, str] = {}

    def nearest(self, span: str) -> str:
        """Returns the ID of the ancestor; an empty string without one."""
        passed: dict[str, None] = {}
        above = self._by_id[span].parent_span_id
        while above in self._by_id and above not in self._kept and above not in self._found and above not in passed:
            passed[above] = None
            above = self._by_id[above].parent_span_id
        found = above if above in self._kept else self._found.get(above, "")
        self._found.update(dict.fromkeys(passed, found))
        return found


def _node(span: Span, is_detailed: bool) -> Object:
    failure: Object = {}
    if span.is_error:
        attributes = _attributes(span.attributes) if is_detailed else {}
        failure = {"error": _text(span.error or "failed"), "attributes": attributes}
    return {
        "spanId": span.span_id,
        "name": _text(span.name),
        "service": span.service,
        "start": span.start,
        "durationNanoseconds": span.duration_nanoseconds,
        **failure,
        "omitted": 0,
        "children": [],
    }


def _record(record: LogRecord) -> Object:
    body = record.body
    message = body.get("message", body.get("msg", body)) if isinstance(body, dict) else body
    message = _without_secrets("", message)
    return {
        "time": record.time,
        "severity": record.severity,
        "service": record.service,
        "spanId": record.span_id,
        "body": _text(message if isinstance(message, str) else msgspec.json.encode(message).decode()),
        "attributes": _attributes(record.attributes),
    }


def _most_severe(logs: Sequence[LogRecord]) -> list[LogRecord]:
    """Returns the most severe log records, of equal ones the newest, in the order of their times."""
    places = sorted(range(len(logs)), key=lambda place: (-logs[place].severity_number, -place))[:MOST_LOGS]
    return [logs[place] for place in sorted(places)]


def _attributes(attributes: Mapping[str, Any]) -> Object:
    shown = list(attributes.items())[:_MOST_ATTRIBUTES]
    return {_text(name): _value(_without_secrets(name, value)) for name, value in shown}


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _text(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _without_secrets(name: str, value: Any) -> Any:
    """Returns a value with the texts of fields masked whose names look like secrets."""
    if isinstance(value, dict):
        return {key: _without_secrets(key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(name, item) for item in value]
    return MASK if isinstance(value, str) and is_secret_name(name) else value


def _text(text: str) -> str:
    hidden = masked_text(text)
    return hidden if len(hidden) <= _MOST_TEXT else f"{hidden[:_MOST_TEXT]}…"


def lines(compact: Object, begin: str) -> Iterator[str]:
    """Yields the lines of a compact trace. `begin` is its start for readers."""
    errors = compact["errors"]
    counts = f"{compact['spanCount']} spans" + (f", {errors} with errors" if errors else "")
    yield f"trace {compact['traceId']}  {begin}  {_time(compact)}  {counts}"
    for root in compact["spans"]:
        yield from _lines(root, "")
    if compact["logs"]:
        yield "logs"
    for record in compact["logs"]:
        fields = "".join(f" {name}={value}" for name, value in record["attributes"].items())
        clock = record["time"].partition("T")[2][:12]
        yield f"  {clock} {record['severity'] or '-':5} {record['service']}  {record['body']}{fields}"
    if compact["omittedLogs"]:
        yield f"  {compact['omittedLogs']} other log records are left out"


def _lines(node: Object, indent: str) -> Iterator[str]:
    is_error = "error" in node
    yield f"{indent}{'! ' if is_error else ''}{node['name']}  {node['service']}  {_time(node)}"
    below = f"{indent}  "
    if is_error:
        yield f"{below}error: {node['error']}"
        yield from (f"{below}{name}={value}" for name, value in node["attributes"].items())
    for child in node["children"]:
        yield from _lines(child, below)
    if node["omitted"]:
        yield f"{below}… {node['omitted']} more spans"


def _time(node: Object) -> str:
    return measured(node["durationNanoseconds"] / _NANOSECONDS)
