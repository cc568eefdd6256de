"""`setpoint down`: stops an app in the reverse of the start order and checks that no process is left."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from setpoint.cli.app.down_volumes import mark_volumes, remove_unused_volumes
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, find, other_sessions, run, server_options
from setpoint.cli.support.crash_cleanup import clean_crashed
from setpoint.cli.support.cwd import here
from setpoint.cli.support.durations import Seconds
from setpoint.cli.support.errors import FAILED, USAGE, Failure
from setpoint.cli.support.group_option import group_option
from setpoint.session.registry import Sessions

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.session.registry import Session


@click.command()
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=workload_names)
@group_option
@click.option(
    "--timeout",
    type=Seconds(),
    metavar="DURATION",
    help="Kill parts that are still running after this time.",
)
@click.option("-v", "--volumes", is_flag=True, help="Remove the volumes of the app, too, except external ones.")
@click.option("-a", "--all", "everywhere", is_flag=True, help="Stop all of your sessions on this machine.")
@server_options
def down(
    names: tuple[str, ...],
    groups: tuple[str, ...],
    timeout: float | None,
    volumes: bool,
    everywhere: bool,
    server: Server,
) -> None:
    """Stop the app of this directory and remove its objects.

    Parts stop in the reverse of the order in which they started, except those that the app file marks to be kept. Then
    checks that no process is left running. The history stays available to `setpoint export`. Exits 0 if no app was
    running. Volumes stay for the next `setpoint up`, unless --volumes is given. With NAME or --group, only these
    services and tasks are stopped and removed, until the next `setpoint up`; after the last one, the app ends.
    """
    if (names or groups) and everywhere:
        raise Failure("--all cannot be combined with NAME or --group", USAGE)
    sessions = _meant(server, everywhere)
    if not sessions:
        echo(f"No app is running{'' if everywhere else ' here'}.{other_sessions(Sessions.of(os.environ))}", err=True)
        if volumes and not everywhere:
            run(remove_unused_volumes())
    for session in sessions:
        run(_down(session, server, timeout, names, groups, volumes=volumes))


def _meant(server: Server, everywhere: bool) -> "list[Session]":
    """Returns the sessions to stop; an empty list if none is running. Raises Failure."""
    sessions = Sessions.of(os.environ)
    if everywhere:
        return sessions.alive()
    if server.kubeconfig:
        raise Failure(
            "--kubeconfig selects a server, but `setpoint down` stops a session: select one with --session; "
            "`setpoint sessions` lists them",
            USAGE,
        )
    if not server.session and not sessions.here(here()):
        clean_crashed()
        return []
    place = find(server)
    assert place.session is not None
    return [place.session]


async def _down(
    session: "Session",
    server: Server,
    seconds: float | None,
    names: Sequence[str],
    groups: Sequence[str],
    *,
    volumes: bool,
) -> None:
    async with connect(server._replace(kubeconfig="", session=session.id), quiet=True) as client:
        if (names or groups) and not await _removed(session, client, names, groups):
            return
        if volumes:
            await mark_volumes(client)
        await end_session(session, client, seconds)


async def _removed(session: "Session", client: "Client", names: Sequence[str], groups: Sequence[str]) -> bool:
    """Removes parts of an app. Returns True if no part is left. Raises Failure."""
    from setpoint.cli.app.chosen_parts import refuse_unknown
    from setpoint.cli.output.progress import progress
    from setpoint.session.app_apply import read_applied, remove_parts
    from setpoint.session.paths import Places
    from setpoint.session.selection import groups_of, parts, parts_in

    places = Places.of_session(session)
    objects = read_applied(places).objects
    known = parts(objects)
    for name in names:
        refuse_unknown(name, known, "service or task", session.app)
    for group in groups:
        refuse_unknown(group, groups_of(objects), "group", session.app)
    chosen = {*names, *parts_in(objects, groups)}
    if chosen >= set(known):
        return True
    async with progress(f"stopping {', '.join(sorted(chosen))}", client.clock) as shown:

        def report(name: str) -> None:
            shown.text = f"waiting for {name} to stop"

        await remove_parts(client, places, chosen, report)
    for name in known:
        if name in chosen:
            echo(f"{name} removed")
    return False


async def end_session(session: "Session", client: "Client", seconds: float | None = None) -> None:
    """Stops a session and prints the result. If interrupted, the session keeps stopping. Raises Failure if objects are
    left.
    """
    import asyncio

    from setpoint.cli.output.progress import progress
    from setpoint.session.shutdown import SECONDS, ShutdownProgress, end

    told: tuple[str, ...] = ()
    try:
        async with progress(f"stopping {session.app}", client.clock) as shown:

            def report(reached: ShutdownProgress) -> None:
                nonlocal told
                going = f", waiting for {reached.waiting}" if reached.terminating else ""
                stuck = f"; stuck: {', '.join(reached.stuck)}" if reached.stuck else ""
                shown.text = f"stopping {session.app}: {reached.deleted} of {reached.objects}{going}{stuck}"
                # Without a terminal, each change of the workloads is a line, once their processes were looked up.
                if reached.processes is not None and going and reached.terminating != told and not sys.stderr.isatty():
                    told = reached.terminating
                    echo(f"waiting for {reached.waiting}", err=True)

            ended = await end(session, client, report, seconds=SECONDS if seconds is None else seconds)
    except asyncio.CancelledError:
        echo(
            f"{session.app} continues stopping in the background · `setpoint down --timeout 0` kills all remaining "
            "parts",
            err=True,
        )
        raise
    if ended.left:
        raise Failure(f"{session.app} ended, but some objects are left: {ended}", FAILED)
    if session.imported:
        echo(f"{session.app} is closed; {session.imported} was not changed")
        return
    echo(f"{session.app} ended · {ended}")
