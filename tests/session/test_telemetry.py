"""The telemetry of a real service: received by its session, kept for the next run, and part of an archive."""

import asyncio
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.session.apps import WAITS, Running, app

from setpoint.past.archive.reader import opened, read_manifest
from setpoint.plane.telemetry import stored_receiver
from setpoint.session.archive.sources import ServerSource
from setpoint.session.archive.unpack import unpack
from setpoint.session.archive.writer import ArchiveContents, write_archive
from setpoint.session.paths import Places
from setpoint.telemetry.journal import Journal

pytestmark = pytest.mark.slow

API = "/apis/setpoint.dev/v1/telemetry"
# Sends a trace with two spans, and a counter; then waits to be ended.
SERVICE = """
import os, signal, sys
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

traces = TracerProvider()
traces.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
tracer = traces.get_tracer("shop")
with tracer.start_as_current_span("GET /cart"), tracer.start_as_current_span("query") as span:
    span.set_attribute("key", os.environ["OTEL_EXPORTER_OTLP_HEADERS"])
metrics = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
metrics.get_meter("shop").create_counter("orders").add(3)
metrics.force_flush()
signal.pause()
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


async def listed(running: Running, below: str) -> list[Any]:
    answer = await running.client.raw("GET", f"{API}/{below}")
    found: list[Any] = json.loads(answer.body)["items"]
    return found


async def until(running: Running, below: str) -> list[Any]:
    """The items of a list once there are any."""
    async with asyncio.timeout(90):
        while not (found := await listed(running, below)):
            await asyncio.sleep(0.1)
    return found


async def test_a_service_is_traced_without_configuration_and_its_records_stay(tmp_path: Path) -> None:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "service.py").write_text(SERVICE)
    text = f"app: shop\nservices: {{ api: {{ run: {json.dumps([sys.executable, 'service.py'])} }} }}\n"
    async with app(directory, text) as shop:
        metrics = await until(shop, "metrics")
        assert [(each["name"], each["service"], each["type"]) for each in metrics] == [("orders", "api", "sum")]
        [trace] = await listed(shop, "traces")
        assert (trace["name"], trace["service"], trace["spans"]) == ("GET /cart", "api", 2)
        spans = json.loads((await shop.client.raw("GET", f"{API}/traces/{trace['traceId']}")).body)["spans"]
        assert [(each["name"], each["instance"]) for each in spans] == [("GET /cart", "api"), ("query", "api")]
        # The key is in the environment of the process, and in no object.
        key = stored_receiver(shop.places.telemetry).key
        assert spans[1]["attributes"]["key"] == f"setpoint-otlp-key={key}"
        revisions = await shop.client.raw("GET", "/apis/setpoint.dev/v1/revisions", query=[("objects", "true")])
        assert key
        assert key not in revisions.body.decode()
        assert b"OTEL_EXPORTER_OTLP_HEADERS" in revisions.body
        path = tmp_path / "shop.setpoint"
        wanted = ArchiveContents("shop", "", telemetry=shop.places.telemetry, telemetry_key=key)
        async with asyncio.timeout(30):
            # A thread writes the records to the files.
            while len([each for part in Journal(shop.places.telemetry, 0).read() for each in part]) < 3:
                await asyncio.sleep(0.05)
        await write_archive(path, ServerSource(shop.client), wanted, shop.client.clock)
    with zipfile.ZipFile(path) as archive:
        assert all(key.encode() not in archive.read(name) for name in archive.namelist())
    places = Places(tmp_path / "imported")
    places.data.mkdir()
    with opened(path) as found:
        unpack(found, read_manifest(found), places)
    assert len([each for part in Journal(places.telemetry, 0).read() for each in part]) == 3
    async with app(directory, "app: shop\nservices: {}\n") as shop:
        assert [each["traceId"] for each in await listed(shop, "traces")] == [trace["traceId"]]
        assert stored_receiver(shop.places.telemetry).key == key


async def test_telemetry_can_be_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETPOINT_TELEMETRY", "off")
    text = f"app: shop\nservices: {{ api: {{ run: {WAITS} }} }}\n"
    async with app(tmp_path / "shop", text) as shop:
        await shop.running("api")
        found = await shop.get("Executable", "api")
        names = {each["name"] for each in found["status"]["effectiveEnv"]}
        assert {name for name in names if name.startswith("OTEL_")} == set()
        assert await listed(shop, "services") == []
