"""`setpoint up`: an app from its file to the point where everything is ready, and for as long as one looks at it.

The session is a process of its own (`session/host.py`); this one applies the file and shows what becomes of it. It may
leave the session to itself, or end it; should it be killed, the session ends by itself.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from setpoint.cli.app.app_file import find_file, profile_option, read_file
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.connection import Server, connect, run
from setpoint.cli.support.crash_cleanup import UNTIL_GONE, clear_dead
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import FAILED, TIMED_OUT, USAGE, Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setpoint.app.changes import Change
    from setpoint.app.loader import LoadedApp
    from setpoint.cli.app.view.app_view import Outcome
    from setpoint.client.client import Client
    from setpoint.session.registry import Session
    from setpoint.session.standby import Standby
    from setpoint.session.startup import Started
    from setpoint.workload.process.identity import Identity


# How long a host that does not answer any more may take to be gone.
_LAST_SECONDS = 10.0


class How(NamedTuple):
    """How an app is to be shown."""

    detached: bool
    logs: bool
    seconds: float


@click.command()
@click.argument("file", default="", metavar="[FILE]")
@profile_option
@click.option("-d", "--detach", "detached", is_flag=True, help="Return when all is ready, and let it run on.")
@click.option("--logs/--no-logs", default=True, help="Whether to show what the app prints.")
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    default=300.0,
    show_default=True,
    help="With --detach: how long to wait until all is ready.",
)
def up(file: str, profiles: tuple[str, ...], detached: bool, logs: bool, seconds: float) -> None:
    """Run the app of a file: setpoint.yaml, here or above.

    If it runs already, what changed in the file is applied and nothing else is touched. While it is shown, `d` leaves
    it running and `q` ends it. With --detach the exit code tells whether everything became ready.
    """
    found = find_file(file)
    with _standby(found) as standby:
        loaded = read_file(found, os.environ, profiles)
        app = loaded.app
        if not any((app.services, app.tasks, app.controllers, app.crds, app.objects)):
            raise Failure(
                f"there is nothing to run in {found}: it has no services; `setpoint init` proposes some", USAGE
            )
        clear_dead(patience=UNTIL_GONE)
        sys.exit(run(_up(found, loaded, profiles, How(detached, logs, seconds), standby)))


@contextmanager
def _standby(file: Path) -> "Iterator[Standby | None]":
    """A host that gets ready while the file is read; none where an app runs already, which is likely to be this one."""
    from setpoint.session.registry import Sessions
    from setpoint.session.standby import Standby

    if any(Path(session.directory) == file.parent for session in Sessions.of(os.environ).alive()):
        yield None
        return
    with Standby(os.environ, file) as standby:
        yield standby


async def _up(file: Path, loaded: "LoadedApp", profiles: tuple[str, ...], how: How, standby: "Standby | None") -> int:
    from setpoint.cli.app.view.app_view import watch_app
    from setpoint.cli.app.view.view_settings import settings_of
    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import SystemClock
    from setpoint.session.attachment import detach
    from setpoint.session.paths import Places
    from setpoint.session.registry import process_identity
    from setpoint.session.startup import StartFailed, start
    from setpoint.workload.process.exit_wait import wait_gone

    app, clock = loaded.app.app, SystemClock()
    began = clock.now()
    try:
        # Even what is to run on alone must not, before it is known what it is.
        who = process_identity()
        async with progress(f"starting {app}", clock):
            started = await start(app, file, os.environ, profiles=profiles, attendant=who, standby=standby)
        while started.joined and await _is_ending(started):
            echo(f"{app} is being ended; it starts when that is done", err=True)
            async with progress(f"waiting for {app} to end", clock):
                await wait_gone(_host(started), clock)
                began = clock.now()
                started = await start(app, file, os.environ, profiles=profiles, attendant=who)
    except StartFailed as error:
        raise Failure(f"{app} cannot be started: {error}") from None
    async with connect(Server(session=started.session.id)) as client:
        changed = await _applied(client, loaded, started)
        if how.detached and not started.joined:
            detach(Places.of_session(started.session).attended)
        settings = settings_of(
            loaded,
            started.session,
            changed,
            joined=started.joined,
            until_ready=how.detached,
            logs=how.logs,
            began=began,
        )
        outcome = await watch_app(client, settings, place=terminal(), seconds=how.seconds if how.detached else None)
        if outcome.how == "ready" and loaded.app.controllers:
            await _with_controllers(client, loaded, how.seconds)
        return await _concluded(client, started, outcome, how)


def _host(started: "Started") -> "Identity":
    from setpoint.workload.process.identity import parse

    found = parse(started.session.process)
    assert found is not None
    return found


async def _is_ending(started: "Started") -> bool:
    """Whether a session that was found is on its way out, or is out of reach and gone in a moment. Raises Failure."""
    from setpoint.client.transport import TransportError
    from setpoint.objects.clock import timeout
    from setpoint.session.registry import Sessions
    from setpoint.session.shutdown import is_ending
    from setpoint.workload.process.exit_wait import wait_gone

    try:
        async with connect(Server(session=started.session.id)) as client:
            try:
                return await is_ending(client)
            except TransportError as error:
                try:
                    async with timeout(client.clock, _LAST_SECONDS):
                        await wait_gone(_host(started), client.clock)
                except TimeoutError:
                    raise error from None
                return True
    except Failure:
        # The session may end, and take its record and kubeconfig along, after it was found.
        if any(session.id == started.session.id for session in Sessions.of(os.environ).alive()):
            raise
        return True


async def _with_controllers(client: "Client", app: "LoadedApp", seconds: float) -> None:
    """Waits for the controllers of the app, too. Raises Failure for one that cannot run."""
    from setpoint.app import forms
    from setpoint.session.controllers.status_query import loaded

    modules = [forms.controller(each).module for each in app.app.controllers]
    known = await loaded(client, modules, seconds)
    name = app.app.app
    if known.failures:
        raise Failure(f"{'; '.join(known.failures)}. {name} runs on: what you mend is loaded, `setpoint down` ends it")
    if not known.are_decided(modules):
        raise Failure(
            f"{', '.join(modules)} not loaded yet; {name} runs on: `setpoint controllers` tells more", TIMED_OUT
        )


async def _applied(client: "Client", loaded: "LoadedApp", started: "Started") -> "list[Change]":
    """Raises Failure; then a session that was started for it is ended again, for nothing half done shall remain."""
    from setpoint.cli.app.down import end_session
    from setpoint.cli.output.progress import progress
    from setpoint.cli.support.errors import explained
    from setpoint.session.app_apply import apply_app
    from setpoint.session.part_control import start_stopped
    from setpoint.session.paths import Places

    try:
        with explained():
            async with progress(f"applying the file of {started.session.app}", client.clock) as shown:

                def tell(name: str) -> None:
                    shown.text = f"waiting for {name} to end"

                changed = await apply_app(client, Places.of_session(started.session), loaded.objects, tell)
            if started.joined:
                await start_stopped(client, loaded.objects)
            return changed
    except BaseException:
        if not started.joined:
            await end_session(started.session, client)
        raise


async def _concluded(client: "Client", started: "Started", outcome: "Outcome", how: How) -> int:
    """What is left to do, and to say. The exit code."""
    from setpoint.cli.app.down import end_session
    from setpoint.session.attachment import attendant, detach
    from setpoint.session.paths import Places

    app, places = started.session.app, Places.of_session(started.session)
    match outcome.how:
        case "quit":
            await end_session(started.session, client)
        case "detached":
            detach(places.attended)
            echo(f"{app} runs on · `{_again(started.session)}` shows it again, `setpoint down` ends it")
        case "left" | "ready":
            until = "" if attendant(places.attended) is None else ", as long as the terminal that started it"
            echo(f"{app} runs on{until} · `setpoint down` ends it")
        case "ended":
            if places.applied.exists():
                raise Failure(f"the session of {app} is gone; its log is {places.log}")
            if how.detached:
                raise Failure(f"{app} was ended before it was ready")
            echo(f"{app} was ended")
        case "failed" | "late":
            parts = ", ".join(outcome.failed)
            what = "failed" if outcome.how == "failed" else f"{'is' if len(outcome.failed) == 1 else 'are'} not ready"
            asked = outcome.failed[0] if outcome.failed else app
            raise Failure(
                f"{parts or app} {what}; {app} runs on: `setpoint why {asked}` tells more, `setpoint down` ends it",
                FAILED if outcome.how == "failed" else TIMED_OUT,
            )
    return 0


def _again(session: "Session") -> str:
    """The command that shows a session, from the directory one is in."""
    from setpoint.app.reader import FILES

    file = Path(session.file)
    return "setpoint up" if file.name in FILES else f"setpoint up {os.path.relpath(file, here())}"
