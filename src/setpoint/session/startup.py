"""The start of a session: its host in a process of its own, and the word that it serves."""

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

# How long another one that starts the same session may take.
_OTHER_SECONDS = 30.0
_LOOK_SECONDS = 0.05


class StartFailed(Exception):  # noqa: N818 - it says what happened
    """The host does not serve; says why."""


class Started(NamedTuple):
    """A session that runs. `joined`: it ran already."""

    session: Session
    joined: bool


def running(app: str, directory: Path, environ: Mapping[str, str]) -> Session | None:
    """The session of an app, if it runs."""
    wanted = session_id(app, str(directory))
    return next((session for session in Sessions.of(environ).alive() if session.id == wanted), None)


async def start(
    app: str,
    file: Path,
    environ: Mapping[str, str],
    *,
    profiles: Collection[str] = (),
    attendant: str = "",
    standby: Standby | None = None,
) -> Started:
    """Starts the session of an app, unless it runs. It ends with the process `attendant`. Raises StartFailed."""
    if (found := running(app, file.parent, environ)) is not None:
        return Started(found, joined=True)
    flags = [flag for profile in profiles for flag in ("--profile", profile)]
    flags += ["--attendant", attendant] if attendant else []
    clock = SystemClock()
    places = Places.of(environ, session_id(app, str(file.parent)))
    try:
        make_directory(places.data)
        said = await _host([app, str(file), *flags], environ, places, standby)
    except OSError as error:
        raise StartFailed(
            f"{error.filename or places.data}: {error.strerror or error}; "
            "set XDG_STATE_HOME to a directory that can be written"
        ) from error
    if said not in (READY, TAKEN):
        raise StartFailed(said or _last_words(places))
    found = running(app, file.parent, environ)
    # Another one was quicker, and may not serve yet.
    deadline = clock.monotonic() + _OTHER_SECONDS
    while found is None and said == TAKEN and clock.monotonic() < deadline:
        await clock.sleep(_LOOK_SECONDS)
        found = running(app, file.parent, environ)
    if found is None:
        raise StartFailed(f"it ended as soon as it had begun: {_last_words(places)}")
    return Started(found, joined=said == TAKEN)


async def _host(arguments: Sequence[str], environ: Mapping[str, str], places: Places, standby: Standby | None) -> str:
    """Starts the host, or has one that stands by host the app; what it says. Raises OSError."""
    if standby is not None:
        with suppress(OSError):
            return (await asyncio.to_thread(standby.host, arguments, places.log)).decode(errors="replace").strip()
    return await launch("setpoint.session.host", arguments, environ, places)


async def launch(module: str, arguments: Sequence[str], environ: Mapping[str, str], places: Places) -> str:
    """Starts the host of a session, which goes on by itself; what it says. Raises OSError."""
    descriptor = os.open(places.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        started = detached_process.start_module(module, arguments, environ, stdin=subprocess.DEVNULL, stderr=descriptor)
    finally:
        os.close(descriptor)
    assert started.stdout is not None
    try:
        with started.stdout as output:
            said = await asyncio.to_thread(output.read)
    finally:
        detached_process.let_go(started)
    return said.decode(errors="replace").strip()


def _last_words(places: Places) -> str:
    """How the log of a host ends."""
    return places.last_line() or f"it said nothing; its log is {places.log}"
