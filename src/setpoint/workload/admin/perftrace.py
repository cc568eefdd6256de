"""`PUT /admin/perftrace?duration=10s&type=snapshot|snapshot-cpu`: has a profile of this process taken; DCP's request.

204: it has begun. When the time is over the file lies where diagnostics go.
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
    """Takes one profile at a time. `directory` says where it goes."""

    def __init__(self, directory: Callable[[], Path | None]) -> None:
        self._directory = directory
        self._taking: asyncio.Task[None] | None = None

    async def respond(self, context: Context) -> Response | None:
        """Raises BadRequest, Conflict and MethodNotAllowed."""
        request = context.request
        if request.path.rstrip("/") != PATH:
            return None
        if request.method != "PUT":
            raise MethodNotAllowed.method()
        nanoseconds, kind = _duration(context), (context.query.get("type") or [_TYPES[0]])[-1]
        if kind not in _TYPES:
            raise BadRequest(f"type: {kind!r} is no kind of profile; it should be {' or '.join(_TYPES)}")
        directory = self._directory()
        if directory is None:
            raise Conflict("the control plane is not ready yet: ask again in a moment")
        if self._taking is not None and not self._taking.done():
            raise Conflict("a profile is being taken: wait until it is over")
        clock = context.services.clock
        path = directory / f"perftrace-{kind}-{clock.now():%Y%m%dT%H%M%S}.speedscope.json"
        self._taking = asyncio.ensure_future(_take(path, kind, nanoseconds / SECOND, clock))
        return Response(204, "application/json")

    async def close(self) -> None:
        """Ends a profile that is being taken, and writes what there is."""
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)


def _duration(context: Context) -> int:
    text = (context.query.get("duration") or [""])[-1]
    if not text:
        raise BadRequest("duration: is missing; it should be a duration such as 10s")
    try:
        found = parse(text)
    except ValueError as error:
        raise BadRequest(f"duration: {error}; it should be a duration such as 10s") from None
    if not _SHORTEST <= found <= _LONGEST:
        raise BadRequest(f"duration: {text} must be between 1s and 5m")
    return found


async def _take(path: Path, kind: str, seconds: float, clock: Clock) -> None:
    profile = Profile(cpu=kind == "snapshot-cpu")
    profile.start()
    try:
        await clock.sleep(seconds)
    finally:
        profile.stop()
        try:
            profile.write(path, path.stem)
            _log.warning("a profile of this process is in %s", path)
        except OSError as error:
            _log.error("the profile of this process could not be written: %s", error)
