"""The process that `monitorPid` and `monitorTimestamp` mean: with its end something persistent is to stop."""

import os
from datetime import datetime
from functools import cache

from setpoint.workload.process.identity import Identity, identity_of

# Times that clients have of a process are as fine as the system they asked gives them.
_TOLERANCE_SECONDS = 2.0


def monitored(pid: int, started: datetime) -> Identity | None:
    """The process with this pid that started then; None: it is gone, and its pid another's."""
    found = identity_of(pid)
    if found is None:
        return None
    began = _boot_time() + found.started / os.sysconf("SC_CLK_TCK")
    return found if abs(began - started.timestamp()) <= _TOLERANCE_SECONDS else None


@cache
def _boot_time() -> float:
    """When this machine was started, in seconds since 1970."""
    with open("/proc/stat") as file:
        return next(float(line.split()[1]) for line in file if line.startswith("btime"))
