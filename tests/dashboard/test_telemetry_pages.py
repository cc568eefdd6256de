"""Traces, metrics and structured logs on the page, from a service that exports them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.dashboard.axe import violations
from tests.dashboard.browser import Page
from tests.dashboard.served_page import GROUP, ServedPage, executable, new_page

from setpoint.config import Config
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.workload.workloads import WorkloadSettings

pytestmark = pytest.mark.slow

TRACE = "0af7651916cd43dd8448eb211c80319c"
ROOT, CHILD = TRACE[:16], TRACE[16:]
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "api"}}]}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPage]:
    config = Config(telemetry=TelemetrySettings(enabled=True))
    workloads = WorkloadSettings(tmp_path / "workloads", working_directory=tmp_path)
    options: dict[str, Any] = {
        "config": config,
        "workloads": workloads,
        "telemetry": tmp_path / "telemetry",
        "system": False,
    }
    async with new_page(tmp_path / "profile", **options) as served:
        yield served


async def export(served: ServedPage, signal: str, body: dict[str, Any]) -> None:
    """Sends records as the exporter of a service."""
    exporters = served.plane.workloads.machine.exporters
    assert exporters is not None
    headers = {"content-type": "application/json", "setpoint-otlp-key": exporters.key}
    request = Request(f"{await exporters.endpoint()}/v1/{signal}", json.dumps(body).encode(), headers)

    def send() -> int:
        with urlopen(request) as answer:
            return int(answer.status)

    assert await asyncio.to_thread(send) == 200


def span(span_id: str, name: str, begin: int, end: int, **more: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(end)}
    return {"traceId": TRACE, "spanId": span_id, "name": name, **times, **more}


async def export_trace(served: ServedPage) -> None:
    """Exports a trace of two spans, the second with an error, and a log record of the second."""
    now = time.time_ns()
    spans = [
        span(ROOT, "GET /orders", now, now + 200_000_000),
        span(CHILD, "SELECT", now + 50_000_000, now + 150_000_000, parentSpanId=ROOT, status={"code": 2}),
    ]
    await export(served, "traces", {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"spans": spans}]}]})
    record = {
        "timeUnixNano": str(now),
        "severityNumber": 17,
        "severityText": "ERROR",
        "body": {"stringValue": "the query failed"},
        "attributes": [{"key": "table", "value": {"stringValue": "orders"}}],
        "traceId": TRACE,
        "spanId": CHILD,
    }
    await export(served, "logs", {"resourceLogs": [{"resource": RESOURCE, "scopeLogs": [{"logRecords": [record]}]}]})


async def test_a_trace_leads_to_its_logs_and_back(served: ServedPage) -> None:
    await export_trace(served)
    page = await served.open("telemetry")
    await page.wait_text("GET /orders")
    await page.click(".virtual-rows [role=row]")
    await page.wait_text("the query failed")
    rows = await page.run("[...document.querySelectorAll('.waterfall-row')].map((row) => row.textContent.trim())")
    assert [" ".join(row.split()) for row in rows] == ["▾GET /orders of api200 ms", "!error in SELECT of api100 ms"]
    await page.run("document.querySelector('.waterfall .virtual').focus()")
    await page.press("ArrowDown")
    await page.wait(f"location.hash.includes('span={CHILD}')")
    await page.wait("document.querySelector('.log-row.near')")
    assert await violations(page) == []
    await page.click(".log-row .message button")
    await page.click(".details a[href*='telemetry/trace']")
    await page.wait(f"location.hash.startsWith('#/telemetry/trace/{TRACE}')")
    assert page.errors == []


async def test_log_records_arrive_and_are_filtered_by_fields(served: ServedPage) -> None:
    page = await served.open("telemetry?tab=logs")
    await page.wait_text("No record matches")
    await export_trace(served)
    await page.wait_text("the query failed")
    await page.click(".log-row .message button")
    await page.click("[aria-label='Only records with table=orders']")
    await page.wait("location.hash.includes('fields=')")
    await page.run("location.hash = location.hash.replace('orders', 'others')")
    await page.wait_text("No record matches")
    assert page.errors == []


async def test_a_metric_is_a_chart(served: ServedPage) -> None:
    now = time.time_ns()
    points = [{"timeUnixNano": str(now - place * 1_000_000_000), "asDouble": place} for place in range(5)]
    metric = {"name": "queue.length", "unit": "1", "gauge": {"dataPoints": points}}
    await export(
        served, "metrics", {"resourceMetrics": [{"resource": RESOURCE, "scopeMetrics": [{"metrics": [metric]}]}]}
    )
    page = await served.open("telemetry?tab=metrics", width=400, theme="dark")
    await page.wait("document.querySelector('.chart .line')?.getAttribute('d').split('L').length === 5")
    assert await page.run("document.documentElement.scrollWidth <= innerWidth")
    assert await violations(page) == []
    assert page.errors == []


UNKNOWN = "b7ad6b7169203331b7ad6b7169203331"
LINES = (
    f"handled the order in trace {TRACE}",
    json.dumps({"level": "info", "msg": "forwarded", "traceparent": f"00-{TRACE}-{ROOT}-01"}),
    f"the hash is {UNKNOWN}",
    "a line without an ID",
)
LOG_LINES = "[...document.querySelectorAll('.log-line')].map((line) => line.querySelector('.log-text').textContent)"
LINKED = "[...document.querySelectorAll('.log-line')].filter((line) => line.querySelector('.log-trace')).length"


async def start_service(served: ServedPage) -> None:
    """Starts the service of the trace, which prints the lines after its spans have begun."""
    code = f"import time\nfor line in {LINES!r}: print(line)\ntime.sleep(1000)"
    await served.api("POST", f"/apis/{GROUP}/v1/executables", executable("api", code))


async def lines_shown(page: Page, count: int) -> list[str]:
    await page.wait(f"{LOG_LINES}.length === {count}")
    found: list[str] = await page.run(LOG_LINES)
    return found


async def looked_up(page: Page) -> None:
    """Waits until the page has asked for the IDs of its lines."""
    while not any("/telemetry/traces?ids=" in each for each in page.requests):
        await asyncio.sleep(0.01)


async def test_a_plain_line_leads_to_its_trace_and_the_trace_to_its_lines(served: ServedPage) -> None:
    await export_trace(served)
    await start_service(served)
    page = await served.open("logs")
    await lines_shown(page, len(LINES))
    await page.wait(f"{LINKED} === 2")
    assert len([each for each in page.requests if "/telemetry/traces?ids=" in each]) == 1
    await page.run("document.querySelector('.log-line').click()")
    await page.wait("document.querySelector('dialog a')?.innerText === 'Open the trace GET /orders'")
    assert await violations(page) == []
    await page.click("dialog a")
    await page.wait(f"location.hash.startsWith('#/telemetry/trace/{TRACE}')")
    assert (await lines_shown(page, 2))[0].endswith(LINES[0])
    assert "forwarded" in (await page.run(LOG_LINES))[1]
    assert await page.run(LINKED) == 0
    assert await violations(page) == []
    assert page.errors == []


async def test_a_trace_that_arrives_after_its_lines_becomes_their_link(served: ServedPage) -> None:
    await start_service(served)
    page = await served.open("logs")
    await lines_shown(page, len(LINES))
    await looked_up(page)
    assert await page.run(LINKED) == 0
    await export_trace(served)
    await page.wait(f"{LINKED} === 2")
    assert page.errors == []


async def test_lines_have_no_links_for_a_user_without_the_right_to_telemetry(served: ServedPage) -> None:
    await export_trace(served)
    await start_service(served)
    read = ["get", "list", "watch"]
    resources = ["executables", "executables/log", "containers", "containers/log"]
    rules = [
        {"apiGroups": [GROUP], "resources": resources, "verbs": read},
        {"apiGroups": ["setpoint.dev"], "resources": ["summaries"], "verbs": read},
    ]
    await served.role("reader", rules)
    page = await served.open("logs", user="reader")
    await lines_shown(page, len(LINES))
    await looked_up(page)
    await page.run("document.querySelector('.log-line').click()")
    await page.wait("document.querySelector('dialog pre')")
    assert await page.run(LINKED) == 0
    assert await page.run("document.querySelectorAll('dialog a, [role=alert]').length") == 0


async def test_a_trace_names_the_missing_right_to_plain_lines(served: ServedPage) -> None:
    await export_trace(served)
    await start_service(served)
    await served.role("tracer", [{"apiGroups": ["setpoint.dev"], "resources": ["telemetry"], "verbs": ["get", "list"]}])
    page = await served.open(f"telemetry/trace/{TRACE}", user="tracer")
    await page.wait_text("requires the right to their logs")
    await page.wait_text("GET /orders")
    assert await page.run("document.querySelectorAll('.log-line').length") == 0
