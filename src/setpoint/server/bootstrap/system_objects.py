"""What every cluster has from its first moment: the namespaces, the priority classes and the Service that
clients count on."""

from ipaddress import ip_network

from setpoint.objects import meta
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
# By name: the value, and what they are for.
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
    """Makes what is missing."""
    for name in NAMESPACES:
        await make(services, "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name, (value, description) in PRIORITY_CLASSES.items():
        tree: Object = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await make(services, "priorityclasses", tree | {"value": value, "description": description})
    await make(services, "services", _own_service(services.service_cidr))


async def make(services: Services, plural: str, tree: Object) -> None:
    """Stores an object of a built-in kind if there is none of its name. Nobody judges it: it should be whole."""
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
        return  # another server over the same store was faster


def complete(services: Services, resource: Resource, tree: Object) -> None:
    """Gives a new object of the server's own all that it has beside what it says."""
    metadata = tree["metadata"]
    resource.shape.normalize(tree)
    resource.strategy.default(tree)
    meta.fill_system_fields(metadata, services.clock, services.ids)
    if resource.strategy.keeps_generation:
        metadata["generation"] = 1
    resource.strategy.prepare_for_create(tree)


def _own_service(cidr: str) -> Object:
    """The Service by which programs in a cluster find its API server: it has the first address of all."""
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
