"""A control plane with workloads receives telemetry at an address of its own and at its API's address."""

import asyncio
import json
import ssl
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from google.protobuf import json_format as JsonFormat
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from setpoint.config import Config
from setpoint.plane import ControlPlane
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.workload.exporters import LOOPBACK, Exporters
from setpoint.workload.workloads import WorkloadSettings

ENABLED = Config(telemetry=TelemetrySettings(enabled=True))
TRACE = "0af7651916cd43dd8448eb211c80319c"
BODY = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": TRACE, "spanId": TRACE[:16], "name": "work"}]}]}]}
# protobuf's own JSON has identifiers in base64.
_BASE64 = {text: b64encode(bytes.fromhex(text)).decode() for text in (TRACE, TRACE[:16])}
_SPAN = {"traceId": _BASE64[TRACE], "spanId": _BASE64[TRACE[:16]], "name": "work"}
BASE64_BODY = {"resourceSpans": [{"scopeSpans": [{"spans": [_SPAN]}]}]}
TRACES = "/apis/setpoint.dev/v1/telemetry/traces"


def plane(directory: Path, config: Config = ENABLED, **settings: Any) -> ControlPlane:
    wanted = WorkloadSettings(directory / "workloads", working_directory=directory, **settings)
    return ControlPlane(config=config, workloads=wanted, system=False, telemetry=directory / "telemetry")


def exporters(running: ControlPlane) -> Exporters:
    found = running.workloads.machine.exporters
    assert found is not None
    return found


async def export(url: str, key: str, **options: Any) -> int:
    """Sends a trace as a client in another process does; returns the status."""
    headers = {"content-type": "application/json", "setpoint-otlp-key": key}
    request = Request(f"{url}/v1/traces", json.dumps(BODY).encode(), headers)

    def send() -> int:
        try:
            with urlopen(request, **options) as answer:
                return int(answer.status)
        except OSError as error:
            with error as failed:  # type: ignore[attr-defined]  # the answer with a status other than 200
                return int(failed.status)

    return await asyncio.to_thread(send)


async def names(running: ControlPlane) -> list[str]:
    answer = await running.client().raw("GET", TRACES)
    return [each["name"] for each in json.loads(answer.body)["items"]]


async def test_key_port_and_records_stay_over_a_restart(tmp_path: Path) -> None:
    async with plane(tmp_path) as first:
        found = exporters(first)
        url, key = await found.endpoint(), found.key
        assert await export(url, key) == 200
        assert await export(url, "wrong") == 401
    async with plane(tmp_path) as second:
        found = exporters(second)
        assert (await found.endpoint(), found.key) == (url, key)
        assert await names(second) == ["work"]
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "telemetry").iterdir()}
    assert modes == {"receiver.json": 0o600, "000000.jsonl": 0o600}


async def test_the_address_of_the_api_receives_with_the_key_only(tmp_path: Path) -> None:
    async with plane(tmp_path) as running:
        url = await running.listen("127.0.0.1")
        assert running.authority is not None
        context = ssl.create_default_context(cadata=running.authority.decode())
        assert await export(f"{url}/otlp", exporters(running).key, context=context) == 200
        assert await export(f"{url}/otlp", "", context=context) == 401
        assert await names(running) == ["work"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process listen at an address of the future")
async def test_the_gateway_of_a_network_that_begins_later_has_an_endpoint(tmp_path: Path) -> None:
    async with plane(tmp_path) as running:
        found = exporters(running)
        port = (await found.endpoint(LOOPBACK)).partition(LOOPBACK)[2]
        assert await found.endpoint("192.0.2.1") == f"http://192.0.2.1{port}"
        assert await found.endpoint("no-address.invalid") == ""


@pytest.mark.parametrize("settings", [{"as_dcp": True}, {"config": Config()}])
async def test_clients_of_dcp_and_servers_without_the_setting_receive_nothing(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    async with plane(tmp_path, **settings) as running:
        assert running.workloads.machine.exporters is None
        assert not (tmp_path / "telemetry").exists()
        assert await names(running) == []


def _method(channel: Any, service: str) -> Any:
    name = f"opentelemetry.proto.collector.{service}/Export"
    return channel.unary_unary(f"/{name}")


async def test_exporters_over_grpc_have_the_same_key_and_store(tmp_path: Path) -> None:
    grpc = pytest.importorskip("grpc")
    found = JsonFormat.Parse(json.dumps(BASE64_BODY), ExportTraceServiceRequest())
    async with plane(tmp_path) as running:
        receiver = exporters(running)
        address = await receiver.grpc_endpoint()
        async with grpc.aio.insecure_channel(address.removeprefix("http://")) as channel:
            export_traces = _method(channel, "trace.v1.TraceService")
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await export_traces(found.SerializeToString())
            assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
            key = (("setpoint-otlp-key", receiver.key),)
            assert await export_traces(found.SerializeToString(), metadata=key) == b""
            with pytest.raises(grpc.aio.AioRpcError) as malformed:
                await export_traces(b"\xff\xff", metadata=key)
            assert malformed.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            with pytest.raises(grpc.aio.AioRpcError) as unknown:
                await _method(channel, "profiles.v1.ProfilesService")(b"", metadata=key)
            assert unknown.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert await names(running) == ["work"]
    async with plane(tmp_path) as again:
        assert await exporters(again).grpc_endpoint() == address
