"""The metrics of a chain: calls of each handler, their results and durations."""

from collections.abc import Iterable, Iterator

from setpoint.flow.chain.todo import AnyHandler
from setpoint.objects.metrics import MetricFamily


def families(chain: str, handlers: Iterable[AnyHandler], failing: dict[str, int]) -> Iterator[MetricFamily]:
    """Yields the metrics of the handlers of one chain; `failing` has the number of failing objects by handler."""
    found = [({"controller": chain, "handler": handler.name}, handler) for handler in handlers]
    yield MetricFamily(
        "setpoint_handler_total",
        "counter",
        "Calls of a handler by result.",
        [
            ({**labels, "result": result}, count)
            for labels, handler in found
            for result, count in handler.results.items()
        ],
    )
    yield MetricFamily(
        "setpoint_handler_duration_seconds",
        "histogram",
        "Duration of handler calls.",
        [(labels, handler.seconds) for labels, handler in found],
    )
    yield MetricFamily(
        "setpoint_handler_failing",
        "gauge",
        "Objects for which a handler fails.",
        [(labels, failing.get(handler.name, 0)) for labels, handler in found],
    )
