"""`setpoint down`: stops an app in the reverse of the start order and checks that no process is left."""

import os
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, connect, find, other_sessions, run, server_options
from setpoint.cli.support.crash_cleanup import clean_crashed
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import FAILED, USAGE, Failure
from setpoint.session.registry import Sessions

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.session.registry import Session


@click.command()
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Kill parts that are still running after this time.",
)
@click.option("-a", "--all", "everywhere", is_flag=True, help="Stop all of your sessions on this machine.")
@server_options
def down(timeout: float | None, everywhere: bool, server: Server) -> None:
    """Stop the app of this directory and remove its objects.

    Parts stop in the reverse of the order in which they started, except those that the app file marks to be kept. Then
    checks that no process is left running. The history stays available to `setpoint export`. Exits 0 if no app was
    running.
    """
    sessions = _meant(server, everywhere)
    if not sessions:
        echo(f"No app is running{'' if everywhere else ' here'}.{other_sessions(Sessions.of(os.environ))}", err=True)
    for session in sessions:
        run(_down(session, server, timeout))


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


async def _down(session: "Session", server: Server, seconds: float | None) -> None:
    async with connect(server._replace(kubeconfig="", session=session.id), quiet=True) as client:
        await end_session(session, client, seconds)


async def end_session(session: "Session", client: "Client", seconds: float | None = None) -> None:
    """Stops a session and prints the result. If interrupted, the session keeps stopping. Raises Failure if objects are
    left.
    """
    import asyncio

    from setpoint.cli.output.progress import progress
    from setpoint.session.shutdown import SECONDS, ShutdownProgress, end

    try:
        async with progress(f"stopping {session.app}", client.clock) as shown:

            def report(reached: ShutdownProgress) -> None:
                going = f", waiting for {', '.join(reached.terminating)}" if reached.terminating else ""
                stuck = f"; stuck: {', '.join(reached.stuck)}" if reached.stuck else ""
                shown.text = f"stopping {session.app}: {reached.deleted} of {reached.objects}{going}{stuck}"

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
