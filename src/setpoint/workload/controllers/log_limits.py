"""How much of its output is kept of a workload, as its spec says."""

from setpoint.workload.kinds.parts import LogLimits
from setpoint.workload.logs.capture import DEFAULT_LIMITS, Limits


def limits_of(logs: LogLimits | None) -> Limits:
    """What is not said is as for all."""
    if logs is None:
        return DEFAULT_LIMITS
    return Limits(logs.max_bytes or DEFAULT_LIMITS.max_bytes, logs.max_files or DEFAULT_LIMITS.max_files)
