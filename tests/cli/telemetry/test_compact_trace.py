"""The compact form of traces: bounded trees with errors, from any spans, without secrets."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.telemetry.samples import log, span

from setpoint.cli.telemetry.compact_trace import MOST_LOGS, MOST_SPANS, compact_trace, lines
from setpoint.objects.tree import Object
from setpoint.telemetry.records import Event, LogRecord, Span, SpanStatus


def trace_of(spans: Sequence[Span], logs: Sequence[LogRecord] = ()) -> Object:
    """Returns the answer of the API."""
    summary = {"traceId": f"{1:032x}", "name": "GET /", "service": "shop", "start": spans[0].start}
    counts = {"durationNanoseconds": 5_000_000, "spanCount": len(spans), "errors": sum(each.is_error for each in spans)}
    return {**summary, **counts, "spans": msgspec.to_builtins(spans), "logs": msgspec.to_builtins(logs)}


def failed(number: int, message: str = "", parent: int = 0, **attributes: Any) -> Span:
    made = span(number, parent=parent, code="Error")
    return replace(made, status=SpanStatus("Error", message), attributes=attributes)


def walk(nodes: Sequence[Object]) -> Iterator[Object]:
    for each in nodes:
        yield each
        yield from walk(each["children"])


def test_failing_spans_show_errors_and_attributes() -> None:
    event = Event("2026-01-31T12:00:00Z", "exception", {"exception.type": "OSError", "exception.message": "refused"})
    query = replace(failed(2, parent=1, table="orders"), name="query", events=[event])
    trace = compact_trace(trace_of([span(1, name="GET /"), query], [log(3, "lost", severity=17, trace=1)]))
    assert list(lines(trace, "14:02:11")) == [
        f"trace {1:032x}  14:02:11  5 ms  2 spans, 1 with errors",
        "GET /  shop  1 s",
        "  ! query  shop  1 s",
        "    error: OSError: refused",
        "    table=orders",
        "logs",
        "  12:00:03.000 ERROR shop  lost",
    ]
    assert "attributes" not in trace["spans"][0]


def test_secrets_are_masked_in_all_texts() -> None:
    url = "postgres://jane:geheim@db/orders"
    attributes: dict[str, Any] = {
        "db.password": "geheim",
        "url": url,
        "headers": {"api-key": "geheim", "n": [url]},
        "token_count": 7,
    }
    spans = [replace(failed(1, f"cannot reach {url}", **attributes), name=f"connect {url}")]
    record = replace(log(2, trace=1), body={"message": {"secret": "geheim"}}, attributes={"token": "geheim", "at": url})
    trace = compact_trace(trace_of(spans, [record]))
    text = "\n".join(lines(trace, ""))
    assert "geheim" not in f"{trace}{text}"
    assert text.count("jane:***@db") == 5
    assert trace["spans"][0]["attributes"]["token_count"] == 7


def test_large_trace_keeps_failing_and_long_spans_and_counts_the_others() -> None:
    below = [span(number, parent=1) for number in range(2, 2000)]
    long = replace(span(2000, parent=1), duration_nanoseconds=10**12)
    deep = failed(2002, "lost", parent=2001)
    middle = replace(span(2001, parent=1), duration_nanoseconds=0)
    trace = compact_trace(trace_of([span(1), *below, long, middle, deep]))
    nodes = list(walk(trace["spans"]))
    assert len(nodes) == MOST_SPANS
    assert trace["omittedSpans"] == 2002 - MOST_SPANS == sum(each["omitted"] for each in nodes)
    [root] = trace["spans"]
    assert {f"{number:016x}" for number in (2000, 2002)} <= {each["spanId"] for each in root["children"]}


def test_most_severe_log_records_are_kept_in_their_order() -> None:
    records = [log(number, trace=1) for number in range(1, 200)]
    records[10] = log(11, "lost", severity=17, trace=1)
    trace = compact_trace(trace_of([span(1)], records))
    bodies = [each["body"] for each in trace["logs"]]
    assert len(bodies) == MOST_LOGS
    assert (bodies[0], bodies[-1], trace["omittedLogs"]) == ("lost", "line 199", 199 - MOST_LOGS)
    assert list(lines(trace, ""))[-1].strip() == f"{199 - MOST_LOGS} other log records are left out"


def test_chain_of_spans_is_no_deeper_than_the_kept_spans() -> None:
    chain = [span(number, parent=number - 1) for number in range(1, 5000)]
    trace = compact_trace(trace_of(chain))
    assert len(list(walk(trace["spans"]))) == MOST_SPANS
    assert msgspec.json.encode(trace)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12))
def test_every_span_is_once_in_the_tree_whatever_its_parents_are(parents: list[int]) -> None:
    spans = [span(number, parent=parent) for number, parent in enumerate(parents, 1)]
    found = [each["spanId"] for each in walk(compact_trace(trace_of(spans))["spans"])]
    assert sorted(found) == [each.span_id for each in spans]
