"""`setpoint up`: starts an app and shows its progress and output.

The session is a separate process (`session/host.py`). This process applies the app file and shows the state of the
parts. On exit the user either detaches from the session or stops the app. If this process is killed, the session stops
by itself.
"""

import os
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from setpoint.cli.app.app_file import find_file, profile_option, read_file
from setpoint.cli.app.chosen_parts import ChosenParts, choose, part_names, split_words
from setpoint.cli.app.isolation import IsolatedCommand, Isolation, isolated_copy
from setpoint.cli.app.source_options import given_files, report_source, source_options
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.connection import Server, connect, run
from setpoint.cli.support.crash_cleanup import UNTIL_GONE, clean_crashed
from setpoint.cli.support.cwd import here
from setpoint.cli.support.durations import Seconds
from setpoint.cli.support.errors import FAILED, TIMED_OUT, USAGE, Failure
from setpoint.cli.support.group_option import group_option
from setpoint.cli.support.processes import require_processes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setpoint.app.changes import ObjectChange
    from setpoint.app.loader import LoadedApp
    from setpoint.cli.app.view.app_view import Outcome
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object
    from setpoint.session.registry import Session
    from setpoint.session.standby import Standby
    from setpoint.session.startup import Started
    from setpoint.workload.process.identity import Identity


# The time limit for an unreachable host process to exit.
_LAST_SECONDS = 10.0


class UpOptions(NamedTuple):
    """The options of `setpoint up`: those of the display, and the app of which an isolated copy starts."""

    detached: bool
    logs: bool
    seconds: float
    isolated_from: str = ""
    is_built: bool = False
    is_recreated: bool = False

    def renewal(self, tree: "Object") -> str:
        """Returns the reason to replace a workload that did not change."""
        from setpoint.app.changes import is_built

        if self.is_recreated:
            return "--force-recreate"
        return "--build" if self.is_built and is_built(tree) else ""


@click.command(cls=IsolatedCommand)
@click.argument("words", metavar="[FILE] [NAME...]", nargs=-1, shell_complete=part_names)
@source_options
@profile_option
@group_option
@click.option("--no-deps", "alone", is_flag=True, help="With NAME: start no dependencies, and do not wait for them.")
@click.option("--build", "is_built", is_flag=True, help="Build images again, also those of running containers.")
@click.option(
    "--force-recreate",
    "is_recreated",
    is_flag=True,
    help="Recreate containers and restart processes even if their configuration has not changed.",
)
@click.option(
    "--isolated",
    metavar="[=NAME]",
    default=None,
    help="Run a second copy with its own ports, volumes and names, even where the file fixes them.",
)
@click.option(
    "-d", "--detach", "detached", is_flag=True, help="Run in the background; return when all parts are ready."
)
@click.option("--logs/--no-logs", default=True, help="Show the output of the app.")
@click.option(
    "--timeout",
    "seconds",
    type=Seconds(),
    metavar="DURATION",
    default="5m",
    show_default=True,
    help="With --detach: time to wait until all parts are ready.",
)
def up(
    words: tuple[str, ...],
    profiles: tuple[str, ...],
    groups: tuple[str, ...],
    alone: bool,
    is_built: bool,
    is_recreated: bool,
    isolated: str | None,
    detached: bool,
    logs: bool,
    seconds: float,
) -> None:
    """Start the app of a file: setpoint.yaml in this directory or a parent, or a file of another tool.

    Without setpoint.yaml, Compose files, process-compose.yaml or a Procfile are used as they are.
    With NAME or --group, only these services and tasks start, and the parts that they depend on; others that are
    running keep running. A later `setpoint up` starts the rest. If the app is already running, only the changes of the
    file are applied. In the view, press `d` to detach and `q` to stop the app. With --detach, the exit code is 0 if all
    parts became ready.

    \b
      setpoint up
      setpoint up api worker
      setpoint up -d --isolated
    """
    require_processes()
    given, names = split_words(words, next(iter(given_files()), ""))
    found = find_file(given)
    isolation = None if isolated is None else Isolation(isolated, found, os.environ)
    with _standby(found) as standby:
        if isolation is None:
            loaded = read_file(found, os.environ, profiles, names=names)
        else:
            loaded = isolation.read(profiles, names)
        report_source(found, loaded)
        app = loaded.app
        if not any((app.services, app.tasks, app.controllers, app.crds, app.objects)):
            raise Failure(
                f"{found} defines no services, tasks or controllers; `setpoint init` can propose services", USAGE
            )
        chosen = choose(loaded, names, groups, alone=alone)
        clean_crashed(timeout=UNTIL_GONE)
        if isolation is not None:
            isolation.settle()
        elif copy := isolated_copy(app.app, found, os.environ):
            echo(f"{copy} runs here as an isolated copy, and is not changed: use `setpoint up --isolated`", err=True)
        original = isolation.original if isolation is not None else ""
        how = UpOptions(detached, logs, seconds, original, is_built, is_recreated)
        sys.exit(run(_up(found, chosen, how, standby)))


@contextmanager
def _standby(file: Path) -> "Iterator[Standby | None]":
    """Yields a standby host that starts while the file is read, or None if an app is running in this directory."""
    from setpoint.session.registry import Sessions
    from setpoint.session.standby import Standby

    if any(Path(session.directory) == file.parent for session in Sessions.of(os.environ).alive()):
        yield None
        return
    with Standby(os.environ, file) as standby:
        yield standby


async def _up(file: Path, chosen: ChosenParts, how: UpOptions, standby: "Standby | None") -> int:
    from setpoint.cli.app.view.app_view import watch_app
    from setpoint.cli.app.view.view_settings import settings_of
    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import SystemClock
    from setpoint.session.attachment import detach
    from setpoint.session.paths import Places
    from setpoint.session.registry import process_identity
    from setpoint.session.startup import StartFailed, start
    from setpoint.workload.process.exit_wait import wait_exit

    loaded = chosen.loaded
    app, clock = loaded.app.app, SystemClock()
    began = clock.now()
    try:
        # A detached app, too, must not outlive this process before the file has been applied.
        who = process_identity()
        async with progress(f"starting {app}", clock):
            begin = partial(
                start, app, file, os.environ, profiles=loaded.profiles, attendant=who, isolated_from=how.isolated_from
            )
            started = await begin(standby=standby)
        while started.joined and await _is_ending(started):
            echo(f"{app} is stopping; it starts again afterwards", err=True)
            async with progress(f"waiting for {app} to stop", clock):
                await wait_exit(_host(started), clock)
                began = clock.now()
                started = await begin()
    except StartFailed as error:
        raise Failure(f"cannot start {app}: {error}") from None
    async with connect(Server(session=started.session.id)) as client:
        changed = await _applied(client, chosen, started, how)
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
        settings = settings._replace(dashboard=await _dashboard(client, started))
        outcome = await watch_app(client, settings, place=terminal(), seconds=how.seconds if how.detached else None)
        if outcome.how == "ready" and loaded.app.controllers:
            await _with_controllers(client, loaded, how.seconds)
        return await _concluded(client, started, outcome, how)


async def _dashboard(client: "Client", started: "Started") -> str:
    """Returns a link that opens the dashboard of a session; its address only if the host creates no logins."""
    from setpoint.cli.admin.dashboard import UP_SECONDS, login_link
    from setpoint.objects.errors import APIError

    base = started.session.dashboard
    try:
        return await login_link(client, base, UP_SECONDS) if base else ""
    except APIError:
        return base


def _host(started: "Started") -> "Identity":
    from setpoint.workload.process.identity import parse

    found = parse(started.session.process)
    assert found is not None
    return found


async def _is_ending(started: "Started") -> bool:
    """Returns True if the session is stopping, or is unreachable and exits soon. Raises Failure."""
    from setpoint.client.transport import TransportError
    from setpoint.objects.clock import timeout
    from setpoint.session.registry import Sessions
    from setpoint.session.shutdown import is_ending
    from setpoint.workload.process.exit_wait import wait_exit

    try:
        async with connect(Server(session=started.session.id)) as client:
            try:
                return await is_ending(client)
            except TransportError as error:
                try:
                    async with timeout(client.clock, _LAST_SECONDS):
                        await wait_exit(_host(started), client.clock)
                except TimeoutError:
                    raise error from None
                return True
    except Failure:
        # The session may have ended, and removed its record and kubeconfig, in the meantime.
        if any(session.id == started.session.id for session in Sessions.of(os.environ).alive()):
            raise
        return True


async def _with_controllers(client: "Client", app: "LoadedApp", seconds: float) -> None:
    """Waits for the controllers of the app. Raises Failure if one cannot run."""
    from setpoint.app import forms
    from setpoint.session.controllers.status_query import loaded

    modules = [forms.controller(each).module for each in app.app.controllers]
    known = await loaded(client, modules, seconds)
    name = app.app.app
    if known.failures:
        raise Failure(
            f"{'; '.join(known.failures)}. {name} keeps running: corrected files are loaded "
            "automatically, `setpoint down` stops the app"
        )
    if not known.are_decided(modules):
        raise Failure(
            f"{', '.join(modules)} not loaded yet; {name} keeps running: see `setpoint controllers`", TIMED_OUT
        )


async def _applied(client: "Client", chosen: ChosenParts, started: "Started", how: UpOptions) -> "list[ObjectChange]":
    """Applies the objects and returns the changes. On failure, stops a session that was started for them. Raises
    Failure.
    """
    from setpoint.cli.app.down import end_session
    from setpoint.cli.output.progress import progress
    from setpoint.cli.support.errors import explained
    from setpoint.session.app_apply import apply_app
    from setpoint.session.part_control import start_stopped
    from setpoint.session.paths import Places

    try:
        with explained():
            async with progress(f"applying the file of {started.session.app}", client.clock) as shown:

                def report(name: str) -> None:
                    shown.text = f"waiting for {name} to stop"

                places, objects = Places.of_session(started.session), chosen.loaded.objects
                changed = await apply_app(
                    client, places, objects, report, added_to=chosen.is_partial, renewal=how.renewal
                )
            if started.joined:
                await start_stopped(client, objects, only_these=chosen.is_partial)
            return changed
    except BaseException:
        if not started.joined:
            await end_session(started.session, client)
        raise


async def _concluded(client: "Client", started: "Started", outcome: "Outcome", how: UpOptions) -> int:
    """Detaches or stops the session and prints the result. Returns the exit code."""
    from setpoint.cli.app.down import end_session
    from setpoint.session.attachment import attendant, detach
    from setpoint.session.paths import Places

    app, places = started.session.app, Places.of_session(started.session)
    match outcome.how:
        case "quit":
            await end_session(started.session, client)
        case "detached":
            detach(places.attended)
            echo(
                f"{app} keeps running · `{_again(started.session)}` shows the app again, `setpoint down` stops the app"
            )
        case "left" | "ready":
            until = "" if attendant(places.attended) is None else ", as long as the terminal that started it"
            echo(f"{app} keeps running{until} · `setpoint down` stops the app")
        case "ended":
            if places.applied.exists():
                raise Failure(f"the session of {app} ended unexpectedly; see its log {places.log}")
            if how.detached:
                raise Failure(f"{app} was stopped before all parts were ready")
            echo(f"{app} was stopped")
        case "failed" | "late":
            parts = ", ".join(outcome.failed)
            what = "failed" if outcome.how == "failed" else f"{'is' if len(outcome.failed) == 1 else 'are'} not ready"
            asked = outcome.failed[0] if outcome.failed else app
            raise Failure(
                f"{parts or app} {what}; {app} keeps running: see `setpoint why {asked}`, stop with `setpoint down`",
                FAILED if outcome.how == "failed" else TIMED_OUT,
            )
    return 0


def _again(session: "Session") -> str:
    """Returns the command that shows a session, relative to the current directory."""
    from setpoint.app.reader import FILES

    file = Path(session.file)
    return "setpoint up" if file.name in FILES else f"setpoint up {os.path.relpath(file, here())}"
