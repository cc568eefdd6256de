"""Converts requests of exporters, as trees of OTLP's JSON form, to records.

Numbers may be texts, as JSON requires for 64 bits. A value of a wrong type is an error that names its field.
"""

import base64
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from setpoint.telemetry.distributions import exponential_buckets
from setpoint.telemetry.errors import MalformedTelemetry
from setpoint.telemetry.moments import format_nanoseconds
from setpoint.telemetry.records import (
    UNKNOWN_SERVICE,
    Attributes,
    Buckets,
    Distribution,
    Event,
    Link,
    LogRecord,
    MetricSample,
    Point,
    Span,
    SpanStatus,
)
from setpoint.telemetry.wire import MAX_DEPTH, Tree

_KINDS: Final = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_CODES: Final = ("Unset", "Ok", "Error")
_SEVERITIES: Final = ("", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_TEMPORALITIES: Final = ("", "Delta", "Cumulative")
_QUANTILES: Final = {0.5: "p50", 0.9: "p90", 0.99: "p99"}
# The metric types of OTLP, with the type in the API.
_TYPES: Final = {
    "gauge": "gauge",
    "sum": "sum",
    "histogram": "histogram",
    "exponentialHistogram": "histogram",
    "summary": "summary",
}
# The lengths of IDs in hexadecimal.
_TRACE, _SPAN = 32, 16


def spans(tree: Tree) -> Iterator[Span]:
    """Yields the spans of a request. Raises MalformedTelemetry."""
    for resource, scope, each in _below(tree, "resourceSpans", "scopeSpans", "spans"):
        start, end = number(each, "startTimeUnixNano"), number(each, "endTimeUnixNano")
        status = child(each, "status")
        trace, span = identifier(each, "traceId", _TRACE), identifier(each, "spanId", _SPAN)
        if not trace or not span:
            raise MalformedTelemetry("a span has no traceId or no spanId: both must be set and not all zero")
        yield Span(
            trace,
            span,
            identifier(each, "parentSpanId", _SPAN),
            text(each, "name"),
            _service(resource),
            _instance(resource),
            _one_of(_KINDS, number(each, "kind")),
            format_nanoseconds(start),
            format_nanoseconds(end),
            max(end - start, 0),
            SpanStatus(_one_of(_CODES, number(status, "code")), text(status, "message")),
            attributes(each),
            resource,
            scope,
            [
                Event(format_nanoseconds(number(event, "timeUnixNano")), text(event, "name"), attributes(event))
                for event in children(each, "events")
            ],
            [
                Link(identifier(link, "traceId", _TRACE), identifier(link, "spanId", _SPAN), attributes(link))
                for link in children(each, "links")
            ],
        )


def log_records(tree: Tree, now: int) -> Iterator[LogRecord]:
    """Yields the log records of a request. Records without a time get the time `now`. Raises MalformedTelemetry."""
    for resource, scope, each in _below(tree, "resourceLogs", "scopeLogs", "logRecords"):
        severity = number(each, "severityNumber")
        moment = number(each, "timeUnixNano") or number(each, "observedTimeUnixNano") or now
        yield LogRecord(
            format_nanoseconds(moment),
            _service(resource),
            _instance(resource),
            _SEVERITIES[(severity + 3) // 4] if 1 <= severity <= 24 else text(each, "severityText").upper(),
            severity,
            value(child(each, "body"), 0),
            attributes(each),
            resource,
            scope,
            identifier(each, "traceId", _TRACE),
            identifier(each, "spanId", _SPAN),
            text(each, "eventName"),
        )


def samples(tree: Tree, now: int) -> Iterator[MetricSample]:
    """Yields the points of the metrics of a request. Raises MalformedTelemetry."""
    for resource, _, metric in _below(tree, "resourceMetrics", "scopeMetrics", "metrics"):
        for form, kind in _TYPES.items():
            if form not in metric:
                continue
            data = child(metric, form)
            for each in children(data, "dataPoints"):
                found, buckets = _measured(each, form)
                if found is None:
                    continue
                point = Point(
                    text(metric, "name"),
                    _service(resource),
                    _instance(resource),
                    kind,
                    text(metric, "unit"),
                    text(metric, "description"),
                    _one_of(_TEMPORALITIES, number(data, "aggregationTemporality")),
                    data.get("isMonotonic") is True,
                    attributes(each),
                    format_nanoseconds(number(each, "timeUnixNano") or now),
                    found,
                )
                yield MetricSample(point, buckets)


def _measured(each: Tree, form: str) -> tuple[float | int | Distribution | None, Buckets | None]:
    """Returns the value of a point, and its buckets if the point is one of a histogram; None for a value that is not
    finite."""
    if form in ("gauge", "sum"):
        return (number(each, "asInt") if "asInt" in each else real(each, "asDouble")), None
    count, total = number(each, "count"), real(each, "sum") if "sum" in each else None
    if form == "summary":
        quantiles = {
            name: real(found, "value")
            for found in children(each, "quantileValues")
            if (name := _QUANTILES.get(real(found, "quantile") or 0.0))
        }
        return Distribution(count, total, **quantiles), None
    start = number(each, "startTimeUnixNano")
    if form == "histogram":
        bounds = tuple(float(found) for found in _numbers(each, "explicitBounds"))
        counts = tuple(int(found) for found in _numbers(each, "bucketCounts"))
        if counts and len(counts) != len(bounds) + 1:
            raise MalformedTelemetry(
                f"a histogram has {len(counts)} bucketCounts and {len(bounds)} explicitBounds: one bound less is needed"
            )
        return Distribution(count, total), Buckets(bounds, counts, start) if counts else None
    positive, negative = child(each, "positive"), child(each, "negative")
    found = exponential_buckets(
        number(each, "scale"),
        number(each, "zeroCount"),
        number(positive, "offset"),
        [int(held) for held in _numbers(positive, "bucketCounts")],
        number(negative, "offset"),
        [int(held) for held in _numbers(negative, "bucketCounts")],
    )
    return Distribution(count, total), Buckets(*found, start)


def _below(tree: Tree, outer: str, middle: str, inner: str) -> Iterator[tuple[Attributes, str, Tree]]:
    """Yields the innermost messages of a request, each with its resource and scope."""
    for each in children(tree, outer):
        resource = attributes(child(each, "resource"))
        for scoped in children(each, middle):
            scope = text(child(scoped, "scope"), "name")
            for record in children(scoped, inner):
                yield resource, scope, record


def _service(resource: Attributes) -> str:
    return str(resource.get("service.name") or UNKNOWN_SERVICE)


def _instance(resource: Attributes) -> str:
    return str(resource.get("service.instance.id") or "")


def _one_of(names: tuple[str, ...], place: int) -> str:
    return names[place] if 0 <= place < len(names) else names[0]


def attributes(tree: Tree, name: str = "attributes", depth: int = 0) -> Attributes:
    """Returns the attributes of a message as a map."""
    return {text(each, "key"): value(child(each, "value"), depth + 1) for each in children(tree, name)}


def value(tree: Tree, depth: int) -> Any:
    """Returns the value of an attribute or the body of a log record."""
    if depth > MAX_DEPTH:
        raise MalformedTelemetry(f"values are nested deeper than {MAX_DEPTH} levels")
    for name, held in tree.items():
        match name:
            case "stringValue":
                return held if isinstance(held, str) else _wrong(name, "a text", held)
            case "boolValue":
                return held if isinstance(held, bool) else _wrong(name, "true or false", held)
            case "intValue":
                return number(tree, name)
            case "doubleValue":
                return real(tree, name)
            case "arrayValue":
                return [value(each, depth + 1) for each in children(child(tree, name), "values")]
            case "kvlistValue":
                return attributes(child(tree, name), "values", depth + 1)
            case "bytesValue":
                # JSON has the same bytes in base64.
                return base64.b64encode(held).decode() if isinstance(held, bytes) else text(tree, name)
    return None


def child(tree: Mapping[str, Any], name: str) -> Tree:
    """Returns a message below a message; empty if absent."""
    found = tree.get(name)
    if found is None:
        return {}
    return found if isinstance(found, dict) else _wrong(name, "an object", found)


def children(tree: Mapping[str, Any], name: str) -> list[Tree]:
    """Returns the messages of a list; empty if absent."""
    found = tree.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        _wrong(name, "a list of objects", found)
    return found


def text(tree: Mapping[str, Any], name: str) -> str:
    """Returns a text; empty if absent."""
    found = tree.get(name)
    if found is None:
        return ""
    return found if isinstance(found, str) else _wrong(name, "a text", found)


def number(tree: Mapping[str, Any], name: str) -> int:
    """Returns an integer, which may be a text; 0 if absent."""
    found = tree.get(name)
    if found is None:
        return 0
    if type(found) is int:
        return found
    if isinstance(found, str) and len(found) <= 20 and found.removeprefix("-").isascii():
        try:
            return int(found)
        except ValueError:
            pass
    return _wrong(name, "an integer", found)


def real(tree: Mapping[str, Any], name: str) -> float | None:
    """Returns a number; None if it is not finite, because JSON has no such numbers, and 0 if absent."""
    found = tree.get(name, 0.0)
    try:
        held = float(found)
    except (TypeError, ValueError, OverflowError):
        return _wrong(name, "a number", found)
    return held if math.isfinite(held) else None


def identifier(tree: Mapping[str, Any], name: str, length: int) -> str:
    """Returns an ID in lower-case hexadecimal; empty if absent or all zero."""
    found = text(tree, name).lower()
    if not found.strip("0"):
        return ""
    if len(found) != length or found.strip("0123456789abcdef"):
        _wrong(name, f"{length} hexadecimal digits", found)
    return found


def _numbers(tree: Mapping[str, Any], name: str) -> list[Any]:
    found = tree.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        _wrong(name, "a list of numbers", found)
    return [each if type(each) in (int, float) else _parsed(each, name) for each in found]


def _parsed(found: Any, name: str) -> float | int:
    """Returns the number of a text: JSON has 64-bit integers as texts."""
    try:
        return int(found) if isinstance(found, str) and found.isdigit() and len(found) <= 20 else float(found)
    except (TypeError, ValueError):
        return _wrong(name, "a list of numbers", found)


def _wrong(name: str, wanted: str, found: Any) -> NoReturn:
    raise MalformedTelemetry(f"{name} must be {wanted}, not {str(found)[:80]!r}")
