"""Counts requests, and answers for `/metrics` in the text format of Prometheus.

The names are those of kube-apiserver where it has the same thing, so that dashboards find them. What a request is
counted under is bounded: requests for what is not served are counted together, and so is everything beyond some
thousands of series.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from setpoint import __version__
from setpoint.objects.errors import MethodNotAllowed
from setpoint.schema.builtin import RELEASE
from setpoint.server.context import Context
from setpoint.server.exchange import Request, Response, Sink, Stream
from setpoint.server.resource import Resource

_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_MOST_SERIES = 5000
_VERBS = {"create": "POST", "update": "PUT"}
_METHODS = frozenset(("get", "head", "post", "put", "patch", "delete", "options"))
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


class _Durations:
    """How long the requests of one series took: how many were in each bucket, and the sum of all."""

    __slots__ = ("buckets", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BUCKETS) + 1)
        self.total = 0.0


class Metrics:
    """The measurements of one server."""

    def __init__(self) -> None:
        self._requests: dict[tuple[_Series, int], int] = {}
        self._durations: dict[_Series, _Durations] = {}
        self._streams: dict[_Series, int] = {}
        self._known: set[_Series] = set()

    def observe(self, request: Request, context: Context | None, response: Response, seconds: float) -> Response:
        """Counts a request that was answered. The answer comes back, the same but for streams, which count on."""
        return self.count(_series(context), response, seconds)

    def count(self, series: _Series, response: Response, seconds: float) -> Response:
        """Counts an answer under a series, or with all others once there are too many."""
        if series not in self._known:
            if len(self._known) >= _MOST_SERIES:
                series = _OTHERS
            self._known.add(series)
        key = (series, response.status)
        self._requests[key] = self._requests.get(key, 0) + 1
        body = response.body
        if not isinstance(body, bytes | list):
            return response._replace(body=_Counted(body, series, self._streams))
        durations = self._durations.get(series)
        if durations is None:
            durations = self._durations[series] = _Durations()
        durations.buckets[bisect_left(_BUCKETS, seconds)] += 1
        durations.total += seconds
        return response

    async def respond(self, context: Context) -> Response | None:
        if context.request.path.rstrip("/") != "/metrics":
            return None
        if context.request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed.method()
        lines = [*self._request_lines(), *await _store_lines(context)]
        return Response(200, _CONTENT_TYPE, "".join(f"{line}\n" for line in lines).encode())

    def _request_lines(self) -> Iterator[str]:
        yield from _family("apiserver_request_total", "counter", "Requests by verb, resource and code.")
        for (series, code), count in self._requests.items():
            yield _line("apiserver_request_total", {**series._asdict(), "code": str(code)}, count)
        name = "apiserver_request_duration_seconds"
        yield from _family(name, "histogram", "How long requests took that are not streams.")
        for series, durations in self._durations.items():
            yield from _histogram(name, series._asdict(), durations)
        name = "apiserver_longrunning_requests"
        yield from _family(name, "gauge", "Streams that are open, such as watches.")
        for series, count in self._streams.items():
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


def _series(context: Context | None) -> _Series:
    if context is None:
        return _OTHERS
    info = context.info
    if not info.is_resource:
        return _Series(info.verb.upper()) if info.verb in _METHODS else _OTHERS
    resource = context.registry.resource(info.group, info.version, info.resource)
    if resource is None:
        return _OTHERS
    verb = _VERBS.get(info.verb) or info.verb.upper()
    subresource = info.subresource if info.subresource in resource.subresources else ""
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    return _Series(verb, info.group, info.version, info.resource, subresource, scope)


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


def _histogram(name: str, labels: Mapping[str, str], durations: _Durations) -> Iterator[str]:
    count = 0
    for bound, found in zip((*_BUCKETS, float("inf")), durations.buckets, strict=True):
        count += found
        shown = "+Inf" if bound == float("inf") else f"{bound:g}"
        yield _line(f"{name}_bucket", {**labels, "le": shown}, count)
    yield _line(f"{name}_sum", labels, durations.total)
    yield _line(f"{name}_count", labels, count)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"
