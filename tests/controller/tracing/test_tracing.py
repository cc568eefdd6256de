"""Traces: one for each reconcile, from the queue to the requests, recorded by OpenTelemetry's own SDK."""

import asyncio
import builtins
from typing import Any

import pytest
from tests.controller.manager.worlds import CONFIG_MAP, config_map, new_plane, running, until

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.manager import Manager
from setpoint.controller.request import Request
from setpoint.controller.tracing import find_tracer

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="OpenTelemetry is not installed")
export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


@pytest.mark.feature("E22", "E79")
async def test_a_reconcile_is_a_span_with_its_wait_and_its_requests_inside() -> None:
    async with new_plane() as (_, client):
        kept = export.InMemorySpanExporter()
        provider = sdk.TracerProvider()
        provider.add_span_processor(sdk.export.SimpleSpanProcessor(kept))

        async def reconcile(ctx: Context, request: Request) -> None:
            if request.name == "bad":
                raise ValueError("no good")
            if request.name == "one":
                await ctx.client.create(config_map("child"))

        maps = Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"])
        async with running(Manager(client, controllers=[maps], tracing=find_tracer(provider))):
            await client.create(config_map("one"))
            await client.create(config_map("bad"))
            await until(lambda: sum(run.error is not None for run in maps.runs) > 0 and len(maps.runs) >= 3)
            await asyncio.sleep(0.01)
        spans = kept.get_finished_spans()
        runs = [span for span in spans if span.name == "reconcile maps"]
        [one] = [span for span in runs if span.attributes["reconcile.key"] == "default/one"]
        inside = [span for span in spans if span.parent is not None and span.parent.span_id == one.context.span_id]
        assert sorted(span.name for span in inside) == ["POST", "queue"]
        assert one.attributes["reconcile.result"] == "success"
        assert one.attributes["reconcile.causes"]
        assert any("child" in write for write in one.attributes["reconcile.writes"])
        bad = next(span for span in runs if span.attributes["reconcile.key"] == "default/bad")
        assert bad.status.description == "no good"
        assert bad.parent is None


def test_without_opentelemetry_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError("No module named 'opentelemetry'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'setpoint\[tracing\]'"):
        find_tracer()
