"""Requests of the official encoders decode to the same records, in protobuf and in JSON."""

import base64
import gzip
import json
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from setpoint.telemetry.decoder import Signal, decode, decompress
from setpoint.telemetry.distributions import with_quantiles
from setpoint.telemetry.errors import MalformedTelemetry, TelemetryTooLarge
from setpoint.telemetry.moments import format_nanoseconds, parse_nanoseconds
from setpoint.telemetry.records import Buckets, Distribution, LogRecord, MetricSample, Record, Span

NOW = 1_790_000_000_123_456_789
SHOP = Resource({"service.name": "shop", "service.instance.id": "shop-0", "cores": 2, "tags": ["a", "b"]})
TRACE = "0af7651916cd43dd8448eb211c80319c"
IDS = ("traceId", "spanId", "parentSpanId")


def as_json(message: Any) -> bytes:
    """The JSON form of OTLP: that of protobuf, except for IDs in hexadecimal and enumerations as numbers."""

    def in_hex(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {name: base64.b64decode(held).hex() if name in IDS else in_hex(held) for name, held in tree.items()}
        return [in_hex(each) for each in tree] if isinstance(tree, list) else tree

    return json.dumps(in_hex(MessageToDict(message, use_integers_for_enums=True))).encode()


def both(signal: Signal, message: Any) -> Sequence[Record]:
    """The records of a message, which are the same in both forms."""
    found = decode(signal, message.SerializeToString(), is_json=False, now=NOW)
    assert decode(signal, as_json(message), is_json=True, now=NOW) == found
    return found


def test_spans_of_the_sdk_keep_all_their_fields() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=SHOP)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("checkout")
    with tracer.start_as_current_span("GET /cart", kind=SpanKind.SERVER) as outer:
        link = Link(outer.get_span_context(), {"reason": "retry"})
        with tracer.start_as_current_span("query", kind=SpanKind.CLIENT, links=[link]) as inner:
            inner.set_attributes({"rows": 3, "ratio": 0.5, "cached": False, "ids": [1, 2], "text": "naïve"})
            inner.add_event("lock", {"waited": 7})
            inner.set_status(Status(StatusCode.ERROR, "no such table"))
    query, get = both("traces", encode_spans(exporter.get_finished_spans()))
    assert isinstance(query, Span)
    assert isinstance(get, Span)
    assert (get.name, get.kind, get.parent_span_id, get.status.code) == ("GET /cart", "Server", "", "Unset")
    assert (query.service, query.instance, query.scope, query.kind) == ("shop", "shop-0", "checkout", "Client")
    assert (query.parent_span_id, query.trace_id) == (get.span_id, get.trace_id)
    assert query.attributes == {"rows": 3, "ratio": 0.5, "cached": False, "ids": [1, 2], "text": "naïve"}
    assert [(event.name, event.attributes) for event in query.events] == [("lock", {"waited": 7})]
    assert [(each.trace_id, each.span_id) for each in query.links] == [(get.trace_id, get.span_id)]
    assert (query.status.code, query.status.message) == ("Error", "no such table")
    assert query.resource["tags"] == ["a", "b"]
    context = exporter.get_finished_spans()[0].context
    assert context is not None
    assert query.trace_id == f"{context.trace_id:032x}"
    assert query.duration_nanoseconds == parse_nanoseconds(query.end) - parse_nanoseconds(query.start)


def test_metrics_of_the_sdk_keep_values_units_and_temporality() -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], resource=SHOP).get_meter("checkout")
    meter.create_counter("orders", unit="1", description="orders placed").add(3, {"currency": "EUR"})
    meter.create_up_down_counter("open").add(-2)
    meter.create_gauge("temperature", unit="Cel").set(21.5)
    meter.create_gauge("unmeasured").set(math.nan)
    meter.create_histogram("latency", unit="ms").record(40)
    collected = reader.get_metrics_data()
    assert collected is not None
    found = {
        each.point.name: each for each in both("metrics", encode_metrics(collected)) if isinstance(each, MetricSample)
    }
    orders = found["orders"].point
    assert (orders.type, orders.unit, orders.value, orders.attributes) == ("sum", "1", 3, {"currency": "EUR"})
    assert (orders.temporality, orders.monotonic, orders.description) == ("Cumulative", True, "orders placed")
    assert (found["open"].point.value, found["open"].point.monotonic) == (-2, False)
    assert (found["temperature"].point.type, found["temperature"].point.value) == ("gauge", 21.5)
    assert "unmeasured" not in found  # JSON has no such number
    assert found["latency"].point.value == Distribution(1, 40.0)
    buckets = found["latency"].buckets
    assert buckets is not None
    assert (sum(buckets.counts), len(buckets.counts)) == (1, len(buckets.bounds) + 1)


def test_log_records_keep_body_severity_and_trace() -> None:
    request = ExportLogsServiceRequest()
    logs = request.resource_logs.add()
    logs.resource.attributes.add(key="service.name").value.string_value = "shop"
    scoped = logs.scope_logs.add()
    scoped.scope.name = "app.orders"
    plain = scoped.log_records.add(time_unix_nano=NOW, severity_number=17, severity_text="error")
    plain.trace_id, plain.span_id = bytes.fromhex(TRACE), bytes.fromhex(TRACE[:16])
    plain.body.string_value = "payment refused"
    plain.attributes.add(key="raw").value.bytes_value = b"\x00\xff"
    structured = scoped.log_records.add(severity_text="notice")
    structured.body.kvlist_value.values.add(key="order").value.int_value = -(2**60)
    first, second = both("logs", request)
    assert isinstance(first, LogRecord)
    assert isinstance(second, LogRecord)
    assert (first.body, first.severity, first.severity_number) == ("payment refused", "ERROR", 17)
    assert (first.trace_id, first.span_id, first.scope) == (TRACE, TRACE[:16], "app.orders")
    assert (first.time, first.attributes) == (format_nanoseconds(NOW), {"raw": "AP8="})
    assert (second.body, second.severity) == ({"order": -(2**60)}, "NOTICE")
    assert second.time == format_nanoseconds(NOW)
    assert encode_logs([]) == ExportLogsServiceRequest()


def test_quantiles_of_exponential_histograms_are_within_their_buckets() -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="size")
    metric.exponential_histogram.aggregation_temporality = 2
    point = metric.exponential_histogram.data_points.add(count=10, sum=55.0, scale=3, zero_count=1)
    point.positive.offset = 8
    point.positive.bucket_counts.extend([1, 2, 5, 1])
    (sample,) = both("metrics", request)
    assert isinstance(sample, MetricSample)
    assert isinstance(sample.point.value, Distribution)
    assert sample.buckets is not None
    found = with_quantiles(sample.point.value, sample.buckets, None)
    assert found.p50 is not None
    assert 2 ** (10 / 8) <= found.p50 <= 2 ** (11 / 8)


def test_quantiles_of_cumulative_histograms_are_those_of_the_last_interval() -> None:
    bounds = (10.0, 100.0, 1000.0)
    before, after = Buckets(bounds, (100, 0, 0, 0), 1), Buckets(bounds, (100, 0, 10, 0), 1)
    found = with_quantiles(Distribution(110, 9000.0), after, before)
    assert found.p50 == pytest.approx(550.0)
    restarted = with_quantiles(Distribution(5, 20.0), Buckets(bounds, (5, 0, 0, 0), 2), after)
    assert restarted.p50 == pytest.approx(5.0)
    assert with_quantiles(Distribution(110, 9000.0), after, after).p99 is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"resourceSpans": 3}, "resourceSpans must be a list of objects"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": 5}]}]}]}, "no traceId or no spanId"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}, "traceId must be 32 hexadecimal"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "soon"}]}]}]}, "must be an integer"),
        ([], "the body is no JSON object"),
    ],
)
def test_a_malformed_body_is_refused_with_the_field(body: Any, message: str) -> None:
    with pytest.raises(MalformedTelemetry, match=message):
        decode("traces", json.dumps(body).encode(), is_json=True, now=NOW)


def test_damaged_protobuf_never_raises_another_error() -> None:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add(name="work", trace_id=bytes.fromhex(TRACE))
    span.span_id = bytes.fromhex(TRACE[:16])
    span.attributes.add(key="list").value.array_value.values.add().double_value = math.inf
    body = request.SerializeToString()
    chance = random.Random(5)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(body)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            decode("traces", bytes(damaged[: chance.randint(1, len(damaged))]), is_json=False, now=NOW)
        except MalformedTelemetry:
            refused += 1
    assert refused > 500


def test_deep_values_are_refused() -> None:
    request = ExportLogsServiceRequest()
    value = request.resource_logs.add().scope_logs.add().log_records.add().body
    for _ in range(30):
        value = value.array_value.values.add()
    with pytest.raises(MalformedTelemetry, match="nested deeper"):
        decode("logs", request.SerializeToString(), is_json=False, now=NOW)
    nested: Any = {"stringValue": "x"}
    for _ in range(100):
        nested = {"arrayValue": {"values": [nested]}}
    tree = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": nested}]}]}]}
    with pytest.raises(MalformedTelemetry, match="nested deeper"):
        decode("logs", json.dumps(tree).encode(), is_json=True, now=NOW)


def test_compressed_bodies_are_bounded() -> None:
    assert decompress(gzip.compress(b"x" * 1000), 1000) == b"x" * 1000
    with pytest.raises(TelemetryTooLarge, match="more than 999 bytes"):
        decompress(gzip.compress(b"x" * 1000), 999)
    with pytest.raises(MalformedTelemetry, match="incomplete"):
        decompress(gzip.compress(b"x" * 1000)[:-4], 1000)
    with pytest.raises(MalformedTelemetry, match="not compressed"):
        decompress(b"plain", 1000)


@pytest.mark.parametrize("moment", [0, 1, NOW, 10**9 - 1])
def test_times_keep_nanoseconds(moment: int) -> None:
    assert parse_nanoseconds(format_nanoseconds(moment)) == moment
    assert parse_nanoseconds("1970-01-01T01:00:00.5+01:00") == 500_000_000
