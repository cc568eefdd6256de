"""The variables of exporters: set where the user configured nothing, and never with the key of another receiver."""

from typing import Any

import pytest

from setpoint.workload.environment import Environment
from setpoint.workload.exporters import exporter_variables, with_variables


class Receiver:
    """A receiver that can be reached at the loopback interface only."""

    key = "secret-key"

    async def endpoint(self, address: str = "127.0.0.1") -> str:
        return f"http://{address}:4318/otlp" if address == "127.0.0.1" else ""

    async def grpc_endpoint(self, address: str = "127.0.0.1") -> str:
        return f"http://{address}:4317" if address == "127.0.0.1" else ""


def executable(called: str = "web", /, **owner: str) -> dict[str, Any]:
    owners = [{"apiVersion": "v1", **owner}] if owner else []
    return {"kind": "Executable", "metadata": {"name": called, "ownerReferences": owners}}


async def test_a_process_receives_address_key_and_name() -> None:
    assert await exporter_variables(Receiver(), executable(), {}) == {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318/otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_HEADERS": "setpoint-otlp-key=secret-key",
        "OTEL_SERVICE_NAME": "web",
        "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=web",
    }


@pytest.mark.parametrize("kind", ["ExecutableReplicaSet", "Task"])
async def test_replicas_and_attempts_have_the_name_of_their_owner(kind: str) -> None:
    found = await exporter_variables(Receiver(), executable("web-1", kind=kind, name="web"), {})
    assert (found["OTEL_SERVICE_NAME"], found["OTEL_RESOURCE_ATTRIBUTES"]) == ("web", "service.instance.id=web-1")


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector.example"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector.example"},
        {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=1"},
        {"OTEL_EXPORTER_OTLP_LOGS_HEADERS": "api-key=1"},
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "unknown"},
        {"OTEL_SDK_DISABLED": "true"},
    ],
)
async def test_an_exporter_of_the_user_does_not_receive_the_key(variables: dict[str, str]) -> None:
    found = await exporter_variables(Receiver(), executable(), variables)
    assert sorted(found) == ["OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"]


async def test_an_exporter_over_grpc_receives_the_address_of_that_receiver() -> None:
    found = await exporter_variables(Receiver(), executable(), {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert found["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:4317"
    assert found["OTEL_EXPORTER_OTLP_HEADERS"] == "setpoint-otlp-key=secret-key"
    assert "OTEL_EXPORTER_OTLP_PROTOCOL" not in found


async def test_values_of_the_user_stay() -> None:
    own = {"OTEL_SERVICE_NAME": "mine", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}
    found = await exporter_variables(Receiver(), executable(), own)
    assert sorted(found) == [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_RESOURCE_ATTRIBUTES",
    ]
    named = {"OTEL_RESOURCE_ATTRIBUTES": "service.name=mine,team=a"}
    found = await exporter_variables(Receiver(), executable(), named)
    assert "OTEL_SERVICE_NAME" not in found
    assert "OTEL_RESOURCE_ATTRIBUTES" not in found


@pytest.mark.parametrize("address", ["", "172.18.0.1"])
async def test_a_container_that_cannot_reach_the_receiver_has_only_a_name(address: str) -> None:
    found = await exporter_variables(Receiver(), executable(), {}, address)
    assert sorted(found) == ["OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"]


async def test_without_a_receiver_nothing_is_set() -> None:
    assert await exporter_variables(None, executable(), {}) == {}


async def test_the_key_is_masked_where_the_environment_is_shown() -> None:
    env = Environment({"A": "1"}, {"A": "1"}, frozenset({"A"}))
    found = with_variables(env, await exporter_variables(Receiver(), executable(), {}))
    assert found.values["OTEL_EXPORTER_OTLP_HEADERS"] == "setpoint-otlp-key=secret-key"
    assert "secret-key" not in str(found.shown)
    # The lifecycle key of a persistent process depends on these only.
    assert found.explicit == {"A"}
