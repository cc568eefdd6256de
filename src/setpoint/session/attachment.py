"""Who a session lives for: the process that shows it in a terminal, until that says that it can go on alone."""

import asyncio
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.server import secret_files
from setpoint.workload.process.exit_wait import wait_gone
from setpoint.workload.process.identity import Identity, parse


def attend(path: Path, process: str) -> None:
    """The session ends with this process, from now on. Raises OSError."""
    secret_files.write(path, process.encode())


def detach(path: Path) -> None:
    """The session ends only when it is told to. Raises OSError."""
    path.unlink(missing_ok=True)


def attendant(path: Path) -> Identity | None:
    """The process that the session ends with, if there is one."""
    try:
        return parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


async def deserted(path: Path, clock: Clock) -> None:
    """Returns when the one it lives for has gone without a word; never, when there is none any more."""
    while (found := attendant(path)) is not None:
        await wait_gone(found, clock)
        if attendant(path) == found:
            return
    await asyncio.Event().wait()
