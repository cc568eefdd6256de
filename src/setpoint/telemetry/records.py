"""The records of telemetry, in the form that the API returns and files contain: spans, log records, and points of
metrics."""

from typing import Any, Final, TypeAlias

from msgspec import Struct

# Values of attributes: texts, numbers, booleans, null, lists and maps of these.
Attributes: TypeAlias = dict[str, Any]

UNKNOWN_SERVICE: Final = "unknown_service"


class Event(Struct, frozen=True):
    """An event of a span, such as an exception."""

    time: str
    name: str
    attributes: Attributes


class Link(Struct, frozen=True, rename="camel"):
    """A link of a span to another one."""

    trace_id: str
    span_id: str
    attributes: Attributes


class SpanStatus(Struct, frozen=True):
    """The result of the work of a span: Unset, Ok or Error."""

    code: str = "Unset"
    message: str = ""


class Span(Struct, frozen=True, rename="camel"):
    """One span of a trace."""

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    service: str
    instance: str
    kind: str
    start: str
    end: str
    duration_nanoseconds: int
    status: SpanStatus
    attributes: Attributes
    resource: Attributes
    scope: str
    events: list[Event]
    links: list[Link]

    @property
    def is_error(self) -> bool:
        return self.status.code == "Error"

    @property
    def error(self) -> str:
        """The message of a failing span: that of its status, or of its last exception."""
        if not self.is_error or self.status.message:
            return self.status.message if self.is_error else ""
        exceptions = [each.attributes for each in self.events if each.name == "exception"]
        named = [exceptions[-1].get(f"exception.{each}") for each in ("type", "message")] if exceptions else []
        return ": ".join(str(each) for each in named if each)


class LogRecord(Struct, frozen=True, rename="camel"):
    """One record of a structured log."""

    time: str
    service: str
    instance: str
    # TRACE, DEBUG, INFO, WARN, ERROR, FATAL, or empty; and the number from 1 to 24, or 0.
    severity: str
    severity_number: int
    body: Any
    attributes: Attributes
    resource: Attributes
    scope: str
    trace_id: str
    span_id: str
    event_name: str


class Distribution(Struct, frozen=True):
    """The value of a histogram or summary: count and sum as received, and quantiles of the interval since the previous
    point; null without an observation in the interval."""

    count: int
    sum: float | None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


class Point(Struct, frozen=True, rename="camel"):
    """One point of a metric. `type` is gauge, sum, histogram or summary."""

    name: str
    service: str
    instance: str
    type: str
    unit: str
    description: str
    # Cumulative, Delta, or empty; and True for sums that only grow.
    temporality: str
    monotonic: bool
    attributes: Attributes
    time: str
    value: float | int | Distribution


class Buckets(Struct, frozen=True):
    """The buckets of one point of a histogram: the upper bounds in ascending order, and the number of observations in
    each, with one number more than bounds. `start` is the time at which the counts began."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    start: int


class MetricSample(Struct, frozen=True):
    """A point as received: with the buckets from which its quantiles are computed, if there are any."""

    point: Point
    buckets: Buckets | None = None


Record: TypeAlias = Span | LogRecord | MetricSample
