"""Access to the workloads of a control plane, which are optional."""

from typing import TypeVar

from setpoint.objects.errors import ServiceUnavailable

T = TypeVar("T")


def present(found: T | None) -> T:
    """Returns the argument. Raises ServiceUnavailable if this control plane runs no workloads."""
    if found is None:
        raise ServiceUnavailable("this control plane runs no workloads: start it with --workloads")
    return found
