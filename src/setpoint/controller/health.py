"""Whether a manager is alive and ready: checks by name, of its own and of its users.

Alive (`/healthz`, `/livez`) is who answers, does not hang in a reconcile and has not outlived its lease. Ready
(`/readyz`) is who has also read what its controllers watch, reaches its server, leads or stands by, and answers for its
webhooks: a process that is Running but waits for rights that nobody gave it is not ready, and `/readyz/caches` says
which they are.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import parse_qs

from setpoint.server.message import Request, Response
from setpoint.server.publish.health_checks import Probe, answer

# Raises, or has raised in its coroutine, what is wrong.
Check: TypeAlias = Callable[[], Awaitable[None] | None]

ALIVE, READY = ("/healthz", "/livez"), ("/readyz",)


class Health:
    """The checks of one manager. Names are unique among those of life and among those of readiness."""

    def __init__(self) -> None:
        self._alive: dict[str, Check] = {"ping": _ping}
        self._ready: dict[str, Check] = {}

    def add_alive(self, name: str, check: Check) -> None:
        """Adds something that must be well for the process to be left alone. Raises ValueError."""
        _add(self._alive, name, check)

    def add_ready(self, name: str, check: Check) -> None:
        """Adds something that must be well for others to rely on it. Raises ValueError."""
        _add(self._ready, name, check)

    async def respond(self, request: Request) -> Response | None:
        """The answer to a request for health; None for any other."""
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
        raise ValueError(f"{name!r} cannot name a check: it stands in a path")
    if name in checks:
        raise ValueError(f"there is a check named {name!r} already")
    checks[name] = check


def _awaited(check: Check) -> Callable[[], Awaitable[None]]:
    async def probe() -> None:
        found = check()
        if inspect.isawaitable(found):
            await found

    return probe


def _ping() -> None:
    """The process answers: that is all."""
