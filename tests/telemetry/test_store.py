"""The store keeps the newest records within its bounds, and its queries find them."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.telemetry.samples import BEGIN, START, held, log, point, span

from setpoint.objects.clock import ManualClock
from setpoint.telemetry.held import HeldSpan, lines
from setpoint.telemetry.journal import Journal
from setpoint.telemetry.moments import SECOND, format_nanoseconds
from setpoint.telemetry.queries import (
    SLICE,
    LogQuery,
    TraceQuery,
    select_logs,
    select_series,
    select_traces,
    spans_of,
)
from setpoint.telemetry.recorder import TelemetryRecorder
from setpoint.telemetry.records import Buckets, Distribution, Event, SpanStatus
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.telemetry.store import TelemetryStore


class Pauses:
    """Counts the pauses of a query."""

    count = 0

    async def __call__(self) -> None:
        self.count += 1


def store(**settings: Any) -> TelemetryStore:
    return TelemetryStore(TelemetrySettings(**settings), ManualClock(START))


def decoded(items: Sequence[bytes]) -> list[Any]:
    return [json.loads(each) for each in items]


async def test_the_oldest_records_of_a_full_service_are_removed_first() -> None:
    made = store(max_service_records=3)
    made.add(held(*(span(number, trace=number) for number in range(1, 6)), span(9, service="other", trace=9)))
    page = await select_traces(made, TraceQuery(), Pauses())
    assert [each["name"] for each in decoded(page.items)] == ["span 9", "span 5", "span 4", "span 3"]
    assert made.spans.services()["shop"][0] == 3
    assert len(made.traces) == 4


async def test_all_services_together_are_bounded_in_number_and_bytes() -> None:
    made = store(max_records=4)
    made.add(held(*(log(number, service=f"s{number % 3}") for number in range(10))))
    assert len(made.logs) == 4
    size = held(log(1))[0].size
    bounded = store(max_bytes=5 * size, max_service_bytes=3 * size)
    bounded.add(held(*(log(number, service=f"s{number % 3}") for number in range(10, 100))))
    assert len(bounded.logs) == 5
    bounded.add(held(*(log(number, service="s0") for number in range(10, 100))))
    assert bounded.logs.services()["s0"][0] == 3
    assert bounded.logs.size == sum(each.size for each in bounded.logs.newest_first())


async def test_records_beyond_the_number_of_services_and_series_are_refused_with_the_setting() -> None:
    made = store(max_services=2, max_series=2)
    added, refusal = made.add(held(log(1, service="a"), log(1, service="b"), log(1, service="c"), log(2, service="a")))
    assert (len(added), refusal.rejected) == (3, 1)
    assert "telemetry.maxServices" in refusal.reason
    points = [point(1, 1, service="a", color=color) for color in ("red", "green", "blue", "red")]
    added, refusal = made.add(held(*points))
    assert (len(added), refusal.rejected) == (3, 1)
    assert "telemetry.maxSeries" in refusal.reason


async def test_a_record_that_exceeds_the_bound_alone_is_refused() -> None:
    made = store(max_service_bytes=2000)
    added, refusal = made.add(held(log(1, "x" * 3000), log(2)))
    assert (len(added), refusal.rejected) == (1, 1)
    assert "telemetry.maxServiceBytes" in refusal.reason


async def test_records_expire_after_the_retention() -> None:
    clock = ManualClock(START)
    made = TelemetryStore(TelemetrySettings(retention_seconds=60.0), clock)
    made.add(held(span(0), log(0), point(0, 1)))
    clock.advance(50)
    # The clock of this client is wrong.
    made.add(held(span(-900, trace=2), log(-900), point(-900, 2)))
    clock.advance(20)
    made.expire()
    assert (len(made.spans), len(made.logs), len(made.points)) == (1, 1, 1)
    clock.advance(70)
    made.expire()
    made.add(held(log(10)), stored=True)  # of an earlier run, which ended long ago
    assert (made.services(), made.traces, made.series, made.metrics()) == (set(), {}, {}, [])


async def test_traces_are_found_by_service_text_duration_and_errors() -> None:
    made = store()
    made.add(
        held(
            span(1, name="GET /cart", trace=1),
            span(2, parent=1, trace=1, service="db", name="query", code="Error"),
            span(3, name="GET /health", trace=2),
        )
    )

    async def names(**wanted: Any) -> list[str]:
        page = await select_traces(made, TraceQuery(**wanted), Pauses())
        return [each["name"] for each in decoded(page.items)]

    assert await names() == ["GET /health", "GET /cart"]
    assert await names(service="db") == ["GET /cart"]
    assert await names(text="QUERY") == ["GET /cart"]
    assert await names(text=f"{2:032x}") == ["GET /health"]
    assert await names(errors=True) == ["GET /cart"]
    assert await names(min_duration=2 * SECOND) == ["GET /cart"]
    [cart] = [each for each in decoded((await select_traces(made, TraceQuery(), Pauses())).items) if each["errors"]]
    assert (cart["service"], cart["services"], cart["spans"]) == ("shop", ["db", "shop"], 2)
    assert cart["durationNanoseconds"] == 2 * SECOND


async def test_the_summary_of_a_trace_follows_its_remaining_spans() -> None:
    made = store(max_records=2)
    made.add(held(span(1, name="root"), span(2, parent=1), span(3, parent=1, name="last", code="Error")))
    [found] = decoded((await select_traces(made, TraceQuery(), Pauses())).items)
    assert (found["name"], found["spans"], found["errors"]) == ("span 2", 2, 1)


async def test_summary_has_the_message_of_the_span_that_failed_first() -> None:
    made = store(max_service_records=3)
    event = Event("", "exception", {"exception.type": "OSError", "exception.message": "refused"})
    inner = replace(span(2, parent=1, code="Error"), events=[event])
    outer = replace(span(1), end=format_nanoseconds(BEGIN + 9 * SECOND), status=SpanStatus("Error", "x" * 1000))

    def error() -> str:
        return made.traces[f"{1:032x}"].summary().error

    made.add(held(span(3)))
    assert error() == ""
    made.add(held(outer))
    assert error() == "x" * 300
    made.add(held(inner))
    assert error() == "OSError: refused"
    made.add(held(span(4), span(5)))  # the records before `inner` are removed
    assert error() == "OSError: refused"
    made.add(held(span(6)))
    assert error() == ""


async def test_a_span_that_is_sent_twice_is_returned_once() -> None:
    made = store()
    made.add(held(span(2, parent=1), span(1), span(2, parent=1)))
    found = spans_of(made, f"{1:032x}", 10)
    assert found is not None
    assert [each["spanId"] for each in decoded(found[0])] == [f"{1:016x}", f"{2:016x}"]
    assert spans_of(made, f"{7:032x}", 10) is None


async def test_pages_of_logs_have_every_record_once_even_with_equal_times() -> None:
    made = store()
    made.add(held(*(log(number // 3, f"text {number}") for number in range(20)), log(0, "late")))
    found: list[str] = []
    query = LogQuery(limit=4)
    while True:
        page = await select_logs(made, query, Pauses())
        found += [each["body"] for each in decoded(page.items)]
        if page.following is None:
            break
        query = query._replace(before=page.following)
    assert sorted(found) == sorted([f"text {number}" for number in range(20)] + ["late"])
    assert found[0] == "text 19"


async def test_logs_are_found_by_severity_text_and_trace() -> None:
    made = store()
    made.add(held(log(1, 'said "Ünïque"', severity=17), log(2, trace=7), log(3, severity=5), log(4, service="db")))

    async def bodies(**wanted: Any) -> list[str]:
        return [each["body"] for each in decoded((await select_logs(made, LogQuery(**wanted), Pauses())).items)]

    assert await bodies(severity=9) == ["line 4", "line 2", 'said "Ünïque"']
    assert await bodies(text='said "Ünïque"') == ['said "Ünïque"']
    assert await bodies(trace_id=f"{7:032x}") == ["line 2"]
    assert await bodies(service="db") == ["line 4"]


async def test_a_query_pauses_after_each_slice() -> None:
    made = store()
    made.add(held(*(log(number) for number in range(10 * SLICE))))
    pauses = Pauses()
    await select_logs(made, LogQuery(text="absent"), pauses)
    assert pauses.count == 10


async def test_series_have_their_points_in_order_and_quantiles_of_each_interval() -> None:
    made = store()
    made.add(held(point(1, 3, color="red"), point(2, 5, color="red"), point(2, 1, color="blue")))
    bounds = (10.0, 100.0)
    for number, counts in enumerate(((10, 0, 0), (10, 10, 0))):
        value = Distribution(sum(counts), 1.0)
        made.add(held(point(number, value, name="latency", kind="histogram", buckets=Buckets(bounds, counts, 1))))
    shown = await select_series(made, "orders", "shop", 0, Pauses())
    assert shown is not None
    values = {str(each.attributes["color"]): [value for _, value in each.points] for each in shown.series}
    assert values == {"red": [3, 5], "blue": [1]}
    assert shown.series[0].points[0][0] == (BEGIN + SECOND) / 1e6
    latency = await select_series(made, "latency", "", 0, Pauses())
    assert latency is not None
    assert [value.p50 for _, value in latency.series[0].points if isinstance(value, Distribution)] == [5.0, 55.0]
    assert [(each.name, each.type, each.unit) for each in made.metrics()] == [
        ("latency", "histogram", "1"),
        ("orders", "sum", "1"),
    ]
    assert await select_series(made, "absent", "", 0, Pauses()) is None


async def test_subscribers_receive_what_is_added_until_they_end() -> None:
    made = store()
    seen: list[str] = []
    end = made.subscribe(lambda found: seen.extend(each.name for each in found if isinstance(each, HeldSpan)))
    made.add(held(span(1), log(1)))
    end()
    made.add(held(span(2)))
    assert seen == ["span 1"]


async def test_stored_records_are_there_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock(START)

    async def opened() -> TelemetryRecorder:
        made = TelemetryRecorder(
            TelemetryStore(TelemetrySettings(), clock), Journal(tmp_path / "telemetry", 1 << 20), clock
        )
        made.start()
        await made.loaded()
        return made

    first = await opened()
    distribution = Distribution(3, 6.0, 1.0, 2.0, 3.0)
    await first.add(
        held(span(1), log(1), point(1, 7, color="red"), point(1, distribution, name="size", kind="summary"))
    )
    await first.close()
    second = await opened()
    await second.add(held(span(2)))
    await second.close()
    third = await opened()
    assert (len(third.store.spans), len(third.store.logs), len(third.store.points)) == (2, 1, 2)
    assert third.store.spans.size == first.store.spans.size + held(span(2))[0].size
    shown = await select_series(third.store, "size", "shop", 0, Pauses())
    assert shown is not None
    assert [value for _, value in shown.series[0].points] == [distribution]
    await third.close()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.jsonl")} == {0o600}


def test_files_are_bounded_and_damaged_lines_are_skipped(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 8 * 1000)
    for number in range(200):
        journal.append(lines(held(log(number))))
    sizes = [path.stat().st_size for path in journal.files()]
    assert len(sizes) == 8
    assert sum(sizes) < 8 * 1000 + 8 * 500
    with journal.files()[-1].open("ab") as file:
        file.write(b'{"log":{"time":"2026')
    found = [each for part in Journal(tmp_path, 8000).read() for each in part]
    assert found
    assert found[-1].time == BEGIN + 199 * SECOND


@pytest.mark.parametrize("seconds", [0, 5])
async def test_records_from_the_future_do_not_stay_beyond_the_bounds(seconds: int) -> None:
    made = store(max_records=5)
    future = int(timedelta(days=4000).total_seconds())
    made.add(held(*(log(future + seconds) for _ in range(20))))
    assert len(made.logs) == 5
