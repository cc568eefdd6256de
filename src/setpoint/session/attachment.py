"""The attachment of a session to a terminal: the session ends with the attached process, until detached."""

import asyncio
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.server import secret_files
from setpoint.workload.process.exit_wait import wait_exit
from setpoint.workload.process.identity import Identity, parse


def attend(path: Path, process: str) -> None:
    """Attaches the session to a process. Raises OSError."""
    secret_files.write(path, process.encode())


def detach(path: Path) -> None:
    """Detaches the session, so that only a request stops the session. Raises OSError."""
    path.unlink(missing_ok=True)


def attendant(path: Path) -> Identity | None:
    """Returns the attached process, or None."""
    try:
        return parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


async def deserted(path: Path, clock: Clock) -> None:
    """Waits until the attached process exits without detaching; waits forever once detached."""
    while (found := attendant(path)) is not None:
        await wait_exit(found, clock)
        if attendant(path) == found:
            return
    await asyncio.Event().wait()
