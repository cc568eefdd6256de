"""`--monitor PID`: another process, whose end is ours as well; usually whoever started us."""

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from setpoint.cli.support.errors import Failure
from setpoint.workload.process.identity import Identity, identity_of, is_alive
from setpoint.workload.process.monitored_process import started_at

F = TypeVar("F", bound=Callable[..., Any])


def monitor_options(*, required: bool = False) -> Callable[[F], F]:
    """The flags of DCP that name a process to watch."""

    def with_options(command: F) -> F:
        interval = click.option(
            "-i",
            "--monitor-interval",
            type=click.IntRange(0, 255),
            default=0,
            help="Seconds between two looks at that process, where it cannot be waited for.",
        )
        time = click.option(
            "--monitor-identity-time", metavar="TIME", default="", help="When that process started: RFC 3339."
        )
        pid = click.option(
            "-m", "--monitor", type=int, metavar="PID", required=required, help="End when this process does."
        )
        return pid(time(interval(command)))

    return with_options


def process_of(pid: int, time: str, flag: str) -> Identity | None:
    """The process that a pid and the time of its start name; None if it is gone. Raises what the command line shows."""
    expected = _time(time, flag) if time else None
    found = identity_of(pid)
    if found is None or not is_alive(found):
        return None
    if expected is None or started_at(found, expected):
        return found
    return None


def monitored(flags: Mapping[str, Any]) -> Identity | None:
    """The process that the flags say to watch, if they do. Raises what the command line shows if it is gone."""
    pid = flags["monitor"]
    if pid is None:
        return None
    found = process_of(pid, flags["monitor_identity_time"], "--monitor-identity-time")
    if found is None:
        raise Failure(f"the process {pid} that --monitor names is gone already")
    return found


def _time(text: str, flag: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=None) - (found.utcoffset() or timedelta(0))
    except (ValueError, OverflowError):
        raise Failure(f"{flag}: {text!r} is not a time such as 2026-01-02T15:04:05.000Z") from None


def identity_time(identity: Identity) -> str:
    """When a process started, as DCP writes it on Linux: as long after the start of the year 1 as after the boot."""
    milliseconds = identity.started * 1000 // os.sysconf("SC_CLK_TCK")
    return (datetime.min + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds") + "Z"
