"""Checks of settings that depend on the store or on the address range of Services."""

from ipaddress import ip_network
from typing import TYPE_CHECKING

from setpoint.plane.errors import PlaneError
from setpoint.server.registry.kinds.core.service.allocator import SERVICE_CIDR

if TYPE_CHECKING:
    from setpoint.server.history.secret_retention import SecretRetention
    from setpoint.server.request.context import Services


def secret_retention(services: "Services", seconds: float) -> "SecretRetention":
    """Returns the retention of Secrets. Raises PlaneError if the store does not support the removal of single keys."""
    from setpoint.server.history.secret_retention import SecretRetention

    if not services.store.purges_single_keys:
        raise PlaneError(
            "history.secretSeconds: etcd cannot remove the history of Secrets alone; limit the history of "
            "all objects with history.seconds, or remove this setting"
        )
    return SecretRetention(services, seconds)


def service_network(cidr: str) -> str:
    """Returns the address range for Services in canonical form. Raises PlaneError."""
    try:
        network = ip_network(cidr)
    except ValueError as error:
        raise PlaneError(f"invalid address range for Services {cidr!r} (example: {SERVICE_CIDR}): {error}") from error
    if network.num_addresses < 4:
        raise PlaneError(f"{cidr} has too few addresses for Services: use a larger range, such as {SERVICE_CIDR}")
    return str(network)
