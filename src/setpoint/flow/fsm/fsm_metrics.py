"""The metrics of a finite-state controller: duration and results of states, and the time until a change is ready.

There are no series per object, so that the number of series depends on the number of states only.
"""

from collections import Counter
from collections.abc import Iterator

from setpoint.controller.request import Request
from setpoint.objects.metrics import Histogram, MetricFamily

_STATE = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)
_READY = (0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
# The number of pending generations per object with a recorded time; further ones are ignored.
_MOST_GENERATIONS = 16


class Measures:
    """The metrics of one controller."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds: dict[str, Histogram] = {}
        self.results: Counter[tuple[str, str]] = Counter()
        self.until_ready = Histogram(_READY)
        # The condition of the state at which the last walk of each object ended.
        self.stands: dict[Request, str] = {}
        # The time at which each pending generation was first seen.
        self._seen: dict[Request, dict[int, float]] = {}
        # The last completed generation of each object.
        self._finished: dict[Request, int] = {}

    def record_call(self, state: str, result: str, seconds: float) -> None:
        """Records the call of a state."""
        self.seconds.setdefault(state, Histogram(_STATE)).observe(seconds)
        self.results[state, result] += 1

    def record_reconcile(self, request: Request, generation: int, now: float) -> None:
        """Records the reconcile of an object in a generation."""
        seen = self._seen.setdefault(request, {})
        if generation > self._finished.get(request, 0) and len(seen) < _MOST_GENERATIONS:
            seen.setdefault(generation, now)

    def record_walk(self, request: Request, state: str, generation: int, now: float, *, ready: bool) -> None:
        """Records a walk. If ready, all generations up to this one are complete."""
        self.stands[request] = state
        if not ready:
            return
        seen = self._seen.get(request, {})
        for settled in [found for found in seen if found <= generation]:
            self.until_ready.observe(now - seen.pop(settled))
        self._finished[request] = generation

    def discard(self, request: Request) -> None:
        """Drops the state of a deleted object."""
        self.stands.pop(request, None)
        self._seen.pop(request, None)
        self._finished.pop(request, None)

    def families(self) -> Iterator[MetricFamily]:
        fsm = {"fsm": self.name}
        yield MetricFamily(
            "setpoint_fsm_state_duration_seconds",
            "histogram",
            "Duration of a state, including its outputs.",
            [({**fsm, "state": state}, found) for state, found in self.seconds.items()],
        )
        yield MetricFamily(
            "setpoint_fsm_state_total",
            "counter",
            "Calls of a state by result.",
            [({**fsm, "state": state, "result": result}, count) for (state, result), count in self.results.items()],
        )
        yield MetricFamily(
            "setpoint_fsm_ready_seconds",
            "histogram",
            "Time from the first sight of a generation until ready.",
            [(fsm, self.until_ready)],
        )
        yield MetricFamily(
            "setpoint_fsm_objects",
            "gauge",
            "Objects by the state at which their last walk ended.",
            [({**fsm, "state": state}, count) for state, count in Counter(self.stands.values()).items()],
        )
