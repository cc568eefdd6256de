"""The metrics of controllers, under the names that dashboards of Go operators use.

There is one `Metrics` object per manager and no other registry. Counters are updated as events happen; values that can
be looked up (queue depth, running reconciles) are read when `/metrics` is requested. A reconcile that ended with a
conflict counts as requeued, not as an error.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from setpoint.controller.queue import Queue
from setpoint.controller.request import Request
from setpoint.controller.run_record import (
    CONFLICT,
    ERROR,
    REQUEUE,
    REQUEUE_AFTER,
    SUCCESS,
    TERMINAL,
    TIMEOUT,
    ReconcileRecord,
)
from setpoint.objects.metrics import Collector, Histogram, MetricFamily
from setpoint.server.publish.nonresource.process import process_families

_RECONCILE = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5),
    *(1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE = tuple(1e-8 * 10**power for power in range(12))
_REQUEST = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_WEBHOOK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# The number of priorities with their own series; further ones are summed up.
_MOST_PRIORITIES = 25
_TOO_MANY = "exceeded_cardinality_limit"
# Exceptions that indicate a bug in the program, counted like panics in Go.
_MISTAKES = (AssertionError, AttributeError, LookupError, NameError, RecursionError, TypeError)
_Labels: TypeAlias = tuple[str, ...]
_RESULTS = {TERMINAL: ERROR, TIMEOUT: ERROR, CONFLICT: REQUEUE}


class ControllerMetrics:
    """The metrics of one controller: observes the controller and its queue."""

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

    def started(self, run: ReconcileRecord) -> None:
        self.active += 1

    def finished(self, run: ReconcileRecord) -> None:
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
        """Yields the number of due requests by priority."""
        depths = self._queue().depths() or {0: 0}
        several = sorted(depths, reverse=True)
        yield from ((str(priority), depths[priority]) for priority in several[:_MOST_PRIORITIES])
        if rest := several[_MOST_PRIORITIES:]:
            yield _TOO_MANY, sum(depths[priority] for priority in rest)

    def running(self) -> list[float]:
        """Returns the seconds since the start of each running reconcile."""
        return list(self._queue().working().values())


class _QueueObserver:
    """Forwards the notifications of a queue to the metrics of its controller."""

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
    """The metrics of one manager. `parts` are further collectors."""

    def __init__(self) -> None:
        self.controllers: dict[str, ControllerMetrics] = {}
        self.parts: list[Collector] = []
        self.rest = RestMetrics()
        self.webhooks = WebhookMetrics()
        # By the name of the lease: True while this replica leads.
        self.leading: dict[str, bool] = {}

    def controller(self, name: str, workers: int, queue: Callable[[], Queue[Request]]) -> ControllerMetrics:
        """Returns the metrics of a controller. A restarted controller continues its counters."""
        found = self.controllers.get(name)
        if found is None:
            found = self.controllers[name] = ControllerMetrics(name, workers, queue)
        return found

    def families(self) -> Iterator[MetricFamily]:
        """Yields all metric families."""
        controllers = list(self.controllers.values())
        yield from _reconcile_families(controllers)
        yield from queue_families(controllers)
        yield from self.rest.families()
        yield from self.webhooks.families()
        leading = [({"name": name}, float(leads)) for name, leads in self.leading.items()]
        yield MetricFamily("leader_election_master_status", "gauge", "1 if this process leads, else 0.", leading)
        yield from _merged(chain(*(part.families() for part in self.parts)))
        yield from process_families()


class RestMetrics:
    """The metrics of a client's requests: the observer of the client (`client.observe`)."""

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
        yield _counter("rest_client_request_retries_total", "Retried requests.", by_code, self._retries)
        yield _timer("rest_client_request_duration_seconds", "Duration of requests.", by_verb, self._seconds)
        yield _timer(
            "rest_client_rate_limiter_duration_seconds", "Rate limiter delay of requests.", by_verb, self._limited
        )


class WebhookMetrics:
    """The metrics of a manager's webhook requests and of the webhook certificates."""

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
        yield _timer(f"{name}latency_seconds", "Duration of requests.", ("webhook",), self._seconds)
        in_flight = [({"webhook": path}, count) for path, count in self.in_flight.items()]
        yield MetricFamily(f"{name}requests_in_flight", "gauge", "Requests in flight.", in_flight)
        yield _counter(f"{name}panics_total", "Requests that ended with a bug.", ("webhook",), self._mistakes)
        name = "certwatcher_read_certificate_"
        yield MetricFamily(f"{name}total", "counter", "Certificates read.", [({}, self.certificates)])
        yield MetricFamily(f"{name}errors_total", "counter", "Failed reads.", [({}, self.certificate_errors)])


def _merged(families: Iterable[MetricFamily]) -> Iterator[MetricFamily]:
    """Merges families of the same name: several parts of one kind report the same metric with other labels."""
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
        ("terminal_reconcile_errors_total", "Failed reconciles that are not retried.", lambda each: each.terminal),
        ("reconcile_panics_total", "Reconciles that ended with a bug in the program.", lambda each: each.mistakes),
        ("reconcile_timeouts_total", "Reconciles that exceeded their timeout.", lambda each: each.timeouts),
    )
    for end, text, value in counters:
        yield MetricFamily(f"{name}{end}", "counter", text, [(labels, value(each)) for labels, each in found])
    yield MetricFamily(
        f"{name}reconcile_time_seconds",
        "histogram",
        "Duration of reconciles.",
        [(labels, each.seconds) for labels, each in found],
    )
    gauges: tuple[tuple[str, str, Callable[[ControllerMetrics], float]], ...] = (
        ("max_concurrent_reconciles", "Maximum number of concurrent reconciles.", lambda each: each.workers),
        ("active_workers", "Reconciles that run.", lambda each: each.active),
    )
    for end, text, value in gauges:
        yield MetricFamily(f"{name}{end}", "gauge", text, [(labels, value(each)) for labels, each in found])
    yield MetricFamily(
        "setpoint_reconcile_conflicts_total",
        "counter",
        "Reconciles that ended with a write conflict.",
        [(labels, each.conflicts) for labels, each in found],
    )


def queue_families(controllers: Iterable[ControllerMetrics]) -> Iterator[MetricFamily]:
    """Yields the metrics of the work queues of controllers."""
    found = [({"controller": each.name, "name": each.name}, each) for each in controllers]
    name = "workqueue_"
    yield MetricFamily(
        f"{name}depth",
        "gauge",
        "Due requests by priority.",
        [({**labels, "priority": priority}, depth) for labels, each in found for priority, depth in each.depths()],
    )
    yield MetricFamily(
        f"{name}adds_total", "counter", "Requests that became due.", [(labels, each.adds) for labels, each in found]
    )
    yield MetricFamily(
        f"{name}retries_total", "counter", "Retried requests.", [(labels, each.retries) for labels, each in found]
    )
    yield MetricFamily(
        f"{name}queue_duration_seconds",
        "histogram",
        "Time from due to the start of the reconcile.",
        [(labels, each.waiting) for labels, each in found],
    )
    yield MetricFamily(
        f"{name}work_duration_seconds",
        "histogram",
        "Duration of the work on a request.",
        [(labels, each.working) for labels, each in found],
    )
    yield MetricFamily(
        f"{name}unfinished_work_seconds",
        "gauge",
        "Sum of the seconds that running work has taken so far.",
        [(labels, sum(each.running())) for labels, each in found],
    )
    yield MetricFamily(
        f"{name}longest_running_processor_seconds",
        "gauge",
        "Seconds that the longest running work has taken so far.",
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
