"""The limits of the log files of a workload."""

from setpoint.workload.kinds.parts import LogLimits
from setpoint.workload.logs.capture import DEFAULT_LIMITS, Limits


def limits_of(logs: LogLimits | None) -> Limits:
    """Returns the limits of a spec, with defaults for missing fields."""
    if logs is None:
        return DEFAULT_LIMITS
    return Limits(logs.max_bytes or DEFAULT_LIMITS.max_bytes, logs.max_files or DEFAULT_LIMITS.max_files)
