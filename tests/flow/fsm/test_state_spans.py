"""Traces of machines: a state is a span inside its reconcile, and the requests of its outputs are inside the state."""

import pytest
from tests.flow.styles import App, app, machine

from setpoint import testing
from setpoint.controller.tracing import find_tracer
from setpoint.testing import plugin

# The fixture of the plugin instead of the one of this package.
world = plugin.world

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="OpenTelemetry is not installed")
export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


@pytest.mark.feature("E79")
@pytest.mark.world(crds=[App], objects=[app("shop", "a")])
async def test_a_state_is_a_span_between_its_reconcile_and_its_requests(world: testing.World) -> None:
    kept = export.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(sdk.export.SimpleSpanProcessor(kept))
    await world.run(machine(), tracing=find_tracer(provider))
    await world.eventually(lambda: any(span.name == "state Told" for span in kept.get_finished_spans()))
    await world.stop()
    spans = {span.context.span_id: span for span in kept.get_finished_spans()}

    def above(name: str) -> set[str]:
        found = [span for span in spans.values() if span.name == name and span.parent is not None]
        return {spans[span.parent.span_id].name for span in found}

    assert above("state PartsMade") == above("state Told") == {"reconcile app"}
    assert "state PartsMade" in above("PATCH")
