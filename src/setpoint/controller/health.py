"""Health checks of a manager: named liveness and readiness checks, built-in and user-defined.

Liveness (`/healthz`, `/livez`) requires that the process responds, that no reconcile is stuck and that the lease is
renewed in time. Readiness (`/readyz`) also requires that the caches are synced, the server is reachable, the replica
leads or stands by, and the webhooks are served. A process without the necessary permissions is running but not ready,
and `/readyz/caches` reports the missing ones.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import parse_qs

from setpoint.server.message import Request, Response
from setpoint.server.publish.health_checks import Probe, answer

# Raises if the check fails, directly or in its coroutine.
Check: TypeAlias = Callable[[], Awaitable[None] | None]

ALIVE, READY = ("/healthz", "/livez"), ("/readyz",)


class Health:
    """The checks of one manager. Names are unique within liveness and within readiness."""

    def __init__(self) -> None:
        self._alive: dict[str, Check] = {"ping": _ping}
        self._ready: dict[str, Check] = {}

    def add_alive(self, name: str, check: Check) -> None:
        """Adds a liveness check. Raises ValueError for an invalid or duplicate name."""
        _add(self._alive, name, check)

    def add_ready(self, name: str, check: Check) -> None:
        """Adds a readiness check. Raises ValueError for an invalid or duplicate name."""
        _add(self._ready, name, check)

    async def respond(self, request: Request) -> Response | None:
        """Returns the response to a health request; None for any other path."""
        path = "/" + request.path.strip("/").partition("/")[0]
        if path in ALIVE:
            checks = self._alive
        elif path in READY:
            checks = {"ping": _ping, **self._ready}
        else:
            return None
        probes = [Probe(name, _awaited(check)) for name, check in checks.items()]
        return await answer(request.path, probes, parse_qs(request.query, keep_blank_values=True))


def _add(checks: dict[str, Check], name: str, check: Check) -> None:
    if not name or "/" in name:
        raise ValueError(f"invalid check name {name!r}: must not be empty or contain /")
    if name in checks:
        raise ValueError(f"a check named {name!r} already exists")
    checks[name] = check


def _awaited(check: Check) -> Callable[[], Awaitable[None]]:
    async def probe() -> None:
        found = check()
        if inspect.isawaitable(found):
            await found

    return probe


def _ping() -> None:
    """Always succeeds: the process responds."""
