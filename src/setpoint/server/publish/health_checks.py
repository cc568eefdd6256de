"""Health checks and their responses, for the server itself and for other health endpoints.

`?verbose` lists the checks, `?exclude=NAME` omits one. The reason of a failure is included only if that check is
requested by name, because clients with access to health need not see more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from setpoint.objects.gotext import quote
from setpoint.server.message import Response

_TEXT = "text/plain; charset=utf-8"
_NO_SNIFFING = (("X-Content-Type-Options", "nosniff"),)
# Seconds. Clients wait a second or so for health; a check that hangs has failed.
_PATIENCE = 2.0
_log = logging.getLogger(__name__)


class Probe(NamedTuple):
    """One health check. `probe` raises an exception if the check fails."""

    name: str
    probe: Callable[[], Awaitable[None]]


def _ignore(name: str, passed: bool) -> None:
    """Takes no notice of a result."""


async def answer(
    path: str,
    probes: Sequence[Probe],
    query: Mapping[str, Sequence[str]],
    observe: Callable[[str, bool], None] = _ignore,
) -> Response | None:
    """Returns the response for the path of all checks, such as `/readyz`, or of one check below; None for an unknown
    check. `observe` receives the name and the result of each check of a path of all checks."""
    name, _, wanted = path.strip("/").partition("/")
    if not wanted:
        return await _all(name, probes, query, observe)
    found = next((probe for probe in probes if probe.name == wanted), None)
    return None if found is None else await _one(found)


async def _one(probe: Probe) -> Response:
    problem = await _problem(probe)
    if problem is None:
        return Response(200, _TEXT, b"ok", _NO_SNIFFING)
    return Response(500, _TEXT, f"internal server error: {problem}\n".encode(), _NO_SNIFFING)


async def _all(
    name: str, probes: Sequence[Probe], query: Mapping[str, Sequence[str]], observe: Callable[[str, bool], None]
) -> Response:
    excluded = query.get("exclude", ())
    lines, failed = [], False
    for probe in probes:
        if probe.name in excluded:
            lines.append(f"[+]{probe.name} excluded: ok")
            continue
        problem = await _problem(probe)
        observe(probe.name, problem is None)
        if problem is None:
            lines.append(f"[+]{probe.name} ok")
        else:
            _log.warning("%s: check %s failed: %s", name, probe.name, problem)
            lines.append(f"[-]{probe.name} failed: reason withheld")
            failed = True
    names = {probe.name for probe in probes}
    if unknown := sorted(set(excluded) - names):
        shown = ",".join(quote(entry) for entry in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    if failed:
        text = "\n".join([*lines, f"{name} check failed\n"])
        return Response(500, _TEXT, text.encode(), _NO_SNIFFING)
    text = "\n".join([*lines, f"{name} check passed\n"]) if "verbose" in query else "ok"
    return Response(200, _TEXT, text.encode(), _NO_SNIFFING)


async def _problem(probe: Probe) -> str | None:
    """Returns the reason of a failed check; None if the check succeeds."""
    try:
        async with asyncio.timeout(_PATIENCE):
            await probe.probe()
    except TimeoutError as error:
        return str(error) or f"no answer within {_PATIENCE:g} s"
    except Exception as error:  # any exception is a failed check
        return str(error) or type(error).__name__
    return None
