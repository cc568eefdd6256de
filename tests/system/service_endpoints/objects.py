"""Services and pods with addresses."""

from typing import Any

from tests.system.workload_objects import LABELS, POD, pod

from setpoint import testing
from setpoint.client.patches import merge, strategic
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

SLICE, ENDPOINTS, SERVICE = "discovery.k8s.io/v1/EndpointSlice", "v1/Endpoints", "v1/Service"
PORTS = [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]


def service(name: str = "web", labels: Object | None = None, **spec: Any) -> Object:
    spec = {"selector": LABELS, "ports": PORTS, **spec}
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def node(name: str = "n1", zone: str = "") -> Object:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


async def add_pod(world: testing.World, number: int, *, ready: bool = True, node: str = "n1", **spec: Any) -> Object:
    """Creates a pod with an address on a node."""
    made = pod(f"p{number}")
    made["spec"] = {**made["spec"], "nodeName": node, **spec}
    found: Object = (await world.create(made))[0]
    address = f"10.0.{number // 256}.{number % 256}"
    moment = format_time(world.clock.now())
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": moment}
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [condition]}
    await world.client.patch_status(POD, strategic({"status": status}), f"p{number}", "default")
    return found


async def add_pods(world: testing.World, first: int, last: int) -> None:
    for number in range(first, last + 1):
        await add_pod(world, number)


async def remove_pod(world: testing.World, number: int) -> None:
    await world.client.delete(POD, f"p{number}", "default", grace_period=0)


async def slices(world: testing.World) -> list[Object]:
    """The slices of the namespace `default`, without those of the Service kubernetes, after all work."""
    await world.settle()
    found = (await world.client.list(SLICE, "default")).items
    return [each for each in found if each["metadata"]["labels"]["kubernetes.io/service-name"] != "kubernetes"]


def names_in(found: Object) -> list[str]:
    return sorted(each["targetRef"]["name"] for each in found.get("endpoints") or ())


async def patch_service(world: testing.World, patch: Object) -> None:
    await world.client.patch(SERVICE, merge(patch), "web", "default")
    await world.settle()
