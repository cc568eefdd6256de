"""What controllers tell `/metrics`, under the names that the dashboards of Go operators know.

One `Metrics` for a manager and all it runs; there is no registry beside it. Counting is a few additions in passing;
everything that can be looked up (how deep queues are, what runs for how long) is looked up when the page is asked for.
A reconcile that met a conflict counts as one to be done again, not as an error: nothing is wrong with it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from setpoint.controller.queue import Queue
from setpoint.controller.request import Request
from setpoint.controller.run_record import CONFLICT, ERROR, REQUEUE, REQUEUE_AFTER, SUCCESS, TERMINAL, TIMEOUT, Run
from setpoint.objects.metrics import Collector, Histogram, MetricFamily
from setpoint.server.publish.nonresource.process import process_families

_RECONCILE = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5),
    *(1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE = tuple(1e-8 * 10**power for power in range(12))
_REQUEST = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_WEBHOOK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# How many priorities are told apart; all further ones are counted together.
_MOST_PRIORITIES = 25
_TOO_MANY = "exceeded_cardinality_limit"
# What only a mistake in the program raises: what a panic is in Go.
_MISTAKES = (AssertionError, AttributeError, LookupError, NameError, RecursionError, TypeError)
_Labels: TypeAlias = tuple[str, ...]
_RESULTS = {TERMINAL: ERROR, TIMEOUT: ERROR, CONFLICT: REQUEUE}


class ControllerMetrics:
    """What one controller tells. It is told as the observer of the controller, and as that of its queue."""

    def __init__(self, name: str, workers: int, queue: Callable[[], Queue[Request]]) -> None:
        self.name = name
        self.workers = workers
        self._queue = queue
        self.active = 0
        self.results = dict.fromkeys((SUCCESS, ERROR, REQUEUE, REQUEUE_AFTER), 0)
        self.errors = self.terminal = self.mistakes = self.timeouts = self.conflicts = 0
        self.seconds = Histogram(_RECONCILE)
        self.adds = self.retries = 0
        self.waiting = Histogram(_QUEUE)
        self.working = Histogram(_QUEUE)

    # The controller's observer

    def started(self, run: Run) -> None:
        self.active += 1

    def finished(self, run: Run) -> None:
        self.active -= 1
        self.seconds.observe(run.seconds)
        result = _RESULTS.get(run.result, run.result)
        if result in self.results:
            self.results[result] += 1
        if result == ERROR:
            self.errors += 1
            self.terminal += run.result == TERMINAL
            self.timeouts += run.result == TIMEOUT
            self.mistakes += isinstance(run.error, _MISTAKES)
        self.conflicts += run.result == CONFLICT

    # The queue's observer, under the names that it calls

    @property
    def queue_observer(self) -> "_QueueObserver":
        return _QueueObserver(self)

    def depths(self) -> Iterator[tuple[str, int]]:
        """How many wait, by priority."""
        depths = self._queue().depths() or {0: 0}
        several = sorted(depths, reverse=True)
        yield from ((str(priority), depths[priority]) for priority in several[:_MOST_PRIORITIES])
        if rest := several[_MOST_PRIORITIES:]:
            yield _TOO_MANY, sum(depths[priority] for priority in rest)

    def running(self) -> list[float]:
        """For how long each of what is worked on has been."""
        return list(self._queue().working().values())


class _QueueObserver:
    """What a queue tells its controller's metrics."""

    def __init__(self, metrics: ControllerMetrics) -> None:
        self._metrics = metrics

    def added(self, depth: int) -> None:
        self._metrics.adds += 1

    def retried(self) -> None:
        self._metrics.retries += 1

    def got(self, waited: float, depth: int) -> None:
        self._metrics.waiting.observe(waited)

    def finished(self, seconds: float) -> None:
        self._metrics.working.observe(seconds)


class Metrics:
    """The measurements of one manager. `parts` are others that have something to tell."""

    def __init__(self) -> None:
        self.controllers: dict[str, ControllerMetrics] = {}
        self.parts: list[Collector] = []
        self.rest = RestMetrics()
        self.webhooks = WebhookMetrics()
        # By the name of the lease: whether we lead.
        self.leading: dict[str, bool] = {}

    def controller(self, name: str, workers: int, queue: Callable[[], Queue[Request]]) -> ControllerMetrics:
        """The metrics of a controller. One that is started again counts on."""
        found = self.controllers.get(name)
        if found is None:
            found = self.controllers[name] = ControllerMetrics(name, workers, queue)
        return found

    def families(self) -> Iterator[MetricFamily]:
        """Everything there is to tell."""
        controllers = list(self.controllers.values())
        yield from _reconcile_families(controllers)
        yield from _queue_families(controllers)
        yield from self.rest.families()
        yield from self.webhooks.families()
        leading = [({"name": name}, float(leads)) for name, leads in self.leading.items()]
        yield MetricFamily("leader_election_master_status", "gauge", "Whether this process leads: 1, or 0.", leading)
        yield from _merged(chain(*(part.families() for part in self.parts)))
        yield from process_families()


class RestMetrics:
    """The requests of a client: its observer (`client.observe`)."""

    def __init__(self) -> None:
        self._requests: Counter[_Labels] = Counter()
        self._retries: Counter[_Labels] = Counter()
        self._seconds: dict[_Labels, Histogram] = {}
        self._limited: dict[_Labels, Histogram] = {}

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        self._requests[code, method, host] += 1
        _histogram(self._seconds, (method, host), _REQUEST).observe(seconds)

    def retried(self, method: str, host: str, code: str) -> None:
        self._retries[code, method, host] += 1

    def limited(self, method: str, host: str, seconds: float) -> None:
        _histogram(self._limited, (method, host), _REQUEST).observe(seconds)

    def families(self) -> Iterator[MetricFamily]:
        by_code, by_verb = ("code", "method", "host"), ("verb", "host")
        yield _counter("rest_client_requests_total", "Requests by code, method and host.", by_code, self._requests)
        yield _counter("rest_client_request_retries_total", "Requests sent once more.", by_code, self._retries)
        yield _timer("rest_client_request_duration_seconds", "How long requests took.", by_verb, self._seconds)
        yield _timer(
            "rest_client_rate_limiter_duration_seconds", "How long requests waited to be sent.", by_verb, self._limited
        )


class WebhookMetrics:
    """The requests to the webhooks of a manager, and the certificates they serve with."""

    def __init__(self) -> None:
        self._requests: Counter[_Labels] = Counter()
        self._seconds: dict[_Labels, Histogram] = {}
        self._mistakes: Counter[_Labels] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.certificates = self.certificate_errors = 0

    def answered(self, path: str, code: int, seconds: float, *, mistake: bool = False) -> None:
        self._requests[str(code), path] += 1
        _histogram(self._seconds, (path,), _WEBHOOK).observe(seconds)
        self._mistakes[path,] += mistake

    def families(self) -> Iterator[MetricFamily]:
        if not self._requests and not self.certificates:
            return
        name = "controller_runtime_webhook_"
        yield _counter(f"{name}requests_total", "Requests by code.", ("code", "webhook"), self._requests)
        yield _timer(f"{name}latency_seconds", "How long requests took.", ("webhook",), self._seconds)
        in_flight = [({"webhook": path}, count) for path, count in self.in_flight.items()]
        yield MetricFamily(f"{name}requests_in_flight", "gauge", "Requests under way.", in_flight)
        yield _counter(f"{name}panics_total", "Requests that a mistake ended.", ("webhook",), self._mistakes)
        name = "certwatcher_read_certificate_"
        yield MetricFamily(f"{name}total", "counter", "Certificates read.", [({}, self.certificates)])
        yield MetricFamily(f"{name}errors_total", "counter", "Ones that could not be.", [({}, self.certificate_errors)])


def _merged(families: Iterable[MetricFamily]) -> Iterator[MetricFamily]:
    """One family of each name: several parts of the same kind tell the same measurements, by other labels."""
    found: dict[str, MetricFamily] = {}
    for family in families:
        known = found.get(family.name)
        found[family.name] = family if known is None else known._replace(samples=[*known.samples, *family.samples])
    yield from found.values()


def _reconcile_families(controllers: Iterable[ControllerMetrics]) -> Iterator[MetricFamily]:
    found = [({"controller": each.name}, each) for each in controllers]
    name = "controller_runtime_"
    yield MetricFamily(
        f"{name}reconcile_total",
        "counter",
        "Reconciles by controller and result.",
        [({**labels, "result": result}, count) for labels, each in found for result, count in each.results.items()],
    )
    counters: tuple[tuple[str, str, Callable[[ControllerMetrics], float]], ...] = (
        ("reconcile_errors_total", "Reconciles that failed.", lambda each: each.errors),
        ("terminal_reconcile_errors_total", "Ones that are not tried again.", lambda each: each.terminal),
        ("reconcile_panics_total", "Ones that a mistake in the program ended.", lambda each: each.mistakes),
        ("reconcile_timeouts_total", "Ones that took too long.", lambda each: each.timeouts),
    )
    for end, text, value in counters:
        yield MetricFamily(f"{name}{end}", "counter", text, [(labels, value(each)) for labels, each in found])
    yield MetricFamily(
        f"{name}reconcile_time_seconds",
        "histogram",
        "How long reconciles took.",
        [(labels, each.seconds) for labels, each in found],
    )
    gauges: tuple[tuple[str, str, Callable[[ControllerMetrics], float]], ...] = (
        ("max_concurrent_reconciles", "Reconciles that may run at once.", lambda each: each.workers),
        ("active_workers", "Reconciles that run.", lambda each: each.active),
    )
    for end, text, value in gauges:
        yield MetricFamily(f"{name}{end}", "gauge", text, [(labels, value(each)) for labels, each in found])
    yield MetricFamily(
        "setpoint_reconcile_conflicts_total",
        "counter",
        "Reconciles that somebody else's write came before.",
        [(labels, each.conflicts) for labels, each in found],
    )


def _queue_families(controllers: Iterable[ControllerMetrics]) -> Iterator[MetricFamily]:
    found = [({"controller": each.name, "name": each.name}, each) for each in controllers]
    name = "workqueue_"
    yield MetricFamily(
        f"{name}depth",
        "gauge",
        "Requests that are due, by priority.",
        [({**labels, "priority": priority}, depth) for labels, each in found for priority, depth in each.depths()],
    )
    yield MetricFamily(
        f"{name}adds_total", "counter", "Requests that became due.", [(labels, each.adds) for labels, each in found]
    )
    yield MetricFamily(
        f"{name}retries_total", "counter", "Requests tried again.", [(labels, each.retries) for labels, each in found]
    )
    yield MetricFamily(
        f"{name}queue_duration_seconds",
        "histogram",
        "How long requests were due before they were worked on.",
        [(labels, each.waiting) for labels, each in found],
    )
    yield MetricFamily(
        f"{name}work_duration_seconds",
        "histogram",
        "How long they were worked on.",
        [(labels, each.working) for labels, each in found],
    )
    yield MetricFamily(
        f"{name}unfinished_work_seconds",
        "gauge",
        "How long what is worked on has been, all together.",
        [(labels, sum(each.running())) for labels, each in found],
    )
    yield MetricFamily(
        f"{name}longest_running_processor_seconds",
        "gauge",
        "How long the longest of it has been.",
        [(labels, max(each.running(), default=0.0)) for labels, each in found],
    )


def _histogram(found: dict[_Labels, Histogram], key: _Labels, bounds: tuple[float, ...]) -> Histogram:
    histogram = found.get(key)
    if histogram is None:
        histogram = found[key] = Histogram(bounds)
    return histogram


def _counter(name: str, text: str, labels: _Labels, counts: Counter[_Labels]) -> MetricFamily:
    samples = [(dict(zip(labels, key, strict=True)), count) for key, count in counts.items()]
    return MetricFamily(name, "counter", text, samples)


def _timer(name: str, text: str, labels: _Labels, found: dict[_Labels, Histogram]) -> MetricFamily:
    samples = [(dict(zip(labels, key, strict=True)), histogram) for key, histogram in found.items()]
    return MetricFamily(name, "histogram", text, samples)
