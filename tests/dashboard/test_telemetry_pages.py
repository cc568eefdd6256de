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
from tests.dashboard.served_page import ServedPage, new_page

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
