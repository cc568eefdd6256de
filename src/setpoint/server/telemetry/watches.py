"""Watches of telemetry: streams of the records that arrive, one line of JSON each."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from setpoint.server.message import Frame, Sink
from setpoint.telemetry.held import Held, HeldLog, HeldPoint, HeldSpan, labels_of
from setpoint.telemetry.queries import LogQuery, TraceQuery
from setpoint.telemetry.store import TelemetryStore

# Returns the lines that a watch sends for added records, without line feeds.
Shown: TypeAlias = Callable[[Sequence[Held]], Sequence[bytes]]

_encode = msgspec.json.Encoder().encode


class TelemetryWatch:
    """The body of one watch. A client that reads too slowly is cut off by the edge."""

    def __init__(self, store: TelemetryStore, shown: Shown) -> None:
        self._store, self._shown = store, shown

    async def run(self, sink: Sink) -> None:
        def send(added: Sequence[Held]) -> None:
            if lines := self._shown(added):
                sink.write(Frame(b"\n".join(lines) + b"\n"))

        end = self._store.subscribe(send)
        try:
            await sink.wait_closed()
        finally:
            end()


def shown_services(store: TelemetryStore) -> Shown:
    """Returns a function for the services that were not known before."""
    known = store.services()

    def shown(added: Sequence[Held]) -> Sequence[bytes]:
        new = sorted({each.service for each in added} - known)
        known.update(new)
        return [_encode({"name": name}) for name in new]

    return shown


def shown_traces(store: TelemetryStore, query: TraceQuery) -> Shown:
    """Returns a function for the summaries of traces with new spans that a query matches."""
    text = query.text.lower()

    def shown(added: Sequence[Held]) -> Sequence[bytes]:
        changed = dict.fromkeys(each.trace_id for each in added if isinstance(each, HeldSpan))
        found = [trace for name in changed if (trace := store.traces.get(name)) is not None]
        for trace in found:
            trace.refresh()
        return [_encode(trace.summary()) for trace in found if query.matches(trace, text)]

    return shown


def shown_logs(query: LogQuery, needle: bytes) -> Shown:
    """Returns a function for the log records that a query matches."""

    def shown(added: Sequence[Held]) -> Sequence[bytes]:
        return [each.raw for each in added if isinstance(each, HeldLog) and query.matches(each, needle)]

    return shown


def shown_points(service: str, name: str) -> Shown:
    """Returns a function for the new points of a metric, or of all metrics without a name."""

    def shown(added: Sequence[Held]) -> Sequence[bytes]:
        return [
            _point(each)
            for each in added
            if isinstance(each, HeldPoint) and service in ("", each.service) and name in ("", each.metric.name)
        ]

    return shown


def _point(point: HeldPoint) -> bytes:
    instance, attributes = labels_of(point.key)
    return _encode(
        {
            "name": point.metric.name,
            "service": point.service,
            "instance": instance,
            "attributes": attributes,
            "point": (point.time / 1e6, point.value),
        }
    )
