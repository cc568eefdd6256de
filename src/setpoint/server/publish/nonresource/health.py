"""Serves `/healthz`, `/livez` and `/readyz`, each of their checks below them, and their counts at `/metrics/slis`.

The checks have the names of kube-apiserver where they check the same: `etcd` is the store, whatever its backend, and
the checks below `poststarthook` are the steps of the start, which must be complete.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from setpoint.objects.metrics import CONTENT_TYPE, MetricFamily, exposition
from setpoint.server.message import Response
from setpoint.server.publish.health_checks import Probe, answer
from setpoint.server.publish.nonresource.process import process_families
from setpoint.server.request.context import Context, Services

_ENDPOINTS = ("healthz", "livez", "readyz")
_READINESS = "readyz"
_COUNTS = "metrics/slis"
_START_TIME = "process_start_time_seconds"


class Check(NamedTuple):
    """One health check. `probe` raises an exception if the check fails."""

    name: str
    probe: Callable[[Context], Awaitable[None]]


async def _ping(context: Context) -> None:
    """Always succeeds."""


async def _store(context: Context) -> None:
    """Succeeds if the store can be read."""
    await context.services.check_store()


async def _step(name: str, context: Context) -> None:
    if not context.services.start_steps[name]:
        raise RuntimeError("not finished")


async def _shutdown(context: Context) -> None:
    if context.services.is_stopping:
        raise RuntimeError("process is shutting down")


PING, STORE = Check("ping", _ping), Check("etcd", _store)
_STORE_READINESS, _SHUTDOWN = Check("etcd-readiness", _store), Check("shutdown", _shutdown)


class Health:
    """The health endpoints: `/healthz` and `/livez` run all basic checks, `/readyz` the readiness checks as well."""

    def __init__(self, readiness: Sequence[Check] = ()) -> None:
        self._readiness = readiness
        # The number of results by check, endpoint and status, and the last result by check and endpoint.
        self._counts: dict[tuple[str, str, str], int] = {}
        self._last: dict[tuple[str, str], bool] = {}

    def paths(self, services: Services) -> Iterator[str]:
        """Yields all paths of the health endpoints."""
        yield f"/{_COUNTS}"
        for endpoint in _ENDPOINTS:
            yield f"/{endpoint}"
            yield from (f"/{endpoint}/{check.name}" for check in self._checks(services, endpoint))

    def _checks(self, services: Services, endpoint: str) -> list[Check]:
        ready = endpoint == _READINESS
        checks = [PING, STORE, *((_STORE_READINESS,) if ready else ())]
        checks += [Check(f"poststarthook/{name}", partial(_step, name)) for name in services.start_steps]
        return [*checks, *self._readiness, _SHUTDOWN] if ready else checks

    async def respond(self, context: Context) -> Response | None:
        path = context.request.path.strip("/")
        # As on kube-apiserver, these pages answer every method.
        if path == _COUNTS:
            return Response(200, CONTENT_TYPE, "".join(f"{line}\n" for line in exposition(self._families())).encode())
        name, _, wanted = path.partition("/")
        if name not in _ENDPOINTS:
            return None
        checks = self._checks(context.services, name)
        if wanted and wanted not in [check.name for check in checks]:
            return None
        probes = [Probe(check.name, partial(check.probe, context)) for check in checks]
        return await answer(path, probes, context.query, partial(self._observe, name))

    def _observe(self, endpoint: str, check: str, passed: bool) -> None:
        key = check, endpoint, "success" if passed else "error"
        self._counts[key] = self._counts.get(key, 0) + 1
        self._last[check, endpoint] = passed

    def _families(self) -> Iterator[MetricFamily]:
        last = [({"name": name, "type": kind}, int(passed)) for (name, kind), passed in self._last.items()]
        yield MetricFamily("kubernetes_healthcheck", "gauge", "The last result of a health check.", last)
        counts = [
            ({"name": name, "type": kind, "status": status}, count)
            for (name, kind, status), count in self._counts.items()
        ]
        yield MetricFamily("kubernetes_healthchecks_total", "counter", "The results of health checks.", counts)
        yield from (family for family in process_families() if family.name == _START_TIME)
