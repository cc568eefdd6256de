"""The flow control metrics of `/metrics`, under kube-apiserver's names."""

from collections.abc import Callable, Iterator
from operator import attrgetter

from setpoint.objects.metrics import MetricFamily
from setpoint.server.access.flowcontrol.gate import Gate
from setpoint.server.access.flowcontrol.seats import Level

_FLOW_CONTROL = "apiserver_flowcontrol"


class GateMetrics:
    """Counts of executing, waiting and rejected requests."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def families(self) -> Iterator[MetricFamily]:
        pools, tallies = self._gate.pools.values(), self._gate.tallies.values()
        inflight = [({"request_kind": pool.kind}, pool.executing) for pool in pools]
        yield MetricFamily("apiserver_current_inflight_requests", "gauge", "Executing requests.", inflight)
        inqueue = [({"request_kind": pool.kind}, pool.waiting) for pool in pools]
        yield MetricFamily("apiserver_current_inqueue_requests", "gauge", "Queued requests.", inqueue)
        labelled = [({"flow_schema": tally.schema, "priority_level": tally.level}, tally) for tally in tallies]
        yield MetricFamily(
            f"{_FLOW_CONTROL}_dispatched_requests_total",
            "counter",
            "Requests that started executing.",
            [(labels, tally.dispatched) for labels, tally in labelled],
        )
        yield MetricFamily(
            f"{_FLOW_CONTROL}_rejected_requests_total",
            "counter",
            "Requests rejected with 429.",
            [({**labels, "reason": why}, n) for labels, tally in labelled for why, n in tally.rejected.items()],
        )
        yield MetricFamily(
            f"{_FLOW_CONTROL}_current_executing_requests",
            "gauge",
            "Executing requests; streams count until their initial events are sent.",
            [(labels, tally.executing) for labels, tally in labelled],
        )
        yield MetricFamily(
            f"{_FLOW_CONTROL}_current_inqueue_requests",
            "gauge",
            "Queued requests by FlowSchema and priority level.",
            [(labels, tally.waiting) for labels, tally in labelled],
        )
        yield MetricFamily(
            f"{_FLOW_CONTROL}_request_wait_duration_seconds",
            "histogram",
            "Seconds that requests waited before they started executing.",
            [({**labels, "execute": "true"}, tally.waits) for labels, tally in labelled],
        )
        yield MetricFamily(
            f"{_FLOW_CONTROL}_request_execution_seconds",
            "histogram",
            "Seconds that requests other than streams executed.",
            [({**labels, "type": "regular"}, tally.executions) for labels, tally in labelled],
        )
        yield MetricFamily(
            f"{_FLOW_CONTROL}_current_executing_seats",
            "gauge",
            "Seats of executing requests; one for each exempt request.",
            [(labels, tally.seats or tally.executing) for labels, tally in labelled],
        )
        for name, text, seats in (
            ("nominal", "Guaranteed seats of a priority level.", attrgetter("nominal")),
            ("upper", "Seats of a priority level, including those that it may borrow.", attrgetter("most")),
            ("current", "Seats that a priority level may occupy now.", attrgetter("limit")),
        ):
            yield MetricFamily(f"{_FLOW_CONTROL}_{name}_limit_seats", "gauge", text, self._by_level(seats))

    def _by_level(self, seats: Callable[[Level], int]) -> list[tuple[dict[str, str], float]]:
        """Returns a number of seats by priority level, for reads and writes together."""
        found: dict[str, int] = {}
        for pool in self._gate.pools.values():
            for name, level in pool.levels.items():
                found[name] = found.get(name, 0) + seats(level)
        return [({"priority_level": name}, count) for name, count in found.items()]
