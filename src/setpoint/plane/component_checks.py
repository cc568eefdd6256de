"""The health of components that run beside this server: the holder of their Lease renews the Lease in time."""

from datetime import timedelta

from setpoint.objects.times import parse_time
from setpoint.plane.errors import PlaneError
from setpoint.server.request.context import Services

_NAMESPACE = "kube-system"


async def check_lease(services: Services, name: str) -> None:
    """Raises PlaneError unless a process holds the Lease of this name and has renewed the Lease in time."""
    resource = services.registry.resource("coordination.k8s.io", "v1", "leases")
    assert resource is not None, "leases are not served"
    item = await services.store.get(resource.storage.key(_NAMESPACE, name))
    if item is None:
        raise PlaneError(f"no {name} runs: there is no Lease {_NAMESPACE}/{name}")
    spec = resource.item(item).get("spec") or {}
    holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if not holder or not renewed:
        raise PlaneError(f"no {name} runs: the Lease {_NAMESPACE}/{name} has no holder")
    end = parse_time(renewed) + timedelta(seconds=spec.get("leaseDurationSeconds") or 0)
    if end < services.clock.now():
        raise PlaneError(f"{holder} has not renewed the Lease {_NAMESPACE}/{name} since {renewed}")
