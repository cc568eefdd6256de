"""Counts requests, and serves `/metrics` in the text format of Prometheus.

The names are those of kube-apiserver for the same metrics, so that dashboards work. The number of series is limited:
requests for unserved resources are counted together, and so are all requests beyond some thousands of series.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from setpoint.objects import meta
from setpoint.objects.metrics import CONTENT_TYPE, Histogram, MetricFamily, exposition
from setpoint.schema.builtin import RELEASE
from setpoint.server.message import Response, Sink, Stream
from setpoint.server.publish.nonresource.process import process_families
from setpoint.server.publish.read_only import check_method
from setpoint.server.registry.kinds.apiregistration.apiservice import is_available
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import ALL_VERBS, Resource
from setpoint.server.request.context import Context
from setpoint.version import VERSION

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = tuple(1000.0 * 10**power for power in range(7))
_EXPIRY = (0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000)
_READS = frozenset(("GET", "LIST"))
_MOST_TALLIES = 5000
_LINES_A_TURN = 2000
_VERBS = {"create": "POST", "update": "PUT"}
_METHODS = frozenset(("get", "head", "post", "put", "patch", "delete", "options"))
_FINISHED = (bytes, list)
_DRY_RUN = "dryRun=All"
_UNAUTHORIZED, _TOO_MANY = 401, 429


class _Series(NamedTuple):
    """The labels of a series. All but the verb are empty for paths that are not resources."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    dry_run: str = ""
    component: str = "apiserver"


_OTHERS = _Series("OTHER")
# The attributes of a request: verb, group, version, resource, subresource, no name, no namespace, dry run, status.
_Key: TypeAlias = tuple[str, str, str, str, str, bool, bool, bool, int]


class _Tally:
    """The requests of one series with one status code."""

    __slots__ = ("buckets", "code", "own_buckets", "own_seconds", "seconds", "series", "sizes", "streams")

    def __init__(self, series: _Series, code: int) -> None:
        self.series = series
        self.code = code
        # The number of requests by duration: each bucket excludes those of the previous one.
        self.buckets = [0] * (len(_BUCKETS) + 1)
        self.seconds = 0.0
        # The same without the time of waiting for flow control and for webhooks.
        self.own_buckets = [0] * (len(_BUCKETS) + 1)
        self.own_seconds = 0.0
        # The number of bytes of the responses to reads.
        self.sizes = Histogram(_SIZES)
        self.streams = 0


class Metrics:
    """The measurements of one server."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[_Series, int], _Tally] = {}
        # The same tallies by the attributes of a request, for known combinations.
        self._by_request: dict[_Key, _Tally] = {}
        self._open_streams: dict[_Series, int] = {}
        # The remaining seconds of the client certificates of requests.
        self._certificates = Histogram(_EXPIRY)

    def observe(self, context: Context, response: Response, seconds: float) -> Response:
        """Counts an answered request. Returns the response; a stream is wrapped, to count the stream while open."""
        verb, _, _, group, version, namespace, resource, name, subresource, _, _ = context.info
        request = context.request
        is_dry = _DRY_RUN in request.query
        key = (verb, group, version, resource, subresource, not name, not namespace, is_dry, response.status)
        known = self._by_request.get(key)
        tally = known if known is not None else self._first(key, context)
        body = response.body
        if not isinstance(body, _FINISHED):
            tally.streams += 1
            return response._replace(body=_Counted(body, tally.series, self._open_streams))
        bucket = bisect_left(_BUCKETS, seconds)
        tally.buckets[bucket] += 1
        tally.seconds += seconds
        if context.waited:
            seconds = max(seconds - context.waited, 0.0)
            bucket = bisect_left(_BUCKETS, seconds)
        tally.own_buckets[bucket] += 1
        tally.own_seconds += seconds
        if tally.series.verb in _READS:
            tally.sizes.observe(len(body) if isinstance(body, bytes) else sum(map(len, body)))
        if context.seat is not None:
            executions = context.seat.executions
            executions.buckets[bisect_left(executions.bounds, seconds)] += 1
            executions.sum += seconds
        if request.peer.expires:
            self._certificates.observe(request.peer.expires - context.services.clock.now().timestamp())
        return response

    def _first(self, key: "_Key", context: Context) -> _Tally:
        """Returns the tally of a new combination, cached if the number of such combinations is limited."""
        series = _series(context)
        tally = self._tally(series, key[-1])
        if tally.series == series and series is not _OTHERS and series.subresource == context.info.subresource:
            self._by_request[key] = tally
        return tally

    def _tally(self, series: _Series, code: int) -> _Tally:
        found = self._tallies.get((series, code))
        if found is None:
            if len(self._tallies) >= _MOST_TALLIES:
                series = _OTHERS
            found = self._tallies.setdefault((series, code), _Tally(series, code))
        return found

    async def respond(self, context: Context) -> Response | None:
        if context.request.path.rstrip("/") != "/metrics":
            return None
        check_method(context)
        parts = chain(
            self._families(context.registry),
            *(part.families() for part in context.services.measured),
            process_families(),
            await _store_families(context),
        )
        # The page may have a hundred thousand lines: other requests run while the page is written.
        lines = []
        for line in exposition(list(parts)):
            lines.append(f"{line}\n")
            if len(lines) % _LINES_A_TURN == 0:
                await asyncio.sleep(0)
        return Response(200, CONTENT_TYPE, "".join(lines).encode())

    def _families(self, registry: Registry) -> Iterator[MetricFamily]:
        """Yields the metrics of requests."""
        tallies = list(self._tallies.values())
        totals = [
            ({**tally.series._asdict(), "code": str(tally.code)}, sum(tally.buckets) + tally.streams)
            for tally in tallies
        ]
        yield MetricFamily("apiserver_request_total", "counter", "Requests by verb, resource and code.", totals)
        by_series: dict[_Series, list[_Tally]] = {}
        for tally in tallies:
            by_series.setdefault(tally.series, []).append(tally)
        yield MetricFamily(
            "apiserver_request_duration_seconds",
            "histogram",
            "Duration of requests other than streams, in seconds.",
            [(series._asdict(), _together(found)) for series, found in by_series.items()],
        )
        yield MetricFamily(
            "apiserver_request_sli_duration_seconds",
            "histogram",
            "Duration of requests other than streams, without the time of waiting for flow control and webhooks.",
            [(series._asdict(), _together(found, own=True)) for series, found in by_series.items()],
        )
        yield MetricFamily(
            "apiserver_response_sizes",
            "histogram",
            "Bytes of the responses to reads.",
            [
                (series._asdict(), _sizes_together(found))
                for series, found in by_series.items()
                if series.verb in _READS and series.resource
            ],
        )
        yield MetricFamily(
            "apiserver_request_terminations_total",
            "counter",
            "Requests that the server refused in self-defense.",
            [
                ({**tally.series._asdict(), "code": str(tally.code)}, sum(tally.buckets))
                for tally in tallies
                if tally.code == _TOO_MANY and tally.series.subresource != "eviction"
            ],
        )
        yield MetricFamily(
            "authentication_attempts",
            "counter",
            "Requests by the result of their authentication.",
            _attempts(tallies),
        )
        yield MetricFamily(
            "apiserver_client_certificate_expiration_seconds",
            "histogram",
            "Remaining lifetime of the client certificates of requests.",
            [({}, self._certificates)],
        )
        yield MetricFamily(
            "apiserver_requested_deprecated_apis",
            "gauge",
            "Deprecated resources that were requested.",
            [(_deprecated_labels(series), 1) for series in by_series if _is_deprecated(series, registry)],
        )
        running = [(series._asdict(), count) for series, count in self._open_streams.items()]
        yield MetricFamily("apiserver_longrunning_requests", "gauge", "Open streams, such as watches.", running)


def _is_deprecated(series: _Series, registry: Registry) -> bool:
    resource = registry.resource(series.group, series.version, series.resource)
    return resource is not None and bool(resource.deprecation_warning)


def _deprecated_labels(series: _Series) -> dict[str, str]:
    found = {name: getattr(series, name) for name in ("group", "version", "resource", "subresource")}
    # None of the served versions has a release without it.
    return {**found, "removed_release": ""}


class _Counted:
    """A stream that is counted while open."""

    def __init__(self, stream: Stream, series: _Series, running: dict[_Series, int]) -> None:
        self._stream = stream
        self._series = series
        self._running = running

    async def run(self, sink: Sink) -> None:
        self._running[self._series] = self._running.get(self._series, 0) + 1
        try:
            await self._stream.run(sink)
        finally:
            self._running[self._series] -= 1


def _series(context: Context) -> _Series:
    info = context.info
    if not info.is_resource:
        return _Series(info.verb.upper()) if info.verb in _METHODS else _OTHERS
    resource = context.registry.resource(info.group, info.version, info.resource)
    if resource is None or info.verb not in ALL_VERBS:
        return _OTHERS
    verb = _VERBS.get(info.verb) or info.verb.upper()
    subresource = info.subresource if info.subresource in resource.subresources else ""
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    dry_run = "All" if _DRY_RUN in context.request.query else ""
    return _Series(verb, info.group, info.version, info.resource, subresource, scope, dry_run)


def _attempts(tallies: Sequence[_Tally]) -> list[tuple[dict[str, str], float]]:
    counts = {"success": 0, "failure": 0}
    for tally in tallies:
        counts["failure" if tally.code == _UNAUTHORIZED else "success"] += sum(tally.buckets) + tally.streams
    return [({"result": result}, count) for result, count in counts.items()]


async def _store_families(context: Context) -> list[MetricFamily]:
    """Returns the metrics of the store."""
    store = context.services.store
    stored: dict[str, Resource] = {}
    for resource in context.registry:
        if "watch" in resource.verbs:
            stored.setdefault(resource.storage.prefix, resource)
    objects = [
        ({"group": resource.group, "resource": resource.resource}, await store.count(prefix))
        for prefix, resource in stored.items()
    ]
    watched = [
        ({"group": resource.group, "version": resource.version, "resource": resource.resource}, resource.changes)
        for resource in context.registry
        if resource.changes.sent
    ]
    families = [(labels, changes.sent) for labels, changes in watched]
    sizes = [(labels, changes.sizes) for labels, changes in watched]
    revision, oldest = await store.revision(), await store.oldest()
    version = {"git_version": RELEASE, "setpoint_version": VERSION}
    return [
        MetricFamily("apiserver_resource_objects", "gauge", "Stored objects by resource.", objects),
        MetricFamily("apiserver_storage_objects", "gauge", "Stored objects by resource (older name).", objects),
        MetricFamily("apiserver_watch_events_total", "counter", "Events sent to watches by resource.", families),
        MetricFamily("apiserver_watch_events_sizes", "histogram", "Bytes of the events of watches by resource.", sizes),
        MetricFamily(
            "aggregator_unavailable_apiservice",
            "gauge",
            "APIServices that are not available.",
            await _unavailable(context),
        ),
        MetricFamily("setpoint_tasks", "gauge", "Running and waiting tasks.", [({}, len(asyncio.all_tasks()))]),
        MetricFamily("setpoint_store_revision", "gauge", "The revision of the last change.", [({}, revision)]),
        MetricFamily(
            "setpoint_store_oldest_revision", "gauge", "The oldest revision that can still be read.", [({}, oldest)]
        ),
        MetricFamily("kubernetes_build_info", "gauge", "The emulated version of Kubernetes.", [(version, 1)]),
    ]


async def _unavailable(context: Context) -> list[tuple[dict[str, str], float]]:
    """Returns 1 for every APIService that is not available, and 0 for the others."""
    resource = context.registry.resource("apiregistration.k8s.io", "v1", "apiservices")
    if resource is None:
        return []
    page = await context.services.store.range(resource.storage.prefix)
    trees = [resource.item(item) for item in page.items]
    return [({"name": meta.name(tree)}, float(not is_available(tree))) for tree in trees]


def _together(tallies: Sequence[_Tally], *, own: bool = False) -> Histogram:
    together = Histogram(_BUCKETS)
    parts = [tally.own_buckets if own else tally.buckets for tally in tallies]
    together.buckets = [sum(found) for found in zip(*parts, strict=True)]
    together.sum = sum(tally.own_seconds if own else tally.seconds for tally in tallies)
    return together


def _sizes_together(tallies: Sequence[_Tally]) -> Histogram:
    together = Histogram(_SIZES)
    together.buckets = [sum(found) for found in zip(*(tally.sizes.buckets for tally in tallies), strict=True)]
    together.sum = sum(tally.sizes.sum for tally in tallies)
    return together
