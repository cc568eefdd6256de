"""Reports crashed sessions and cleans up after them, before a command runs.

Without crashed sessions, this is a single directory listing. The store and logs of a crashed session are kept for
inspection.
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

# The time to wait for a guardian that is still cleaning up; the longer one is for commands that need the resources
# freed.
_PATIENCE_SECONDS = 1.0
UNTIL_GONE = 15.0
# Set during shell completion, where output is not shown.
_COMPLETING = "_SETPOINT_COMPLETE"


def clean_crashed(environ: Mapping[str, str] = os.environ, timeout: float = _PATIENCE_SECONDS) -> None:
    """Cleans up after crashed sessions, and reports each on stderr."""
    from setpoint.session.registry import Sessions

    sessions = Sessions.of(environ)
    dead = sessions.dead()
    if not dead or _COMPLETING in environ:
        return
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from setpoint.objects.clock import SystemClock

    # Runs in its own event loop in a thread, because commands may call this from within their event loop.
    with ThreadPoolExecutor(1) as aside:
        for session in dead:
            try:
                cleared = aside.submit(asyncio.run, _clear(sessions, session, environ, timeout)).result()
            except OSError as error:
                echo(f"session {session.id} ended unexpectedly, but cleaning up failed: {error}", err=True)
                continue
            if cleared is not None:
                echo("\n".join(report_lines(cleared, SystemClock().now())), err=True)


async def _clear(
    sessions: "Sessions", session: "Session", environ: Mapping[str, str], timeout: float
) -> "Cleared | None":
    from setpoint.objects.clock import SystemClock
    from setpoint.objects.ids import SystemIds
    from setpoint.session.leftovers import Leftovers

    return await Leftovers(sessions, SystemClock(), SystemIds(), environ).clear(session, timeout)


def report_lines(cleared: "Cleared", now: "datetime") -> list[str]:
    """Returns the lines that report a cleanup."""
    from setpoint.objects.duration import human_duration

    session = cleared.session
    ago = f" {human_duration((now - cleared.ended).total_seconds())} ago" if cleared.ended is not None else ""
    lines = [f"session {session.id} ended unexpectedly{ago}; {_done(cleared)}"]
    if cleared.last_error:
        lines.append(f"  last log line of its host: {cleared.last_error}")
    lines += [f"  {problem}" for problem in cleared.problems]
    if session.data and not session.imported and not cleared.pending:
        lines.append(f"  its history is kept: setpoint export --session {session.id}")
    return lines


def _done(cleared: "Cleared") -> str:
    if cleared.pending:
        return "its workloads are being stopped"
    counts = cleared.left.counts
    stopped, removed = enumerated({"process": counts.pop("process")}), enumerated(counts)
    parts = [f"stopped {stopped}" if stopped else "", f"removed {removed}" if removed else ""]
    done = " and ".join(filter(None, parts))
    return f"{done} left behind" if done else "no process was left running"
