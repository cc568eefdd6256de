"""The process of `monitorPid` and `monitorTimestamp`: its end stops a persistent workload, with or without a control
plane."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from setpoint.machine.chosen import system
from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.processes import Processes
from setpoint.workload.process.ties import Tie

# The tolerances of start times: computed since boot, and read from the wall clock.
_SINCE_BOOT_SECONDS, _WALL_SECONDS = 0.002, 2.0


def monitored(pid: int, started: datetime) -> Identity | None:
    """Returns the process with this pid and start time; None if the process has ended or its pid was reused."""
    found = identity_of(pid)
    at = started.replace(tzinfo=None) - (started.utcoffset() or timedelta(0))
    return found if found is not None and started_at(found, at) else None


def started_at(identity: Identity, at: datetime) -> bool:
    """Returns True if a process started at a time, in UTC: since boot for times in the year 1, as DCP computes on
    Linux; otherwise in wall-clock time."""
    seconds = system.since_boot(identity.started)
    if at.year == 1:
        return abs((at - datetime.min).total_seconds() - seconds) <= _SINCE_BOOT_SECONDS
    return abs((at - datetime(1970, 1, 1)).total_seconds() - system.boot_time() - seconds) <= _WALL_SECONDS


async def end_of(
    processes: Processes,
    pid: int | None,
    started: datetime | None,
    wake: Callable[[], None],
    tie: Tie | None = None,
) -> "asyncio.Future[Any] | None":
    """Returns a future that completes when the process has ended, or immediately if already ended, and calls `wake`
    then. Returns None if no process is given. `tie` is the workload to stop if the process ends after this control
    plane."""
    if pid is None or started is None:
        return None
    identity = monitored(pid, started)
    found = await processes.adopt(identity) if identity is not None else None
    if found is None:
        gone: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        gone.set_result(None)
        return gone
    if identity is not None and tie is not None:
        processes.tie(tie._replace(to=identity))
    found.exited.add_done_callback(lambda _: wake())
    return found.exited
