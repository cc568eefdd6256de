"""The delay before a failed workload is restarted."""

from datetime import timedelta

from setpoint.workload.kinds.parts import RestartBackoff


def next_wait(last: timedelta | None, backoff: RestartBackoff, lived: float) -> timedelta:
    """Returns twice the last delay, at most `max`; the initial delay if the workload then ran for at least
    `reset_after` (`lived` is in seconds)."""
    if last is None or lived >= backoff.reset_after.total_seconds():
        return min(backoff.initial, backoff.max)
    return min(last * 2, backoff.max)
