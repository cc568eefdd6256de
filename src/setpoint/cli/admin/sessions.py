"""`setpoint sessions`: which apps run on this machine, and what is left of those that have ended."""

import os
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.table import Cell, render
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.connection import Server, connect, run

if TYPE_CHECKING:
    from datetime import datetime

    from setpoint.session.registry import Session

_HEADERS = ("SESSION", "APP", "STATE", "AGE", "DIRECTORY", "URL")
_WIDE = ("READY", "PID", "DATA", "KUBECONFIG")
# How long a session may take to say how its parts are.
_PATIENCE_SECONDS = 1.0


@click.command()
@click.option("-a", "--all", "everything", is_flag=True, help="Also those that have ended, of which the past is kept.")
@output_option("json", "yaml", "name", "wide")
def sessions(everything: bool, form: Form) -> None:
    """Show which apps run on this machine.

    One that is attached ends with the terminal that shows it; one that is detached goes on. One that is read-only was
    opened with `setpoint import`. A dead one has ended unexpectedly: the next command clears up after it. With -o wide
    each is asked how many of its parts are ready.
    """
    from setpoint.objects.clock import SystemClock
    from setpoint.session.registry import Sessions

    known = Sessions.of(os.environ)
    shown = [*known.all(), *(known.past() if everything else ())]
    if form.name == "name":
        for each in shown:
            echo(each.id)
    elif not form.is_table:
        write_tree([_told(each) for each in shown], form)
    elif not shown:
        ended = len(known.past()) if not everything else 0
        hint = f" {ended} ended; --all shows them." if ended else ""
        echo(f"Nothing runs. `setpoint up` starts an app.{hint}", err=True)
    else:
        is_wide = form.name == "wide"
        place, now = terminal(), SystemClock().now()
        ready = run(_all_ready(shown)) if is_wide else {}
        rows = [_row(each, now, ready.get(each.id, "") if is_wide else None) for each in shown]
        headers = (*_HEADERS, *(_WIDE if is_wide else ()))
        place.echo("\n".join(render(headers, rows, place._replace(width=None) if is_wide else place)))


def _state(session: "Session") -> Cell:
    if session.crashed:
        return Cell("Crashed", "bad")
    if session.ended:
        return Cell("Ended", "quiet")
    if not session.is_alive:
        return Cell("Dead", "bad")
    if session.imported:
        return Cell("ReadOnly", "good")
    return Cell("Attached" if _is_attended(session) else "Detached", "good")


def _is_attended(session: "Session") -> bool:
    from setpoint.session.attachment import attendant
    from setpoint.session.paths import Places
    from setpoint.workload.process.identity import is_alive

    found = attendant(Places.of_session(session).attended) if session.data else None
    return found is not None and is_alive(found)


async def _all_ready(sessions: "list[Session]") -> dict[str, str]:
    """How many parts of how many are ready in each session that runs, by their ids; all are asked at once."""
    import asyncio

    alive = [session for session in sessions if session.is_alive]
    found = await asyncio.gather(*(_ready(session) for session in alive))
    return {session.id: ready for session, ready in zip(alive, found, strict=True)}


async def _ready(session: "Session") -> str:
    from setpoint.cli.support.errors import Failure
    from setpoint.cli.workloads.inventory import read_workloads
    from setpoint.objects.clock import SystemClock, timeout

    try:
        async with timeout(SystemClock(), _PATIENCE_SECONDS), connect(Server(session=session.id), quiet=True) as client:
            parts = [each for each in await read_workloads(client) if each.kind != "Task"]
    except (Failure, TimeoutError):
        return "?"
    return f"{sum(each.judgement.ready for each in parts)}/{len(parts)}"


def _row(session: "Session", now: "datetime", ready: str | None) -> list[str | Cell]:
    """A line of the table; `ready` is None where that is not shown, nor what else is wide."""
    from setpoint.cli.objects.tables import age

    row: list[str | Cell] = [
        session.id,
        session.app,
        _state(session),
        age(session.started, now),
        session.imported or session.directory,
        (session.dashboard or session.url) if session.is_alive else "",
    ]
    return row if ready is None else [*row, ready, str(session.pid or ""), session.data, session.kubeconfig]


def _told(session: "Session") -> dict[str, Any]:
    return {
        "id": session.id,
        "app": session.app,
        "state": _state(session).text,
        "directory": session.directory,
        "file": session.file,
        "profiles": list(session.profiles),
        "pid": session.pid,
        "url": session.url,
        "kubeconfig": session.kubeconfig,
        "dashboard": session.dashboard,
        "started": session.started,
        "ended": session.ended,
        "data": session.data,
        "imported": session.imported,
        "alive": session.is_alive,
    }
