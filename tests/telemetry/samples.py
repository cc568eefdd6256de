"""Records for tests of the store and of queries."""

from collections.abc import Sequence
from datetime import UTC, datetime

from setpoint.telemetry.held import Held, prepare
from setpoint.telemetry.moments import SECOND, format_nanoseconds, nanoseconds_of
from setpoint.telemetry.records import (
    Buckets,
    Distribution,
    LogRecord,
    MetricSample,
    Point,
    Record,
    Span,
    SpanStatus,
)

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
BEGIN = nanoseconds_of(START)


def span(
    number: int, *, service: str = "shop", trace: int = 1, parent: int = 0, name: str = "", code: str = "Unset"
) -> Span:
    """A span that starts `number` seconds after the beginning, and takes a second."""
    start = BEGIN + number * SECOND
    return Span(
        f"{trace:032x}",
        f"{number % 2**64:016x}",
        f"{parent:016x}" if parent else "",
        name or f"span {number}",
        service,
        f"{service}-0",
        "Internal",
        format_nanoseconds(start),
        format_nanoseconds(start + SECOND),
        SECOND,
        SpanStatus(code),
        {"number": number},
        {"service.name": service},
        "tests",
        [],
        [],
    )


def log(number: int, text: str = "", *, service: str = "shop", severity: int = 9, trace: int = 0) -> LogRecord:
    """A log record, `number` seconds after the beginning."""
    name = {0: "", 5: "DEBUG", 9: "INFO", 17: "ERROR"}[severity]
    trace_id = f"{trace:032x}" if trace else ""
    time = format_nanoseconds(BEGIN + number * SECOND)
    return LogRecord(time, service, "", name, severity, text or f"line {number}", {}, {}, "", trace_id, "", "")


def point(
    number: int,
    value: float | int | Distribution,
    *,
    name: str = "orders",
    service: str = "shop",
    kind: str = "sum",
    buckets: Buckets | None = None,
    **attributes: object,
) -> MetricSample:
    """A point of a metric, `number` seconds after the beginning."""
    time = format_nanoseconds(BEGIN + number * SECOND)
    found = Point(name, service, f"{service}-0", kind, "1", "", "Cumulative", True, attributes, time, value)
    return MetricSample(found, buckets)


def held(*records: Record) -> Sequence[Held]:
    return prepare(records)
