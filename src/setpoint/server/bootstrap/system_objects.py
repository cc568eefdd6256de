"""The objects of every new cluster: namespaces, priority classes, and the Service `kubernetes`."""

from ipaddress import ip_network

from setpoint.objects import meta
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
# By name: the value and the description.
PRIORITY_CLASSES = {
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
}
APISERVER = Actor("system:apiserver", ("system:masters",), field_manager="kube-apiserver")


async def fill(services: Services) -> None:
    """Creates the missing objects."""
    for name in NAMESPACES:
        await make(services, "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name, (value, description) in PRIORITY_CLASSES.items():
        tree: Object = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await make(services, "priorityclasses", tree | {"value": value, "description": description})
    await make(services, "services", _own_service(services.service_cidr))


async def make(services: Services, plural: str, tree: Object) -> None:
    """Stores an object of a built-in kind if the name is free. The object is not validated and must be complete."""
    group, _, version = tree["apiVersion"].rpartition("/")
    resource = services.registry.resource(group, version, plural)
    assert resource is not None, f"{plural} are not served"
    metadata = tree["metadata"]
    key = resource.storage.key(metadata.get("namespace", ""), metadata["name"])
    if await services.store.get(key) is not None:
        return
    complete(services, resource, tree)
    try:
        await services.commit(key, resource.encode(tree), ABSENT, APISERVER)
    except ExpectationFailed:
        return  # another server with the same store was faster


def complete(services: Services, resource: Resource, tree: Object) -> None:
    """Applies defaults and system fields to a new object of the server."""
    metadata = tree["metadata"]
    resource.shape.normalize(tree)
    resource.strategy.default(tree)
    meta.fill_system_fields(metadata, services.clock, services.ids)
    if resource.strategy.keeps_generation:
        metadata["generation"] = 1
    resource.strategy.prepare_for_create(tree)


def _own_service(cidr: str) -> Object:
    """Returns the Service `kubernetes`, by which programs find the API server, with the first address of the CIDR."""
    network = ip_network(cidr)
    address = str(network[1])
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": [f"IPv{network.version}"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }
