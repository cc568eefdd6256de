"""The process that `monitorPid` and `monitorTimestamp` mean: with its end something persistent is to stop."""

import asyncio
import os
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.processes import Processes

# Times that clients have of a process are as fine as the system they asked gives them.
_TOLERANCE_SECONDS = 2.0


def monitored(pid: int, started: datetime) -> Identity | None:
    """The process with this pid that started then; None: it is gone, and its pid another's."""
    found = identity_of(pid)
    if found is None:
        return None
    began = _boot_time() + found.started / os.sysconf("SC_CLK_TCK")
    return found if abs(began - started.timestamp()) <= _TOLERANCE_SECONDS else None


async def end_of(
    processes: Processes, pid: int | None, started: datetime | None, wake: Callable[[], None]
) -> "asyncio.Future[Any] | None":
    """Done when that process has ended, or was gone already, and somebody is woken then. None: nobody is named."""
    if pid is None or started is None:
        return None
    identity = monitored(pid, started)
    found = await processes.adopt(identity) if identity is not None else None
    if found is None:
        gone: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        gone.set_result(None)
        return gone
    found.exited.add_done_callback(lambda _: wake())
    return found.exited


@cache
def _boot_time() -> float:
    """When this machine was started, in seconds since 1970."""
    with open("/proc/stat") as file:
        return next(float(line.split()[1]) for line in file if line.startswith("btime"))
