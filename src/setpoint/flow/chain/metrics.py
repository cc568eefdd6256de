"""What a chain tells `/metrics`: how often each handler was called, how that ended, and how long it took."""

from collections.abc import Iterable, Iterator

from setpoint.flow.chain.todo import AnyHandler
from setpoint.objects.metrics import MetricFamily


def families(chain: str, handlers: Iterable[AnyHandler], failing: dict[str, int]) -> Iterator[MetricFamily]:
    """The measurements of the handlers of one chain; `failing` says how many objects each has not done well by."""
    found = [({"controller": chain, "handler": handler.name}, handler) for handler in handlers]
    yield MetricFamily(
        "setpoint_handler_total",
        "counter",
        "Calls of a handler, by how they ended.",
        [
            ({**labels, "result": result}, count)
            for labels, handler in found
            for result, count in handler.results.items()
        ],
    )
    yield MetricFamily(
        "setpoint_handler_duration_seconds",
        "histogram",
        "How long calls of a handler took.",
        [(labels, handler.seconds) for labels, handler in found],
    )
    yield MetricFamily(
        "setpoint_handler_failing",
        "gauge",
        "Objects that a handler has not ended well with.",
        [(labels, failing.get(handler.name, 0)) for labels, handler in found],
    )
