"""`setpoint sessions`: lists the sessions that run on this machine, and with --all those that have ended."""

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
# The time limit for asking a session about its parts.
_PATIENCE_SECONDS = 1.0


@click.command()
@click.option("-a", "--all", "everything", is_flag=True, help="Also list ended sessions with a stored history.")
@output_option("json", "yaml", "name", "wide")
def sessions(everything: bool, form: Form) -> None:
    """List the apps running on this machine.

    An attached session ends with the terminal that started the app; a detached session keeps running. A read-only
    session was opened with `setpoint import`. A dead session has crashed: the next command cleans up after the session.
    With -o wide, the READY column shows the number of ready parts.
    """
    from setpoint.objects.clock import SystemClock
    from setpoint.session.registry import Sessions

    known = Sessions.of(os.environ)
    shown = [*known.all(), *(known.past() if everything else ())]
    if form.name == "name":
        for each in shown:
            echo(each.id)
    elif not form.is_table:
        write_tree([_to_json(each) for each in shown], form)
    elif not shown:
        ended = len(known.past()) if not everything else 0
        hint = f" {ended} ended; use --all to list them." if ended else ""
        echo(f"No app is running. Start one with `setpoint up`.{hint}", err=True)
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
    """Returns the ratio of ready parts of each running session, by session id. Asks all sessions concurrently."""
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
    """Returns a row of the table. `ready` is None if the columns of -o wide are not shown."""
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


def _to_json(session: "Session") -> dict[str, Any]:
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
