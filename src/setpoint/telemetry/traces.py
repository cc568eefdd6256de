"""The traces of held spans, and their summaries."""

from typing import Final

from msgspec import Struct

from setpoint.telemetry.held import HeldSpan
from setpoint.telemetry.moments import format_nanoseconds


class TraceSummary(Struct, frozen=True, rename="camel"):
    """A trace in a list: the name and service of its root, its time, and the counts of its spans and errors."""

    trace_id: str
    name: str
    service: str
    start: str
    duration_nanoseconds: int
    spans: int
    errors: int
    # The message of the span that failed first.
    error: str
    services: list[str]


class Trace:
    """The held spans of one trace."""

    def __init__(self, trace_id: str) -> None:
        self.trace_id: Final = trace_id
        self.spans: dict[int, HeldSpan] = {}
        self.services: dict[str, int] = {}
        self.errors = 0
        self.start = self.end = 0
        self._root: HeldSpan | None = None
        self._failed: HeldSpan | None = None
        self._is_current = True

    def add(self, span: HeldSpan) -> None:
        """Adds a span."""
        self.spans[span.number] = span
        self.services[span.service] = self.services.get(span.service, 0) + 1
        self.errors += span.is_error
        if self._is_current:
            self._extend(span)

    def remove(self, span: HeldSpan) -> None:
        """Removes a span that exceeds the bounds of the store."""
        del self.spans[span.number]
        self.errors -= span.is_error
        left = self.services[span.service] - 1
        if left:
            self.services[span.service] = left
        else:
            del self.services[span.service]
        self._is_current = False

    def refresh(self) -> None:
        """Computes start, end and root again if spans were removed."""
        if not self._is_current:
            self._is_current, self._root, self._failed = True, None, None
            for span in self.spans.values():
                self._extend(span)

    def _extend(self, span: HeldSpan) -> None:
        # An error spreads from a span to its callers, which end later.
        if span.is_error and (self._failed is None or (span.end, -span.time) < (self._failed.end, -self._failed.time)):
            self._failed = span
        root = self._root
        if root is None:
            self._root, self.start, self.end = span, span.time, span.end
            return
        self.start, self.end = min(self.start, span.time), max(self.end, span.end)
        if (bool(span.parent_span_id), span.time) < (bool(root.parent_span_id), root.time):
            self._root = span

    def summary(self) -> TraceSummary:
        """Returns the summary. The root is the first span without a parent, or the first span if none is held."""
        self.refresh()
        root = self._root
        assert root is not None, "a trace without spans is removed"
        return TraceSummary(
            self.trace_id,
            root.name,
            root.service,
            format_nanoseconds(self.start),
            max(self.end - self.start, 0),
            len(self.spans),
            self.errors,
            "" if self._failed is None else self._failed.error,
            sorted(self.services),
        )
