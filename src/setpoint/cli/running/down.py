"""`setpoint down`: ends an app, in the reverse of the order in which it started, and looks that nothing is left."""

import os
from typing import TYPE_CHECKING

import click

from setpoint.cli.connecting import Server, connect, run, server_options
from setpoint.cli.failing import FAILED, Failure

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
    it is looked whether that is so. What happened stays on record: `setpoint export` still tells of it.
    """
    for session in _meant(server, everywhere):
        run(_down(session, server, timeout))


def _meant(server: Server, everywhere: bool) -> "list[Session]":
    from setpoint.cli.connecting import find
    from setpoint.session.registry import Sessions

    if everywhere:
        found = Sessions.of(os.environ).alive()
        if not found:
            click.echo("Nothing runs.", err=True)
        return found
    place = find(server)
    if place.session is None:
        raise Failure(
            f"no app runs here: what was found ({place.by}) is a server, not a session of `setpoint up`. "
            "Choose one with --session; `setpoint sessions` lists them"
        )
    return [place.session]


async def _down(session: "Session", server: Server, seconds: float | None) -> None:
    async with connect(server._replace(kubeconfig="", session=session.id), quiet=True) as client:
        await end_session(session, client, seconds)


async def end_session(session: "Session", client: "Client", seconds: float | None = None) -> None:
    """Ends a session and tells of it. Raises Failure if something is left."""
    from setpoint.cli.printing.progress import progress
    from setpoint.session.ending import SECONDS, Progress, end

    async with progress(f"ending {session.app}", client.clock) as shown:

        def tell(reached: Progress) -> None:
            stuck = f"; stuck: {', '.join(reached.stuck)}" if reached.stuck else ""
            shown.text = f"ending {session.app}: {reached.gone} of {reached.objects}{stuck}"

        ended = await end(session, client, tell, seconds=SECONDS if seconds is None else seconds)
    if ended.left:
        raise Failure(f"{session.app} ended, but not all of it: {ended}", FAILED)
    if session.imported:
        click.echo(f"{session.app} is closed; {session.imported} stays")
        return
    click.echo(f"{session.app} ended · {ended}")
