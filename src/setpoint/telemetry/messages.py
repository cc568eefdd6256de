"""The messages of OTLP, by name and number of field: the requests of exporters for traces, metrics and logs.

Fields without use here (flags, counts of dropped values, exemplars) are missing, and are skipped.
"""

from typing import Final

from setpoint.telemetry.wire import (
    BINARY,
    BOOL,
    DOUBLE,
    FIXED64,
    ID,
    INT,
    SFIXED64,
    SINT,
    TEXT,
    UINT,
    Field,
    Messages,
)

TRACES: Final = "ExportTraceServiceRequest"
METRICS: Final = "ExportMetricsServiceRequest"
LOGS: Final = "ExportLogsServiceRequest"

_ATTRIBUTES = Field("attributes", "KeyValue", True)
_POINTS = Field("dataPoints", "NumberDataPoint", True)
_START = Field("startTimeUnixNano", FIXED64)
_TIME = Field("timeUnixNano", FIXED64)
_COUNT = Field("count", FIXED64)
_SUM = Field("sum", DOUBLE)
_TEMPORALITY = Field("aggregationTemporality", UINT)
_BUCKETS = "ExponentialBuckets"

MESSAGES: Final[Messages] = {
    TRACES: {1: Field("resourceSpans", "ResourceSpans", True)},
    METRICS: {1: Field("resourceMetrics", "ResourceMetrics", True)},
    LOGS: {1: Field("resourceLogs", "ResourceLogs", True)},
    "Resource": {1: _ATTRIBUTES},
    "InstrumentationScope": {1: Field("name", TEXT), 2: Field("version", TEXT)},
    "KeyValue": {1: Field("key", TEXT), 2: Field("value", "AnyValue")},
    "AnyValue": {
        1: Field("stringValue", TEXT),
        2: Field("boolValue", BOOL),
        3: Field("intValue", INT),
        4: Field("doubleValue", DOUBLE),
        5: Field("arrayValue", "ArrayValue"),
        6: Field("kvlistValue", "KeyValueList"),
        7: Field("bytesValue", BINARY),
    },
    "ArrayValue": {1: Field("values", "AnyValue", True)},
    "KeyValueList": {1: Field("values", "KeyValue", True)},
    "ResourceSpans": {1: Field("resource", "Resource"), 2: Field("scopeSpans", "ScopeSpans", True)},
    "ScopeSpans": {1: Field("scope", "InstrumentationScope"), 2: Field("spans", "Span", True)},
    "Span": {
        1: Field("traceId", ID),
        2: Field("spanId", ID),
        4: Field("parentSpanId", ID),
        5: Field("name", TEXT),
        6: Field("kind", UINT),
        7: _START,
        8: Field("endTimeUnixNano", FIXED64),
        9: _ATTRIBUTES,
        11: Field("events", "Event", True),
        13: Field("links", "Link", True),
        15: Field("status", "Status"),
    },
    "Event": {1: _TIME, 2: Field("name", TEXT), 3: _ATTRIBUTES},
    "Link": {1: Field("traceId", ID), 2: Field("spanId", ID), 4: _ATTRIBUTES},
    "Status": {2: Field("message", TEXT), 3: Field("code", UINT)},
    "ResourceMetrics": {1: Field("resource", "Resource"), 2: Field("scopeMetrics", "ScopeMetrics", True)},
    "ScopeMetrics": {1: Field("scope", "InstrumentationScope"), 2: Field("metrics", "Metric", True)},
    "Metric": {
        1: Field("name", TEXT),
        2: Field("description", TEXT),
        3: Field("unit", TEXT),
        5: Field("gauge", "Gauge"),
        7: Field("sum", "Sum"),
        9: Field("histogram", "Histogram"),
        10: Field("exponentialHistogram", "ExponentialHistogram"),
        11: Field("summary", "Summary"),
    },
    "Gauge": {1: _POINTS},
    "Sum": {1: _POINTS, 2: _TEMPORALITY, 3: Field("isMonotonic", BOOL)},
    "Histogram": {1: Field("dataPoints", "HistogramDataPoint", True), 2: _TEMPORALITY},
    "ExponentialHistogram": {1: Field("dataPoints", "ExponentialHistogramDataPoint", True), 2: _TEMPORALITY},
    "Summary": {1: Field("dataPoints", "SummaryDataPoint", True)},
    "NumberDataPoint": {
        2: _START,
        3: _TIME,
        4: Field("asDouble", DOUBLE),
        6: Field("asInt", SFIXED64),
        7: _ATTRIBUTES,
    },
    "HistogramDataPoint": {
        2: _START,
        3: _TIME,
        4: _COUNT,
        5: _SUM,
        6: Field("bucketCounts", FIXED64, True),
        7: Field("explicitBounds", DOUBLE, True),
        9: _ATTRIBUTES,
    },
    "ExponentialHistogramDataPoint": {
        1: _ATTRIBUTES,
        2: _START,
        3: _TIME,
        4: _COUNT,
        5: _SUM,
        6: Field("scale", SINT),
        7: Field("zeroCount", FIXED64),
        8: Field("positive", _BUCKETS),
        9: Field("negative", _BUCKETS),
    },
    _BUCKETS: {1: Field("offset", SINT), 2: Field("bucketCounts", UINT, True)},
    "SummaryDataPoint": {
        2: _START,
        3: _TIME,
        4: _COUNT,
        5: _SUM,
        6: Field("quantileValues", "ValueAtQuantile", True),
        7: _ATTRIBUTES,
    },
    "ValueAtQuantile": {1: Field("quantile", DOUBLE), 2: Field("value", DOUBLE)},
    "ResourceLogs": {1: Field("resource", "Resource"), 2: Field("scopeLogs", "ScopeLogs", True)},
    "ScopeLogs": {1: Field("scope", "InstrumentationScope"), 2: Field("logRecords", "LogRecord", True)},
    "LogRecord": {
        1: _TIME,
        2: Field("severityNumber", UINT),
        3: Field("severityText", TEXT),
        5: Field("body", "AnyValue"),
        6: _ATTRIBUTES,
        9: Field("traceId", ID),
        10: Field("spanId", ID),
        11: Field("observedTimeUnixNano", FIXED64),
        12: Field("eventName", TEXT),
    },
}
