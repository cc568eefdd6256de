"""Health checks and how they are answered, for the server itself and for whoever serves health beside it.

`?verbose` lists the checks, `?exclude=NAME` leaves one out. Why a check failed is told only where that check is asked
for by name: whoever may ask for health need not be told more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from setpoint.objects.gotext import quote
from setpoint.server.message import Response

_TEXT = "text/plain; charset=utf-8"
_NO_SNIFFING = (("X-Content-Type-Options", "nosniff"),)
# Seconds. Whoever asks for health waits a second or so; a check that hangs has failed.
_PATIENCE = 2.0
_log = logging.getLogger(__name__)


class Probe(NamedTuple):
    """One thing that must be well. `probe` raises what is wrong."""

    name: str
    probe: Callable[[], Awaitable[None]]


async def answer(path: str, probes: Sequence[Probe], query: Mapping[str, Sequence[str]]) -> Response | None:
    """The answer for the path of all these checks, such as `/readyz`, or of one below it; None for one that is not."""
    name, _, wanted = path.strip("/").partition("/")
    if not wanted:
        return await _all(name, probes, query)
    found = next((probe for probe in probes if probe.name == wanted), None)
    return None if found is None else await _one(found)


async def _one(probe: Probe) -> Response:
    problem = await _problem(probe)
    if problem is None:
        return Response(200, _TEXT, b"ok", _NO_SNIFFING)
    return Response(500, _TEXT, f"internal server error: {problem}\n".encode(), _NO_SNIFFING)


async def _all(name: str, probes: Sequence[Probe], query: Mapping[str, Sequence[str]]) -> Response:
    excluded = query.get("exclude", ())
    lines, failed = [], False
    for probe in probes:
        if probe.name in excluded:
            lines.append(f"[+]{probe.name} excluded: ok")
        elif (problem := await _problem(probe)) is None:
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
    """What is wrong; None where all is well."""
    try:
        async with asyncio.timeout(_PATIENCE):
            await probe.probe()
    except TimeoutError as error:
        return str(error) or f"no answer within {_PATIENCE:g} s"
    except Exception as error:  # whatever it is, it is what is wrong
        return str(error) or type(error).__name__
    return None
