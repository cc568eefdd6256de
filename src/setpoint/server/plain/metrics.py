"""Counts requests, and answers for `/metrics` in the text format of Prometheus.

The names are those of kube-apiserver where it has the same thing, so that dashboards find them. What a request is
counted under is bounded: requests for what is not served are counted together, and so is everything beyond some
thousands of series.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple

from setpoint import __version__
from setpoint.schema.builtin import RELEASE
from setpoint.server.context import Context
from setpoint.server.exchange import Response, Sink, Stream
from setpoint.server.measure import Family, Histogram
from setpoint.server.plain.process import process_families
from setpoint.server.readonly import check_method
from setpoint.server.resource import ALL_VERBS, Resource

_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_MOST_TALLIES = 5000
_VERBS = {"create": "POST", "update": "PUT"}
_METHODS = frozenset(("get", "head", "post", "put", "patch", "delete", "options"))
_FINISHED = (bytes, list)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class _Series(NamedTuple):
    """What requests are counted under. All is empty but the verb for what is no resource."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""


_OTHERS = _Series("OTHER")


class _Tally:
    """The requests of one series that were answered with one code."""

    __slots__ = ("buckets", "code", "seconds", "series", "streams")

    def __init__(self, series: _Series, code: int) -> None:
        self.series = series
        self.code = code
        # How many took how long: as many as fit into each bucket but not into the one before.
        self.buckets = [0] * (len(_BUCKETS) + 1)
        self.seconds = 0.0
        self.streams = 0


class Metrics:
    """The measurements of one server."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[_Series, int], _Tally] = {}
        # The same by what a request says, for requests of a sort that was seen before.
        self._by_request: dict[tuple[str, str, str, str, str, bool, bool, int], _Tally] = {}
        self._open_streams: dict[_Series, int] = {}

    def observe(self, context: Context, response: Response, seconds: float) -> Response:
        """Counts a request that was answered. The answer comes back, the same but for streams, which count on."""
        verb, _, _, group, version, namespace, resource, name, subresource, _ = context.info
        key = (verb, group, version, resource, subresource, not name, not namespace, response.status)
        known = self._by_request.get(key)
        tally = known if known is not None else self._first(key, context)
        body = response.body
        if not isinstance(body, _FINISHED):
            tally.streams += 1
            return response._replace(body=_Counted(body, tally.series, self._open_streams))
        tally.buckets[bisect_left(_BUCKETS, seconds)] += 1
        tally.seconds += seconds
        return response

    def _first(self, key: tuple[str, str, str, str, str, bool, bool, int], context: Context) -> _Tally:
        """The tally of a sort of request that is new, remembered if it is one of a bounded number."""
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
        parts = chain(*(part.families() for part in context.services.measured), process_families())
        lines = [*self._request_lines(), *_family_lines(parts), *await _store_lines(context)]
        return Response(200, _CONTENT_TYPE, "".join(f"{line}\n" for line in lines).encode())

    def _request_lines(self) -> Iterator[str]:
        name = "apiserver_request_total"
        yield from _family(name, "counter", "Requests by verb, resource and code.")
        for tally in self._tallies.values():
            labels = {**tally.series._asdict(), "code": str(tally.code)}
            yield _line(name, labels, sum(tally.buckets) + tally.streams)
        name = "apiserver_request_duration_seconds"
        yield from _family(name, "histogram", "How long requests took that are not streams.")
        by_series: dict[_Series, list[_Tally]] = {}
        for tally in self._tallies.values():
            by_series.setdefault(tally.series, []).append(tally)
        for series, tallies in by_series.items():
            yield from _histogram(name, series._asdict(), tallies)
        name = "apiserver_longrunning_requests"
        yield from _family(name, "gauge", "Streams that are open, such as watches.")
        for series, count in self._open_streams.items():
            yield _line(name, series._asdict(), count)


class _Counted:
    """A stream that is counted while it runs."""

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
    return _Series(verb, info.group, info.version, info.resource, subresource, scope)


def _family_lines(families: Iterable[Family]) -> Iterator[str]:
    """What the parts of the server, and its process, say of themselves."""
    for name, kind, text, samples in families:
        yield from _family(name, kind, text)
        for labels, value in samples:
            if isinstance(value, Histogram):
                yield from _histogram_lines(name, labels, value)
            else:
                yield _line(name, labels, value)


async def _store_lines(context: Context) -> list[str]:
    """What the store says of itself."""
    store = context.services.store
    stored: dict[str, Resource] = {}
    for resource in context.registry:
        if "watch" in resource.verbs:
            stored.setdefault(resource.storage.prefix, resource)
    lines = list(_family("apiserver_storage_objects", "gauge", "Stored objects by resource."))
    for prefix, resource in stored.items():
        labels = {"group": resource.group, "resource": resource.resource}
        lines.append(_line("apiserver_storage_objects", labels, await store.count(prefix)))
    lines += _family("setpoint_store_revision", "gauge", "The revision of the last change.")
    lines.append(_line("setpoint_store_revision", {}, await store.revision()))
    lines += _family("setpoint_store_oldest_revision", "gauge", "The oldest revision that can still be read.")
    lines.append(_line("setpoint_store_oldest_revision", {}, await store.oldest()))
    lines += _family("kubernetes_build_info", "gauge", "Which Kubernetes this server behaves like.")
    version = {"git_version": RELEASE, "setpoint_version": __version__}
    return [*lines, _line("kubernetes_build_info", version, 1)]


def _family(name: str, kind: str, text: str) -> Iterable[str]:
    return (f"# HELP {name} {text}", f"# TYPE {name} {kind}")


def _histogram(name: str, labels: Mapping[str, str], tallies: Sequence[_Tally]) -> Iterator[str]:
    together = Histogram(_BUCKETS)
    together.buckets = [sum(found) for found in zip(*(tally.buckets for tally in tallies), strict=True)]
    together.sum = sum(tally.seconds for tally in tallies)
    return _histogram_lines(name, labels, together)


def _histogram_lines(name: str, labels: Mapping[str, str], histogram: Histogram) -> Iterator[str]:
    count = 0
    for bound, found in zip((*histogram.bounds, inf), histogram.buckets, strict=True):
        count += found
        yield _line(f"{name}_bucket", {**labels, "le": "+Inf" if bound == inf else f"{bound:g}"}, count)
    yield _line(f"{name}_sum", labels, histogram.sum)
    yield _line(f"{name}_count", labels, count)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"
