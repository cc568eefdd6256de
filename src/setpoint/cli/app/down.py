"""`setpoint down`: ends an app, in the reverse of the order in which it started, and looks that nothing is left."""

import os
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, connect, elsewhere, find, run, server_options
from setpoint.cli.support.crash_cleanup import clear_dead
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import FAILED, USAGE, Failure
from setpoint.session.registry import Sessions

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.session.registry import Session


@click.command()
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Kill what has not ended by then.")
@click.option("-a", "--all", "everywhere", is_flag=True, help="Every session of yours on this machine.")
@server_options
def down(timeout: float | None, everywhere: bool, server: Server) -> None:
    """End the app that runs here.

    Everything is stopped, in the reverse of the order in which it started, but for what the app file says to keep; then
    it is looked whether that is so. What happened stays on record: `setpoint export` still tells of it. Where nothing
    runs there is nothing to do, and that is no failure.
    """
    sessions = _meant(server, everywhere)
    if not sessions:
        echo(f"Nothing runs{'' if everywhere else ' here'}.{elsewhere(Sessions.of(os.environ))}", err=True)
    for session in sessions:
        run(_down(session, server, timeout))


def _meant(server: Server, everywhere: bool) -> "list[Session]":
    """What is to be ended; nothing, where nothing runs: then all is as it should be. Raises Failure."""
    sessions = Sessions.of(os.environ)
    if everywhere:
        return sessions.alive()
    if server.kubeconfig:
        raise Failure(
            "--kubeconfig names a server, and `setpoint down` ends an app: choose it with --session; "
            "`setpoint sessions` lists them",
            USAGE,
        )
    if not server.session and not sessions.here(here()):
        clear_dead()
        return []
    place = find(server)
    assert place.session is not None
    return [place.session]


async def _down(session: "Session", server: Server, seconds: float | None) -> None:
    async with connect(server._replace(kubeconfig="", session=session.id), quiet=True) as client:
        await end_session(session, client, seconds)


async def end_session(session: "Session", client: "Client", seconds: float | None = None) -> None:
    """Ends a session and tells of it; when interrupted, leaves it ending. Raises Failure if something is left."""
    import asyncio

    from setpoint.cli.output.progress import progress
    from setpoint.session.shutdown import SECONDS, Progress, end

    try:
        async with progress(f"ending {session.app}", client.clock) as shown:

            def tell(reached: Progress) -> None:
                going = f", waiting for {', '.join(reached.going)}" if reached.going else ""
                stuck = f"; stuck: {', '.join(reached.stuck)}" if reached.stuck else ""
                shown.text = f"ending {session.app}: {reached.gone} of {reached.objects}{going}{stuck}"

            ended = await end(session, client, tell, seconds=SECONDS if seconds is None else seconds)
    except asyncio.CancelledError:
        echo(f"{session.app} goes on ending by itself · `setpoint down --timeout 0` kills it", err=True)
        raise
    if ended.left:
        raise Failure(f"{session.app} ended, but not all of it: {ended}", FAILED)
    if session.imported:
        echo(f"{session.app} is closed; {session.imported} stays")
        return
    echo(f"{session.app} ended · {ended}")
