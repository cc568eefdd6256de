"""`PUT /admin/perftrace?duration=10s&type=snapshot|snapshot-cpu`: profiles this process; the request is DCP's.

The response 204 means that profiling has begun. At the end of the duration the file is written to the diagnostics
directory.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.objects.duration import MINUTE, SECOND, parse
from setpoint.objects.errors import BadRequest, Conflict, MethodNotAllowed
from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.workload.admin.profile import Profile

PATH = "/admin/perftrace"
_SHORTEST, _LONGEST = SECOND, 5 * MINUTE
_TYPES = ("snapshot", "snapshot-cpu")

_log = logging.getLogger(__name__)


class PerfTracePage:
    """Takes one profile at a time. `directory` returns the directory of the file, or None before the start."""

    def __init__(self, directory: Callable[[], Path | None]) -> None:
        self._directory = directory
        self._capturing: asyncio.Task[None] | None = None

    async def respond(self, context: Context) -> Response | None:
        """Starts a profile, or returns None for another path. Raises BadRequest, Conflict or MethodNotAllowed."""
        request = context.request
        if request.path.rstrip("/") != PATH:
            return None
        if request.method != "PUT":
            raise MethodNotAllowed.method()
        nanoseconds, kind = _duration(context), (context.query.get("type") or [_TYPES[0]])[-1]
        if kind not in _TYPES:
            raise BadRequest(f"type: unsupported value {kind!r}; expected {' or '.join(_TYPES)}")
        directory = self._directory()
        if directory is None:
            raise Conflict("the control plane is not ready yet: try again in a moment")
        if self._capturing is not None and not self._capturing.done():
            raise Conflict("a profile is already in progress: try again when it has finished")
        clock = context.services.clock
        path = directory / f"perftrace-{kind}-{clock.now():%Y%m%dT%H%M%S}.speedscope.json"
        self._capturing = asyncio.ensure_future(_capture(path, kind, nanoseconds / SECOND, clock))
        return Response(204, "application/json")

    async def close(self) -> None:
        """Stops a profile in progress and writes the samples taken so far."""
        if self._capturing is not None:
            self._capturing.cancel()
            await asyncio.gather(self._capturing, return_exceptions=True)


def _duration(context: Context) -> int:
    text = (context.query.get("duration") or [""])[-1]
    if not text:
        raise BadRequest("duration: required, e.g. 10s")
    try:
        found = parse(text)
    except ValueError as error:
        raise BadRequest(f"duration: {error}; expected a duration, e.g. 10s") from None
    if not _SHORTEST <= found <= _LONGEST:
        raise BadRequest(f"duration: {text} must be between 1s and 5m")
    return found


async def _capture(path: Path, kind: str, seconds: float, clock: Clock) -> None:
    profile = Profile(cpu=kind == "snapshot-cpu")
    profile.start()
    try:
        await clock.sleep(seconds)
    finally:
        profile.stop()
        try:
            profile.write(path, path.stem)
            _log.warning("wrote a profile of this process to %s", path)
        except OSError as error:
            _log.error("cannot write the profile of this process: %s", error)
