"""Serves `/healthz`, `/livez` and `/readyz`, and each of their checks below them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from setpoint.server.message import Response
from setpoint.server.publish.health_checks import Probe, answer
from setpoint.server.publish.read_only import check_method
from setpoint.server.request.context import Context


class Check(NamedTuple):
    """One health check. `probe` raises an exception if the check fails."""

    name: str
    probe: Callable[[Context], Awaitable[None]]


async def _ping(context: Context) -> None:
    """Always succeeds."""


async def _store(context: Context) -> None:
    """Succeeds if the store can be read."""
    await context.services.store.revision()


PING, STORE = Check("ping", _ping), Check("store", _store)


class Health:
    """The health endpoints: `/healthz` and `/livez` run all basic checks, `/readyz` the readiness checks as well."""

    def __init__(self, readiness: Sequence[Check] = ()) -> None:
        checks = (PING, STORE)
        self._checks: Mapping[str, Sequence[Check]] = {
            "healthz": checks,
            "livez": checks,
            "readyz": (*checks, *readiness),
        }

    @property
    def paths(self) -> list[str]:
        """All paths of the health endpoints."""
        found = [f"/{name}" for name in self._checks]
        return found + [f"/{name}/{check.name}" for name, checks in self._checks.items() for check in checks]

    async def respond(self, context: Context) -> Response | None:
        path = context.request.path.strip("/")
        name, _, wanted = path.partition("/")
        checks = self._checks.get(name)
        if checks is None or (wanted and wanted not in [check.name for check in checks]):
            return None
        check_method(context)
        probes = [Probe(check.name, partial(check.probe, context)) for check in checks]
        return await answer(path, probes, context.query)
