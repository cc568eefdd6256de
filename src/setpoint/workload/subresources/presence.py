"""The workloads of a control plane, for requests that need them: not every control plane runs some."""

from typing import TypeVar

from setpoint.objects.errors import ServiceUnavailable

T = TypeVar("T")


def present(found: T | None) -> T:
    """What was found. Raises ServiceUnavailable where this control plane runs no workloads."""
    if found is None:
        raise ServiceUnavailable("workloads are not run by this control plane: start it with --workloads")
    return found
