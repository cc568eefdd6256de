"""A container of a real engine sends telemetry with the variables that it received."""

from pathlib import Path

import pytest
from tests.workload.app import app
from tests.workload.podman import IMAGE, Service, connected

from setpoint.plane.telemetry import PlaneTelemetry
from setpoint.telemetry.settings import TelemetrySettings

pytestmark = pytest.mark.slow

BODY = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"from the container"}}]}]}]}'
SENDS = f"""
key="setpoint-otlp-key: ${{OTEL_EXPORTER_OTLP_HEADERS#*=}}"
exec wget -qO- --header "$key" --header 'Content-Type: application/json' --post-data '{BODY}' \
  "$OTEL_EXPORTER_OTLP_ENDPOINT/v1/logs"
"""


async def test_a_container_in_a_network_reaches_the_receiver(tmp_path: Path, podman: Service) -> None:
    async with connected(podman), app(tmp_path, container_runtime=podman.address) as world:
        services = world.plane.services
        telemetry = PlaneTelemetry(TelemetrySettings(), services.clock, None)
        telemetry.open(services)
        await telemetry.receive(services)
        world.workloads.machine.exporters = telemetry
        try:
            await world.make("ContainerNetwork", "inner", {})
            await world.ready("ContainerNetwork", "inner")
            networks = [{"name": "inner"}]
            await world.make("Container", "caller", {"image": IMAGE, "args": ["sh", "-c", SENDS], "networks": networks})
            ended = (await world.state("Container", "caller", "Exited"))["status"]
            assert ended["exitCode"] == 0, await world.log("caller", "containers", source="all")
            assert await world.log("caller", "containers") == "{}"
            [found] = telemetry.recorder.store.logs.newest_first()
            assert b"from the container" in found.raw
        finally:
            await telemetry.close()
