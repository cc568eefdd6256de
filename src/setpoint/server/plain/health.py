"""Answers for `/healthz`, `/livez` and `/readyz`, and for each of their checks below them.

`?verbose` lists the checks, `?exclude=NAME` leaves one out. Why a check failed is told only where that check is asked
for by name: whoever may ask for health need not be told more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from setpoint.objects.gotext import quote
from setpoint.server.context import Context
from setpoint.server.exchange import Response
from setpoint.server.readonly import check_method

_TEXT = "text/plain; charset=utf-8"
_NO_SNIFFING = (("X-Content-Type-Options", "nosniff"),)
# Seconds. Whoever asks for health waits a second or so; a check that hangs has failed.
_PATIENCE = 2.0
_log = logging.getLogger(__name__)


class Check(NamedTuple):
    """One thing that must be well. `probe` raises what is wrong."""

    name: str
    probe: Callable[[Context], Awaitable[None]]


async def _ping(context: Context) -> None:
    """The server answers: that is all."""


async def _store(context: Context) -> None:
    """The store can be read."""
    await context.services.store.revision()


PING, STORE = Check("ping", _ping), Check("store", _store)


class Health:
    """Whether the server is alive, and whether it is ready for requests: all checks and those of readiness."""

    def __init__(self, readiness: Sequence[Check] = ()) -> None:
        checks = (PING, STORE)
        self._checks: Mapping[str, Sequence[Check]] = {
            "healthz": checks,
            "livez": checks,
            "readyz": (*checks, *readiness),
        }

    @property
    def paths(self) -> list[str]:
        """All paths that this answers for."""
        found = [f"/{name}" for name in self._checks]
        return found + [f"/{name}/{check.name}" for name, checks in self._checks.items() for check in checks]

    async def respond(self, context: Context) -> Response | None:
        name, _, wanted = context.request.path.strip("/").partition("/")
        checks = self._checks.get(name)
        if checks is None:
            return None
        found = [check for check in checks if check.name == wanted]
        if wanted and not found:
            return None
        check_method(context)
        return await (_one(context, found[0]) if found else _all(context, name, checks))


async def _one(context: Context, check: Check) -> Response:
    problem = await _problem(context, check)
    if problem is None:
        return Response(200, _TEXT, b"ok", _NO_SNIFFING)
    return Response(500, _TEXT, f"internal server error: {problem}\n".encode(), _NO_SNIFFING)


async def _all(context: Context, name: str, checks: Sequence[Check]) -> Response:
    excluded = context.query.get("exclude", ())
    lines, failed = [], False
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok")
        elif (problem := await _problem(context, check)) is None:
            lines.append(f"[+]{check.name} ok")
        else:
            _log.warning("%s: check %s failed: %s", name, check.name, problem)
            lines.append(f"[-]{check.name} failed: reason withheld")
            failed = True
    names = {check.name for check in checks}
    if unknown := sorted(set(excluded) - names):
        shown = ",".join(quote(entry) for entry in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    if failed:
        text = "\n".join([*lines, f"{name} check failed\n"])
        return Response(500, _TEXT, text.encode(), _NO_SNIFFING)
    text = "\n".join([*lines, f"{name} check passed\n"]) if "verbose" in context.query else "ok"
    return Response(200, _TEXT, text.encode(), _NO_SNIFFING)


async def _problem(context: Context, check: Check) -> str | None:
    """What is wrong; None where all is well."""
    try:
        async with asyncio.timeout(_PATIENCE):
            await check.probe(context)
    except TimeoutError:
        return f"no answer within {_PATIENCE:g} s"
    except Exception as error:  # whatever it is, it is what is wrong
        return str(error) or type(error).__name__
    return None
