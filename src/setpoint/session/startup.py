"""Starts a session: launches the host process and waits until the host is ready."""

import asyncio
import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from setpoint.objects.clock import SystemClock
from setpoint.session.host import READY, TAKEN
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions, session_id
from setpoint.session.standby import Standby
from setpoint.store.files import make_directory
from setpoint.workload.process import detached_process

# The time limit for another process that is starting the same session.
_OTHER_SECONDS = 30.0
_LOOK_SECONDS = 0.05


class StartFailed(Exception):  # noqa: N818 - it says what happened
    """Raised if the host fails to start, with the reason."""


class Started(NamedTuple):
    """A running session. `joined` is True if the session was already running."""

    session: Session
    joined: bool


def running(app: str, directory: Path, environ: Mapping[str, str]) -> Session | None:
    """Returns the running session of an app, or None."""
    wanted = session_id(app, str(directory))
    return next((session for session in Sessions.of(environ).alive() if session.id == wanted), None)


async def start(
    app: str,
    file: Path,
    environ: Mapping[str, str],
    *,
    profiles: Collection[str] = (),
    attendant: str = "",
    isolated_from: str = "",
    standby: Standby | None = None,
) -> Started:
    """Starts the session of an app unless already running. The session ends with the process `attendant`.
    `isolated_from` is the app of which this one is a copy. Raises StartFailed.
    """
    if (found := running(app, file.parent, environ)) is not None:
        return Started(found, joined=True)
    flags = [flag for profile in profiles for flag in ("--profile", profile)]
    flags += ["--attendant", attendant] if attendant else []
    flags += ["--isolated-from", isolated_from] if isolated_from else []
    clock = SystemClock()
    places = Places.of(environ, session_id(app, str(file.parent)))
    try:
        make_directory(places.data)
        printed = await _host([app, str(file), *flags], environ, places, standby)
    except OSError as error:
        raise StartFailed(
            f"{error.filename or places.data}: {error.strerror or error}; set XDG_STATE_HOME to a writable directory"
        ) from error
    if printed not in (READY, TAKEN):
        raise StartFailed(printed or _last_log_line(places))
    found = running(app, file.parent, environ)
    # Another process was faster, and its session may not be ready yet.
    deadline = clock.monotonic() + _OTHER_SECONDS
    while found is None and printed == TAKEN and clock.monotonic() < deadline:
        await clock.sleep(_LOOK_SECONDS)
        found = running(app, file.parent, environ)
    if found is None:
        raise StartFailed(f"the session ended immediately after its start: {_last_log_line(places)}")
    return Started(found, joined=printed == TAKEN)


async def _host(arguments: Sequence[str], environ: Mapping[str, str], places: Places, standby: Standby | None) -> str:
    """Launches the host, or gives orders to the standby host. Returns the answer. Raises OSError."""
    if standby is not None:
        with suppress(OSError):
            return (await asyncio.to_thread(standby.host, arguments, places.log)).decode(errors="replace").strip()
    return await launch("setpoint.session.host", arguments, environ, places)


async def launch(module: str, arguments: Sequence[str], environ: Mapping[str, str], places: Places) -> str:
    """Launches a detached host process and returns its answer. Raises OSError."""
    descriptor = os.open(places.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        started = detached_process.start_module(module, arguments, environ, stdin=subprocess.DEVNULL, stderr=descriptor)
    finally:
        os.close(descriptor)
    assert started.stdout is not None
    try:
        with started.stdout as output:
            printed = await asyncio.to_thread(output.read)
    finally:
        detached_process.stop_tracking(started)
    return printed.decode(errors="replace").strip()


def _last_log_line(places: Places) -> str:
    """Returns the last line of the host's log."""
    return places.last_line() or f"no output; see its log {places.log}"
