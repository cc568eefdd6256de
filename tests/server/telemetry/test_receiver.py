"""The receiver answers exporters in the form of OTLP: success, partial success, and errors."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from tests.server.telemetry.telemetry_cluster import KEY, PROTOBUF, TelemetryCluster, telemetry_cluster

from setpoint.server.message import Request, Response
from setpoint.server.telemetry.receiver import KEY_HEADER, MAX_BODY, MAX_UNCOMPRESSED, MAX_WAITING

JSON = "application/json"


@pytest.fixture
async def cluster() -> AsyncIterator[TelemetryCluster]:
    async with telemetry_cluster() as made:
        yield made


def traces(number: int = 1, service: str = "shop") -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = service
    spans = resource.scope_spans.add()
    for count in range(1, number + 1):
        spans.spans.add(name=f"span {count}", trace_id=bytes([7] * 16), span_id=count.to_bytes(8, "big"))
    return bytes(request.SerializeToString())


def error_of(response: Response) -> tuple[int, int, str]:
    """The status, the code of gRPC and the message of an error."""
    assert isinstance(response.body, bytes)
    if response.content_type == JSON:
        found = json.loads(response.body)
        return response.status, found["code"], found["message"]
    found = Status.FromString(response.body)
    return response.status, found.code, found.message


async def test_traces_are_accepted_in_protobuf_and_compressed(cluster: TelemetryCluster) -> None:
    response = await cluster.post("traces", traces(3))
    assert (response.status, response.content_type, response.body) == (200, PROTOBUF, b"")
    response = await cluster.post("traces", gzip.compress(traces(2, "db")), content_encoding="gzip")
    assert response.status == 200
    assert [each["name"] for each in await cluster.listed("services")] == ["db", "shop"]


async def test_logs_are_accepted_in_json(cluster: TelemetryCluster) -> None:
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "hello"}}]}]}]}
    response = await cluster.post("logs", json.dumps(body).encode(), "application/json; charset=utf-8")
    assert (response.status, response.content_type, response.body) == (200, JSON, b"{}")
    [found] = await cluster.listed("logs")
    assert (found["body"], found["service"]) == ("hello", "unknown_service")
    # The time of arrival, by the clock of the server.
    assert found["time"] == "2026-01-02T03:04:05.000000000Z"


@pytest.mark.parametrize("key", ["", "wrong", "the-keyy"])
async def test_a_request_without_the_key_is_refused(cluster: TelemetryCluster, key: str) -> None:
    status, code, message = error_of(await cluster.post("traces", traces(), key=key))
    assert (status, code) == (401, 16)
    assert KEY_HEADER in message
    assert KEY not in message
    assert await cluster.listed("services") == []


async def test_mistakes_are_errors_with_a_status(cluster: TelemetryCluster) -> None:
    assert error_of(await cluster.post("traces", b"\xff\xff"))[:2] == (400, 3)
    assert error_of(await cluster.post("traces", b"[]", JSON))[:2] == (400, 3)
    assert error_of(await cluster.post("traces", traces(), content_encoding="gzip"))[:2] == (400, 3)
    assert error_of(await cluster.post("traces", traces(), content_encoding="br"))[0] == 415
    assert error_of(await cluster.post("traces", traces(), "text/plain"))[:2] == (415, 3)
    assert error_of(await cluster.post("profiles", b""))[:2] == (404, 5)
    got = await cluster.receiver(Request("GET", "/otlp/v1/traces", headers={KEY_HEADER: KEY}))
    assert error_of(got)[:2] == (405, 12)
    assert error_of(await cluster.post("traces", bytes(MAX_BODY + 1)))[:2] == (413, 8)
    bomb = gzip.compress(bytes(MAX_UNCOMPRESSED + 1))
    assert error_of(await cluster.post("traces", bomb, content_encoding="gzip"))[:2] == (413, 8)
    assert await cluster.listed("services") == []


async def test_records_beyond_a_bound_are_a_partial_success() -> None:
    async with telemetry_cluster(max_services=1) as cluster:
        await cluster.post("traces", traces(1, "first"))
        response = await cluster.post("traces", traces(5, "second"))
        assert response.status == 200
        assert isinstance(response.body, bytes)
        partial = ExportTraceServiceResponse.FromString(response.body).partial_success
        assert partial.rejected_spans == 5
        assert "telemetry.maxServices" in partial.error_message
        point = {"timeUnixNano": "1", "asInt": "3"}
        metric = {"name": "orders", "sum": {"dataPoints": [point]}}
        body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}
        response = await cluster.post("metrics", json.dumps(body).encode(), JSON)
        assert isinstance(response.body, bytes)
        assert json.loads(response.body)["partialSuccess"]["rejectedDataPoints"] == "1"
        assert ExportMetricsServiceResponse.FromString(b"") == ExportMetricsServiceResponse()


async def test_a_crowd_of_requests_is_told_to_repeat(cluster: TelemetryCluster) -> None:
    # The recorder reads its files first, so that all requests wait.
    cluster.recorder._loaded.clear()
    waiting = [asyncio.create_task(cluster.post("traces", traces())) for _ in range(MAX_WAITING)]
    for _ in range(10):
        await asyncio.sleep(0)
    response = await cluster.post("traces", traces())
    assert error_of(response)[:2] == (503, 14)
    assert ("Retry-After", "1") in response.headers
    cluster.recorder._loaded.set()
    assert [each.status for each in await asyncio.gather(*waiting)] == [200] * MAX_WAITING
    assert (await cluster.post("traces", traces())).status == 200


async def test_an_empty_request_is_a_success(cluster: TelemetryCluster) -> None:
    assert (await cluster.post("logs", ExportLogsServiceRequest().SerializeToString())).status == 200
