"""What a command does before anything else when a session has ended unexpectedly: says so, and clears up after it.

While all is well this is one listing of a directory. The store and the logs of such a session stay, for questions.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from setpoint.cli.output.terminal import echo
from setpoint.cli.output.words import enumerated

if TYPE_CHECKING:
    from datetime import datetime

    from setpoint.session.leftovers import Cleared
    from setpoint.session.registry import Session, Sessions

# How long a command waits for a guardian that is still at it; and one that needs what is being stopped to be gone.
_PATIENCE_SECONDS = 1.0
UNTIL_GONE = 15.0
# Set by the shell that completes a command line: nobody reads what is said then.
_COMPLETING = "_SETPOINT_COMPLETE"


def clear_dead(environ: Mapping[str, str] = os.environ, patience: float = _PATIENCE_SECONDS) -> None:
    """Clears up after sessions that have ended unexpectedly, and tells of each on the error output."""
    from setpoint.session.registry import Sessions

    sessions = Sessions.of(environ)
    dead = sessions.dead()
    if not dead or _COMPLETING in environ:
        return
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from setpoint.objects.clock import SystemClock

    # Commands ask for a server from within their event loop as well: this has one of its own.
    with ThreadPoolExecutor(1) as aside:
        for session in dead:
            try:
                cleared = aside.submit(asyncio.run, _clear(sessions, session, environ, patience)).result()
            except OSError as error:
                echo(f"session {session.id} ended unexpectedly, and cannot be cleared up after: {error}", err=True)
                continue
            if cleared is not None:
                echo("\n".join(told(cleared, SystemClock().now())), err=True)


async def _clear(
    sessions: "Sessions", session: "Session", environ: Mapping[str, str], patience: float
) -> "Cleared | None":
    from setpoint.objects.clock import SystemClock
    from setpoint.objects.ids import SystemIds
    from setpoint.session.leftovers import Leftovers

    return await Leftovers(sessions, SystemClock(), SystemIds(), environ).clear(session, patience)


def told(cleared: "Cleared", now: "datetime") -> list[str]:
    """What was found and done, for people."""
    from setpoint.objects.duration import human_duration

    session = cleared.session
    ago = f" {human_duration((now - cleared.ended).total_seconds())} ago" if cleared.ended is not None else ""
    lines = [f"session {session.id} ended unexpectedly{ago}; {_done(cleared)}"]
    if cleared.last_words:
        lines.append(f"  the last that its host said: {cleared.last_words}")
    lines += [f"  {problem}" for problem in cleared.problems]
    if session.data and not session.imported and not cleared.pending:
        lines.append(f"  what happened in it is kept: setpoint export --session {session.id}")
    return lines


def _done(cleared: "Cleared") -> str:
    if cleared.pending:
        return "what it ran is being stopped"
    counts = cleared.left.counts
    stopped, removed = enumerated({"process": counts.pop("process")}), enumerated(counts)
    parts = [f"stopped {stopped}" if stopped else "", f"removed {removed}" if removed else ""]
    done = " and ".join(filter(None, parts))
    return f"{done} it left behind" if done else "nothing of it was left running"
