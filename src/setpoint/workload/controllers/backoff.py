"""How long to wait before what failed is started again."""

from datetime import timedelta

from setpoint.workload.kinds.parts import RestartBackoff


def next_wait(last: timedelta | None, backoff: RestartBackoff, lived: float) -> timedelta:
    """Twice as long as the last time, unless the life since then, of so many seconds, was a good one."""
    if last is None or lived >= backoff.reset_after.total_seconds():
        return min(backoff.initial, backoff.max)
    return min(last * 2, backoff.max)
