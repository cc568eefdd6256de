"""The objects of every new cluster: namespaces, priority classes, the range of Services, the Service `kubernetes`."""

from ipaddress import ip_network

from setpoint.objects import meta
from setpoint.objects.provenance import Actor
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.registry.ip_addresses import adopt_addresses
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.server_fields import managed, map_fields
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
LEGACY_TOKENS = "kube-apiserver-legacy-service-account-token-tracking"
_RANGE_CONTROLLER = "kubernetes-service-cidr-controller"
APISERVER = Actor("system:apiserver", ("system:masters",), field_manager="kube-apiserver")


# The steps of the start that write objects, by the names of kube-apiserver's hooks.
STEPS = (
    "start-system-namespaces-controller",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
)


async def fill(services: Services) -> None:
    """Creates the missing objects."""
    now = services.clock.now()
    for name in NAMESPACES:
        owned: Object = {"f:metadata": {"f:labels": map_fields("kubernetes.io/metadata.name")}}
        metadata = {"name": name, "managedFields": [managed("v1", owned, now)]}
        await make(services, "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    services.start_steps["start-system-namespaces-controller"] = True
    for name, (value, description) in PRIORITY_CLASSES.items():
        owned = {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}}
        metadata = {"name": name, "managedFields": [managed("scheduling.k8s.io/v1", owned, now)]}
        tree: Object = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata}
        await make(services, "priorityclasses", tree | {"value": value, "description": description})
    services.start_steps["scheduling/bootstrap-system-priority-classes"] = True
    is_new = await make(services, "servicecidrs", _service_range(services))
    is_new = await make(services, "services", _own_service(services)) or is_new
    if is_new:
        # The Services of a store that an older server wrote have no IPAddresses yet.
        await adopt_addresses(services, APISERVER)
    services.start_steps["start-kubernetes-service-cidr-controller"] = True
    services.start_steps["bootstrap-controller"] = True


async def track_legacy_tokens(services: Services) -> None:
    """Records the day since which the last use of legacy tokens is known. Only servers that listen do this: the
    controllers of a plane in one process then see no ConfigMap that they did not create."""
    await make(services, "configmaps", _token_tracking(services))


async def make(services: Services, plural: str, tree: Object) -> bool:
    """Stores an object of a built-in kind if the name is free, and returns True if so. The object is not validated and
    must be complete."""
    group, _, version = tree["apiVersion"].rpartition("/")
    resource = services.registry.resource(group, version, plural)
    assert resource is not None, f"{plural} are not served"
    metadata = tree["metadata"]
    key = resource.storage.key(metadata.get("namespace", ""), metadata["name"])
    if await services.store.get(key) is not None:
        return False
    complete(services, resource, tree)
    try:
        await services.commit(key, resource.encode(tree), ABSENT, APISERVER)
    except ExpectationFailed:
        return False  # another server with the same store was faster
    return True


def complete(services: Services, resource: Resource, tree: Object) -> None:
    """Applies defaults and system fields to a new object of the server."""
    metadata = tree["metadata"]
    resource.shape.normalize(tree)
    resource.strategy.default(tree)
    meta.fill_system_fields(metadata, services.clock, services.ids)
    if resource.strategy.keeps_generation:
        metadata["generation"] = 1
    resource.strategy.prepare_for_create(tree)


def _token_tracking(services: Services) -> Object:
    """Returns the ConfigMap with the day since which the last use of every legacy token is recorded."""
    now = services.clock.now()
    entry = managed("v1", {"f:data": map_fields("since")}, now)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": LEGACY_TOKENS, "namespace": "kube-system", "managedFields": [entry]},
        "data": {"since": format_time(now)[:10]},
    }


def _service_range(services: Services) -> Object:
    """Returns the ServiceCIDR `kubernetes`: the range of the server, which is ready from the start."""
    now = services.clock.now()
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": format_time(now),
    }
    owned: Object = {name: {} for name in ("f:lastTransitionTime", "f:message", "f:status", "f:type")}
    status: Object = {"f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, **owned}}}}
    version = "networking.k8s.io/v1"
    return {
        "apiVersion": version,
        "kind": "ServiceCIDR",
        "metadata": {
            "name": "kubernetes",
            "managedFields": [
                managed(version, status, now, _RANGE_CONTROLLER, "Apply", "status"),
                managed(version, {"f:spec": {"f:cidrs": {}}}, now),
            ],
        },
        "spec": {"cidrs": [services.service_cidr]},
        "status": {"conditions": [condition]},
    }


def _own_service(services: Services) -> Object:
    """Returns the Service `kubernetes`, by which programs find the API server, with the first address of the CIDR."""
    network = ip_network(services.service_cidr)
    address = str(network[1])
    port: Object = {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}}
    scalars = ("clusterIP", "internalTrafficPolicy", "ipFamilyPolicy", "sessionAffinity", "type")
    spec: Object = {f"f:{name}": {} for name in scalars}
    owned: Object = {
        "f:metadata": {"f:labels": map_fields("component", "provider")},
        "f:spec": {**spec, "f:ports": {".": {}, 'k:{"port":443,"protocol":"TCP"}': port}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
            "managedFields": [managed("v1", owned, services.clock.now())],
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
