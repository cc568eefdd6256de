"""What a start took is sent to whoever asks for it, as spans of OpenTelemetry."""

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.workload.session.instances import instance, until

from setpoint.cli.dcp.startup_spans import StartupSpans
from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds

grpc = pytest.importorskip("grpc")
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector:
    """A real gRPC server that keeps what it is sent."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.keys: list[str] = []

    def take(self, message: bytes, context: Any) -> bytes:
        self.keys += [value for name, value in context.invocation_metadata() if name == "x-otlp-api-key"]
        self.messages.append(message)
        return b""


@contextmanager
def collecting() -> Iterator[tuple[Collector, dict[str, str]]]:
    """A collector, and the environment of who is to send something to it."""
    collector, server = Collector(), grpc.server(ThreadPoolExecutor(1))
    method = {"Export": grpc.unary_unary_rpc_method_handler(collector.take)}
    name = "opentelemetry.proto.collector.trace.v1.TraceService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, method),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    environ = {
        "DCP_OTEL_STARTUP_PROFILING_ENABLED": "true",
        "DCP_OTEL_STARTUP_TRACEPARENT": f"00-{TRACE}-{SPAN}-01",
        "DCP_OTEL_PROFILING_SESSION_ID": "run 7",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-otlp-api-key=a%20key",
    }
    try:
        yield collector, environ
    finally:
        server.stop(0).wait()


def fields(message: bytes) -> dict[int, list[Any]]:
    """The fields of a message of protobuf: numbers, and bytes."""
    found: dict[int, list[Any]] = {}

    def number() -> int:
        nonlocal message
        value = shift = 0
        while True:
            byte, message = message[0], message[1:]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while message:
        key = number()
        if key & 7 == 0:
            found.setdefault(key >> 3, []).append(number())
            continue
        size = 8 if key & 7 == 1 else number()
        value, message = message[:size], message[size:]
        found.setdefault(key >> 3, []).append(int.from_bytes(value, "little") if key & 7 == 1 else value)
    return found


def attributes(parts: list[bytes]) -> dict[str, Any]:
    found = {}
    for part in parts:
        name, value = fields(part)[1][0], fields(fields(part)[2][0])
        [(_, [told])] = value.items()
        found[name.decode()] = told.decode() if isinstance(told, bytes) else told
    return found


@pytest.mark.slow
def test_the_parts_of_a_start_are_sent_as_children_of_who_asked(tmp_path: Path) -> None:
    with collecting() as (collector, environ), instance(tmp_path, **environ) as serving:
        until(lambda: collector.messages)
        [resource] = fields(collector.messages[0])[1]
        known = attributes(fields(fields(resource)[1][0])[1])
        assert known == {"service.name": "dcp", "dcp.profiling.session_id": "run 7"}
        spans = [fields(each) for each in fields(fields(resource)[2][0])[2]]
        by_name = {span[5][0].decode(): span for span in spans}
        root = by_name["dcp.startup"]
        assert {span[1][0].hex() for span in spans} == {TRACE}
        assert root[4][0].hex() == SPAN
        assert attributes(root[9])["process.pid"] == serving.process.pid
        children = [span for name, span in by_name.items() if name != "dcp.startup"]
        assert len(children) == 3
        assert all(span[4] == root[2] and root[7] <= span[7] <= span[8] <= root[8] for span in children)
        [ready] = by_name["dcp.startup.api_server.run_server"][11]
        assert attributes(fields(ready)[3])["dcp.server.bind_port"] == int(serving.url.rpartition(":")[2])
        assert collector.keys == ["a key"]


@pytest.mark.parametrize(
    "change",
    [
        {"DCP_OTEL_STARTUP_PROFILING_ENABLED": "false"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
    ],
)
def test_nothing_is_sent_that_nobody_asks_for(change: dict[str, str]) -> None:
    with collecting() as (collector, environ):
        asyncio.run(sent({**environ, **change}))
        assert collector.messages == []


def test_where_it_cannot_be_sent_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with collecting() as (_, environ):
        pass
    with caplog.at_level(logging.INFO):
        asyncio.run(sent(environ))
    assert "could not send the startup spans to http://127.0.0.1:" in caplog.text


async def sent(environ: dict[str, str]) -> None:
    spans = StartupSpans(environ, SystemClock(), SystemIds())
    spans.begin("dcp.startup")
    spans.end()
    await spans.send()
