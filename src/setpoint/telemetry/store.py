"""The telemetry of one control plane: bounded collections of spans, log records and metric points.

All methods run in the event loop, in constant time for each record; `add` receives slices of a request.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from setpoint.objects.clock import Clock
from setpoint.telemetry.bounded import Bounded
from setpoint.telemetry.distributions import with_quantiles
from setpoint.telemetry.held import Held, HeldLog, HeldPoint, HeldSpan, Metric
from setpoint.telemetry.moments import SECOND, nanoseconds_of
from setpoint.telemetry.records import Buckets, Distribution
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.telemetry.traces import Trace

# The number of expired records that one call removes.
_EXPIRED_AT_ONCE: Final = 256


class Series:
    """The points of one series of a metric, oldest first."""

    __slots__ = ("buckets", "key", "points")

    def __init__(self, key: tuple[str, str, bytes]) -> None:
        self.key = key
        self.points: deque[HeldPoint] = deque()
        # Those of the last point, for the quantiles of the next one.
        self.buckets: Buckets | None = None


class Refusal(NamedTuple):
    """The number of rejected records, and the reason."""

    rejected: int = 0
    reason: str = ""


Subscriber: TypeAlias = Callable[[Sequence[Held]], None]


class TelemetryStore:
    """The held records. Subscribers receive the records of each call of `add`."""

    def __init__(self, settings: TelemetrySettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._largest = min(settings.max_bytes, settings.max_service_bytes)
        self.traces: OrderedDict[str, Trace] = OrderedDict()
        self.series: dict[tuple[str, str, bytes], Series] = {}
        # The metrics by service and name, with the number of their series.
        self._metrics: dict[tuple[str, str], tuple[Metric, int]] = {}
        self.spans: Bounded[HeldSpan] = Bounded(settings, self._span_removed)
        self.logs: Bounded[HeldLog] = Bounded(settings, lambda record: None)
        self.points: Bounded[HeldPoint] = Bounded(settings, self._point_removed)
        self._subscribers: dict[int, Subscriber] = {}
        self._subscriptions = 0

    def now(self) -> int:
        """Returns the time in nanoseconds since 1970."""
        return nanoseconds_of(self._clock.now())

    def add(self, records: Sequence[Held], *, stored: bool = False) -> tuple[list[Held], Refusal]:
        """Adds records. Returns the added ones, and the number and reason of those beyond a bound.

        A record expires by its arrival, because clocks of clients may be wrong; a `stored` one has arrived before."""
        added: list[Held] = []
        reason, now = "", self.now()
        for record in records:
            record.received = min(record.received, now) if stored else now
            if not self._has_service(record.service) and len(self.services()) >= self._settings.max_services:
                reason = f"more than {self._settings.max_services} services: raise telemetry.maxServices"
                continue
            if record.size > self._largest:
                reason = f"a record has more than {self._largest} bytes: raise telemetry.maxServiceBytes"
                continue
            if isinstance(record, HeldSpan):
                self.spans.add(record)
                self._file_span(record)
            elif isinstance(record, HeldLog):
                self.logs.add(record)
            elif not self._file_point(record):
                reason = f"more than {self._settings.max_series} series of metrics: raise telemetry.maxSeries"
                continue
            added.append(record)
        self.expire()
        for subscriber in list(self._subscribers.values()) if added else ():
            subscriber(added)
        return added, Refusal(len(records) - len(added), reason)

    def expire(self) -> bool:
        """Removes some of the records that are too old. Returns True if there may be more."""
        before = self.now() - int(self._settings.retention_seconds * SECOND)
        found = [each.expire(before, _EXPIRED_AT_ONCE) for each in (self.spans, self.logs, self.points)]
        return any(found)

    def services(self) -> set[str]:
        """Returns the names of all services."""
        return {*self.spans.services(), *self.logs.services(), *self.points.services()}

    def metrics(self, service: str = "") -> list[Metric]:
        """Returns the metrics of a service, or all, by name."""
        found = [metric for metric, _ in self._metrics.values() if service in ("", metric.service)]
        return sorted(found, key=lambda metric: (metric.name, metric.service))

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls a function with all records that are added from now on. Returns the function that ends this."""
        self._subscriptions += 1
        number = self._subscriptions
        self._subscribers[number] = subscriber
        return lambda: self._subscribers.pop(number, None) and None

    def _has_service(self, name: str) -> bool:
        return self.spans.has_service(name) or self.logs.has_service(name) or self.points.has_service(name)

    def _file_span(self, span: HeldSpan) -> None:
        trace = self.traces.get(span.trace_id)
        if trace is None:
            trace = self.traces[span.trace_id] = Trace(span.trace_id)
        trace.add(span)

    def _span_removed(self, span: HeldSpan) -> None:
        trace = self.traces[span.trace_id]
        trace.remove(span)
        if not trace.spans:
            del self.traces[span.trace_id]

    def _file_point(self, point: HeldPoint) -> bool:
        """Adds a point to its series. Returns False if there would be too many series."""
        series = self.series.get(point.key)
        if series is None:
            if len(self.series) >= self._settings.max_series:
                return False
            series = self.series[point.key] = Series(point.key)
            _, count = self._metrics.get(point.key[:2], (point.metric, 0))
            self._metrics[point.key[:2]] = point.metric, count + 1
        if isinstance(point.value, Distribution) and point.buckets is not None:
            before = series.buckets if point.metric.temporality == "Cumulative" else None
            point.value = with_quantiles(point.value, point.buckets, before)
            series.buckets, point.buckets = point.buckets, None
        series.points.append(point)
        self.points.add(point)
        return True

    def _point_removed(self, point: HeldPoint) -> None:
        series = self.series[point.key]
        series.points.popleft()
        if not series.points:
            del self.series[point.key]
            metric, count = self._metrics.pop(point.key[:2])
            if count > 1:
                self._metrics[point.key[:2]] = metric, count - 1
