"""The variables of exporters in containers: the address of this machine in their network, and no part of their key."""

from pathlib import Path
from typing import Any

from tests.workload.controllers.ship import only, running, scripted, ship

NETWORK = [{"name": "net"}]


class Receiver:
    """A receiver that listens at any address of this machine."""

    key = "secret-key"

    async def endpoint(self, address: str = "127.0.0.1") -> str:
        return f"http://{address}:4318/otlp"

    async def grpc_endpoint(self, address: str = "127.0.0.1") -> str:
        return f"http://{address}:4317"


async def test_a_container_reaches_the_receiver_at_the_gateway_of_its_network(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        world.workloads.machine.exporters = Receiver()
        await world.make("ContainerNetwork", "net", {})
        await world.ready("ContainerNetwork", "net")
        status = await running(world, networks=NETWORK, env=[{"name": "COLOR", "value": "red"}])
        found = set(only(engine).body["Env"])
        assert found == {
            "COLOR=red",
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://10.90.0.1:4318/otlp",
            "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
            "OTEL_EXPORTER_OTLP_HEADERS=setpoint-otlp-key=secret-key",
            "OTEL_SERVICE_NAME=web",
            "OTEL_RESOURCE_ATTRIBUTES=service.instance.id=web",
        }
        shown = {each["name"]: each["value"] for each in status["effectiveEnv"]}
        assert shown["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://10.90.0.1:4318/otlp"
        assert "secret-key" not in str(status)


async def test_another_receiver_does_not_replace_a_persistent_container(tmp_path: Path) -> None:
    engine = scripted()
    keep: dict[str, Any] = {"containerName": "kept", "persistent": True}
    async with ship(tmp_path, engine) as world:
        await running(world, **keep)
    first = only(engine).id
    async with ship(tmp_path, engine) as world:
        world.workloads.machine.exporters = Receiver()
        await running(world, **keep)
        assert only(engine).id == first
