"""Records as the store holds them: their JSON, and the few values by which queries select them.

The preparation of a record takes most of the work, and can run in a thread; the store only files prepared records.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from setpoint.telemetry.errors import MalformedTelemetry
from setpoint.telemetry.moments import format_nanoseconds, parse_nanoseconds
from setpoint.telemetry.records import Buckets, Distribution, LogRecord, MetricSample, Point, Record, Span

# The approximate size of a record in memory beside its JSON.
_OVERHEAD: Final = 400
# The number of characters that are kept of the message of an error.
_MOST_ERROR: Final = 300
_NO_VALUE: Final = msgspec.Raw(b"")
_encode = msgspec.json.Encoder().encode


class HeldSpan(Struct, eq=False):
    """One span. The store sets `number` and `received`, the time of arrival in nanoseconds since 1970."""

    service: str
    # Start and end in nanoseconds since 1970.
    time: int
    end: int
    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    is_error: bool
    raw: bytes
    # The first characters of the message of an error.
    error: str = ""
    number: int = 0
    received: int = 0

    @property
    def size(self) -> int:
        return len(self.raw) + len(self.error) + _OVERHEAD


class HeldLog(Struct, eq=False):
    """One log record, with values as for a span."""

    service: str
    time: int
    severity: int
    trace_id: str
    raw: bytes
    number: int = 0
    received: int = 0

    @property
    def size(self) -> int:
        return len(self.raw) + _OVERHEAD


class Metric(Struct, frozen=True):
    """The description of a metric of one service."""

    name: str
    service: str
    type: str
    unit: str
    description: str
    temporality: str
    monotonic: bool


class HeldPoint(Struct, eq=False):
    """One point. `key` identifies its series: service, name and the JSON of its instance and attributes."""

    service: str
    time: int
    key: tuple[str, str, bytes]
    metric: Metric
    value: float | int | Distribution
    buckets: Buckets | None = None
    number: int = 0
    received: int = 0

    @property
    def size(self) -> int:
        return len(self.key[2]) + _OVERHEAD


Held: TypeAlias = HeldSpan | HeldLog | HeldPoint


class _Labels(Struct, frozen=True):
    """The part of a series that identifies the series within its metric."""

    instance: str
    attributes: dict[str, object]


class _Line(Struct, frozen=True, omit_defaults=True):
    """One line of a file of records; one of the fields is set."""

    span: msgspec.Raw = _NO_VALUE
    log: msgspec.Raw = _NO_VALUE
    point: Point | None = None


_labels = msgspec.json.Encoder(order="sorted").encode
_read_labels = msgspec.json.Decoder(_Labels).decode
_read_line = msgspec.json.Decoder(_Line).decode
_read_span = msgspec.json.Decoder(Span).decode
_read_log = msgspec.json.Decoder(LogRecord).decode


def prepare(records: Iterable[Record]) -> list[Held]:
    """Returns the prepared records."""
    return [_held(each) for each in records]


def _held(record: Record) -> Held:
    match record:
        case Span():
            return _held_span(record, _encode(record))
        case LogRecord():
            return _held_log(record, _encode(record))
        case MetricSample(point, buckets):
            return _held_point(point, buckets)


def _held_span(span: Span, raw: bytes) -> HeldSpan:
    return HeldSpan(
        span.service,
        parse_nanoseconds(span.start),
        parse_nanoseconds(span.end),
        span.trace_id,
        span.span_id,
        span.parent_span_id,
        span.name,
        span.is_error,
        raw,
        span.error[:_MOST_ERROR],
    )


def _held_log(record: LogRecord, raw: bytes) -> HeldLog:
    moment = parse_nanoseconds(record.time)
    return HeldLog(record.service, moment, record.severity_number, record.trace_id, raw)


def _held_point(point: Point, buckets: Buckets | None) -> HeldPoint:
    metric = Metric(
        point.name,
        point.service,
        point.type,
        point.unit,
        point.description,
        point.temporality,
        point.monotonic,
    )
    key = point.service, point.name, _labels(_Labels(point.instance, point.attributes))
    return HeldPoint(point.service, parse_nanoseconds(point.time), key, metric, point.value, buckets)


def labels_of(key: tuple[str, str, bytes]) -> tuple[str, dict[str, object]]:
    """Returns the instance and the attributes of a series."""
    found = _read_labels(key[2])
    return found.instance, found.attributes


def lines(records: Sequence[Held]) -> bytes:
    """Returns the lines of a file with the records. A point is written after the store has computed its quantiles."""
    return b"".join([_line(each) for each in records])


def _line(record: Held) -> bytes:
    match record:
        case HeldSpan():
            return b'{"span":%b}\n' % record.raw
        case HeldLog():
            return b'{"log":%b}\n' % record.raw
        case HeldPoint():
            return b'{"point":%b}\n' % _encode(_point_of(record))


def _point_of(held: HeldPoint) -> Point:
    metric, (instance, attributes) = held.metric, labels_of(held.key)
    return Point(
        metric.name,
        metric.service,
        instance,
        metric.type,
        metric.unit,
        metric.description,
        metric.temporality,
        metric.monotonic,
        attributes,
        format_nanoseconds(held.time),
        held.value,
    )


def read_line(line: bytes) -> Held:
    """Returns the record of a line. Raises MalformedTelemetry."""
    try:
        found = _read_line(line)
        if found.span:
            return _held_span(_read_span(found.span), bytes(found.span))
        if found.log:
            return _held_log(_read_log(found.log), bytes(found.log))
        if found.point is not None:
            return _held_point(found.point, None)
    except (ValueError, RecursionError) as error:
        raise MalformedTelemetry(f"a line is no record of telemetry: {error}") from None
    raise MalformedTelemetry("a line is no record of telemetry: span, log and point are missing")
