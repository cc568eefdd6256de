"""`--monitor PID`: exits when another process ends, usually the one that started this command."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from setpoint.cli.support.errors import Failure
from setpoint.workload.process.identity import Identity, identity_of, is_alive
from setpoint.workload.process.monitored_process import started_at

F = TypeVar("F", bound=Callable[..., Any])


def monitor_options(*, required: bool = False) -> Callable[[F], F]:
    """Adds DCP's flags that name a process to monitor."""

    def with_options(command: F) -> F:
        interval = click.option(
            "-i",
            "--monitor-interval",
            type=click.IntRange(0, 255),
            default=0,
            help="Seconds between two checks of that process, if waiting is not possible.",
        )
        time = click.option(
            "--monitor-identity-time", metavar="TIME", default="", help="Start time of that process (RFC 3339)."
        )
        pid = click.option(
            "-m", "--monitor", type=int, metavar="PID", required=required, help="Exit when this process exits."
        )
        return pid(time(interval(command)))

    return with_options


def process_of(pid: int, time: str, flag: str) -> Identity | None:
    """Returns the process with this pid and start time, or None if the process has ended. Raises Failure."""
    expected = _time(time, flag) if time else None
    found = identity_of(pid)
    if found is None or not is_alive(found):
        return None
    if expected is None or started_at(found, expected):
        return found
    return None


def monitored(flags: Mapping[str, Any]) -> Identity | None:
    """Returns the process to monitor, or None if no flag names one. Raises Failure if the process has ended."""
    pid = flags["monitor"]
    if pid is None:
        return None
    found = process_of(pid, flags["monitor_identity_time"], "--monitor-identity-time")
    if found is None:
        raise Failure(f"the process {pid} of --monitor has already exited")
    return found


def _time(text: str, flag: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=None) - (found.utcoffset() or timedelta(0))
    except (ValueError, OverflowError):
        raise Failure(f"{flag}: invalid time {text!r}: expected RFC 3339, e.g. 2026-01-02T15:04:05.000Z") from None
