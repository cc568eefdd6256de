"""Queries of the store: newest records first, in pages, with filters.

A query examines records in slices, and calls `pause` between two slices, so that other requests run.
"""

import heapq
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from setpoint.telemetry.held import HeldLog, Metric, labels_of
from setpoint.telemetry.records import Distribution
from setpoint.telemetry.store import Series, TelemetryStore
from setpoint.telemetry.traces import Trace, TraceSummary

Pause: TypeAlias = Callable[[], Awaitable[None]]

# The number of records that a slice examines.
SLICE: Final = 256
# The maximum number of series and points in one response, and of points of one series.
_MAX_SERIES, _MAX_POINTS, _MAX_SERIES_POINTS = 200, 20_000, 2_000
_encode = msgspec.json.Encoder().encode


class Place(NamedTuple):
    """A place in a list that is sorted by time: the time in nanoseconds since 1970, and the number of the record."""

    time: int
    number: int = 0


class Page(NamedTuple):
    """A part of a list as JSON, newest first, and the place at which the next part begins; None at the end."""

    items: list[bytes]
    following: Place | None


class TraceQuery(NamedTuple):
    """The wanted traces. Texts are compared with names of spans and the ID, without regard to case. With `ids`, only
    these traces are examined."""

    service: str = ""
    text: str = ""
    min_duration: int = 0
    errors: bool = False
    limit: int = 100
    before: Place | None = None
    ids: frozenset[str] = frozenset()

    def matches(self, trace: Trace, text: str) -> bool:
        """Returns True if a trace is wanted. `text` is the text in lower case."""
        if self.ids and trace.trace_id not in self.ids:
            return False
        if self.service and self.service not in trace.services:
            return False
        if self.errors and not trace.errors:
            return False
        if trace.end - trace.start < self.min_duration:
            return False
        return not text or trace.trace_id.startswith(text) or any(text in s.name.lower() for s in trace.spans.values())


class LogQuery(NamedTuple):
    """The wanted log records: at least this severity number, with a text anywhere in the record."""

    service: str = ""
    severity: int = 0
    text: str = ""
    trace_id: str = ""
    limit: int = 100
    before: Place | None = None

    def matches(self, record: HeldLog, needle: bytes) -> bool:
        """Returns True if a record is wanted. `needle` is the text as in the record's JSON, in lower case."""
        if self.service and record.service != self.service:
            return False
        if record.severity < self.severity or (self.trace_id and record.trace_id != self.trace_id):
            return False
        return not needle or needle in record.raw.lower()


def json_needle(text: str) -> bytes:
    """Returns a text as JSON contains the text, in lower case and without quotes."""
    return _encode(text)[1:-1].lower()


class _Placed(Protocol):
    """A value with a place in a sorted list."""

    @property
    def place(self) -> Place: ...


class _FoundTrace(NamedTuple):
    place: Place
    trace: Trace


class _FoundLog(NamedTuple):
    place: Place
    record: HeldLog


P = TypeVar("P", bound=_Placed)


async def _newest(
    found: Iterable[P], before: Place | None, limit: int, matches: Callable[[P], bool], pause: Pause
) -> list[P]:
    """Returns the newest matching values before a place, at most one more than `limit`, newest first."""
    kept: list[tuple[Place, int, P]] = []
    for count, each in enumerate(found, 1):
        if count % SLICE == 0:
            await pause()
        place = each.place
        if before is not None and place >= before:
            continue
        # A value that is older than all of a full page needs no comparison with texts.
        if len(kept) > limit:
            if place > kept[0][0] and matches(each):
                heapq.heapreplace(kept, (place, count, each))
        elif matches(each):
            heapq.heappush(kept, (place, count, each))
    return [each for _, _, each in sorted(kept, reverse=True)]


def _page(found: list[P], limit: int, encode: Callable[[P], bytes]) -> Page:
    shown = found[:limit]
    return Page([encode(each) for each in shown], shown[-1].place if len(found) > limit else None)


async def select_traces(store: TelemetryStore, query: TraceQuery, pause: Pause) -> Page:
    """Returns summaries of the traces of a query, those that started last first."""
    text = query.text.lower()

    if query.ids:
        candidates = [trace for each in query.ids if (trace := store.traces.get(each)) is not None]
    else:
        candidates = list(reversed(store.traces.values()))

    def placed() -> Iterable[_FoundTrace]:
        for trace in candidates:
            trace.refresh()
            if trace.spans:
                yield _FoundTrace(Place(trace.start, next(iter(trace.spans))), trace)

    found = await _newest(placed(), query.before, query.limit, lambda each: query.matches(each.trace, text), pause)
    return _page([each for each in found if each.trace.spans], query.limit, lambda each: _encode(each.trace.summary()))


async def select_logs(store: TelemetryStore, query: LogQuery, pause: Pause) -> Page:
    """Returns the log records of a query."""
    needle = json_needle(query.text)
    placed = (_FoundLog(Place(each.time, each.number), each) for each in store.logs.newest_first(query.service))
    found = await _newest(placed, query.before, query.limit, lambda each: query.matches(each.record, needle), pause)
    return _page(found, query.limit, lambda each: each.record.raw)


def spans_of(store: TelemetryStore, trace_id: str, limit: int) -> tuple[list[bytes], TraceSummary] | None:
    """Returns up to `limit` spans of a trace in the order of their start, and its summary; None for an unknown trace.
    An exporter that repeats a request sends spans twice; each is returned once."""
    trace = store.traces.get(trace_id)
    if trace is None:
        return None
    found = {span.span_id: span for span in trace.spans.values()}
    first = heapq.nsmallest(limit, found.values(), key=lambda span: (span.time, -span.end, span.number))
    return [span.raw for span in first], trace.summary()


class ShownSeries(Struct, frozen=True):
    """A series in a response: points are pairs of milliseconds since 1970 and the value."""

    service: str
    instance: str
    attributes: dict[str, object]
    points: list[tuple[float, float | int | Distribution]]


class ShownMetric(Struct, frozen=True):
    """The series of a metric. `truncated` is True if there are more series or points."""

    metric: Metric
    series: list[ShownSeries]
    truncated: bool


async def select_series(store: TelemetryStore, name: str, service: str, since: int, pause: Pause) -> ShownMetric | None:
    """Returns the points of a metric after a time, oldest first; None for an unknown metric."""
    metric = next((each for each in store.metrics(service) if each.name == name), None)
    if metric is None:
        return None
    wanted = [
        series for series in list(store.series.values()) if series.key[1] == name and service in ("", series.key[0])
    ]
    shown: list[ShownSeries] = []
    left, truncated = _MAX_POINTS, len(wanted) > _MAX_SERIES
    for series in wanted[:_MAX_SERIES]:
        await pause()
        most = min(left, _MAX_SERIES_POINTS)
        points = _points(series, since, most + 1)
        truncated = truncated or len(points) > most
        points = points[max(0, len(points) - most) :]
        left -= len(points)
        if points:
            shown.append(ShownSeries(series.key[0], *labels_of(series.key), points))
    return ShownMetric(metric, shown, truncated)


def _points(series: Series, since: int, most: int) -> list[tuple[float, float | int | Distribution]]:
    """Returns the last points of a series, at most `most`, oldest first."""
    found: list[tuple[float, float | int | Distribution]] = []
    for point in reversed(series.points):
        if len(found) >= most or point.time <= since:
            break
        found.append((point.time / 1e6, point.value))
    return found[::-1]
