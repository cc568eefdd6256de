"""What a finite-state controller tells `/metrics`: how long its states take, how they end, and how long a change takes
until it is carried out. No series is for one object, so that there are as many of them as there are states."""

from collections import Counter
from collections.abc import Iterator

from setpoint.controller.request import Request
from setpoint.objects.metrics import Histogram, MetricFamily

_STATE = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)
_READY = (0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
# Of so many generations that are not carried out yet, the time is remembered; then of the oldest.
_MOST_GENERATIONS = 16


class Measures:
    """Counts for one controller."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds: dict[str, Histogram] = {}
        self.results: Counter[tuple[str, str]] = Counter()
        self.until_ready = Histogram(_READY)
        # Where each object stands: the condition of the state that its last walk ended at.
        self.stands: dict[Request, str] = {}
        # When each generation that is not carried out yet was seen first.
        self._seen: dict[Request, dict[int, float]] = {}
        # The last one that was.
        self._settled: dict[Request, int] = {}

    def passed(self, state: str, result: str, seconds: float) -> None:
        """A state was called."""
        self.seconds.setdefault(state, Histogram(_STATE)).observe(seconds)
        self.results[state, result] += 1

    def saw(self, request: Request, generation: int, now: float) -> None:
        """An object is reconciled as it is in this generation."""
        seen = self._seen.setdefault(request, {})
        if generation > self._settled.get(request, 0) and len(seen) < _MOST_GENERATIONS:
            seen.setdefault(generation, now)

    def walked(self, request: Request, state: str, generation: int, now: float, *, ready: bool) -> None:
        """A walk is over; where it ended ready, all generations up to this one are carried out."""
        self.stands[request] = state
        if not ready:
            return
        seen = self._seen.get(request, {})
        for settled in [found for found in seen if found <= generation]:
            self.until_ready.observe(now - seen.pop(settled))
        self._settled[request] = generation

    def forget(self, request: Request) -> None:
        """The object is gone."""
        self.stands.pop(request, None)
        self._seen.pop(request, None)
        self._settled.pop(request, None)

    def families(self) -> Iterator[MetricFamily]:
        fsm = {"fsm": self.name}
        yield MetricFamily(
            "setpoint_fsm_state_duration_seconds",
            "histogram",
            "How long a state took, with its outputs.",
            [({**fsm, "state": state}, found) for state, found in self.seconds.items()],
        )
        yield MetricFamily(
            "setpoint_fsm_state_total",
            "counter",
            "How often a state was passed, or stopped a walk.",
            [({**fsm, "state": state, "result": result}, count) for (state, result), count in self.results.items()],
        )
        yield MetricFamily(
            "setpoint_fsm_ready_seconds",
            "histogram",
            "From the first sight of a generation until it was ready.",
            [(fsm, self.until_ready)],
        )
        yield MetricFamily(
            "setpoint_fsm_objects",
            "gauge",
            "Objects by the state that their last walk ended at.",
            [({**fsm, "state": state}, count) for state, count in Counter(self.stands.values()).items()],
        )
