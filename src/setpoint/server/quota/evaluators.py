"""Evaluators: compute the usage of objects by quota resource, and decide which writes quotas may refuse.

Every resource is counted by its number of objects. Pods, Services, PersistentVolumeClaims and ResourceClaims also have
other amounts. Evaluators are stateless and synchronous.
"""

from collections.abc import Collection, Mapping

from setpoint.objects.gvk import GroupResource
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.persistent_volume_claim_resize import storage_class
from setpoint.server.ports import CREATE, UPDATE
from setpoint.server.quota import pod_usage
from setpoint.server.quota.amounts import NOTHING, ONE
from setpoint.server.registry.kinds.core.pod.resources import is_extended, is_huge_pages
from setpoint.server.registry.kinds.validation.values import amount
from setpoint.server.registry.resource import CREATE_ONLY, Resource

_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
# The maximum number of devices of a claim for all devices.
_ALL_DEVICES = 32
# Resources with legacy quota names from before generic object counts.
_ALIASES = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
_UNCOUNTED = frozenset((GroupResource("", "events"), GroupResource("events.k8s.io", "events")))


def count_name(resource: GroupResource) -> str:
    """Returns the quota name for the number of objects of a resource."""
    return f"count/{resource}"


class Evaluator:
    """Counts each object as one."""

    # True if every object has the same usage, so that the number of objects suffices.
    is_plain: bool = True

    def __init__(self, resource: GroupResource) -> None:
        alias = (resource.resource,) if not resource.group and resource.resource in _ALIASES else ()
        self._names = (count_name(resource), *alias)

    def counts(self, name: str) -> bool:
        """Returns True if the objects have usage under a quota name."""
        return name in self._names

    def usage(self, tree: Object) -> Mapping[str, Quantity]:
        """Returns the usage of an object."""
        return dict.fromkeys(self._names, ONE)

    def is_judged(self, verb: str, subresource: str, new: Object, old: Object | None) -> bool:
        """Returns True if a quota may refuse the write; other writes are only counted."""
        return verb == CREATE and not subresource

    def missing(self, names: Collection[str], tree: Object) -> str:
        """Returns an error if the object lacks values that quotas of these names require, or an empty string."""
        return ""

    def is_in_scope(self, requirement: Object, tree: Object) -> bool:
        """Returns True if an object matches a scope requirement. Only some resources support scopes."""
        return False


class Pods(Evaluator):
    is_plain = False

    def counts(self, name: str) -> bool:
        if name in pod_usage.NAMES or is_huge_pages(name.removeprefix("requests.")):
            return True
        return name.startswith("requests.") and is_extended(name.removeprefix("requests."))

    def usage(self, tree: Object) -> Mapping[str, Quantity]:
        return pod_usage.pod_usage(tree)

    def is_judged(self, verb: str, subresource: str, new: Object, old: Object | None) -> bool:
        if verb == UPDATE and old is not None:
            changed = pod_usage.is_terminating(new) != pod_usage.is_terminating(old)
            return subresource == "resize" or (not subresource and changed)
        return super().is_judged(verb, subresource, new, old)

    def missing(self, names: Collection[str], tree: Object) -> str:
        return pod_usage.missing_from_pod(frozenset(names), tree)

    def is_in_scope(self, requirement: Object, tree: Object) -> bool:
        scope = requirement.get("scopeName")
        if scope == "Terminating":
            return pod_usage.is_terminating(tree)
        if scope == "NotTerminating":
            return not pod_usage.is_terminating(tree)
        if scope == "BestEffort":
            return pod_usage.is_best_effort(tree)
        if scope == "NotBestEffort":
            return not pod_usage.is_best_effort(tree)
        if scope == "PriorityClass":
            name = tree["spec"].get("priorityClassName")
            return _selects(requirement, {name} if name else set())
        if scope == "CrossNamespacePodAffinity":
            return pod_usage.has_cross_namespace_affinity(tree)
        return False


class Services(Evaluator):
    is_plain = False

    def __init__(self, resource: GroupResource) -> None:
        self._names = (count_name(resource), "services", "services.nodeports", "services.loadbalancers")

    def usage(self, tree: Object) -> Mapping[str, Quantity]:
        spec = tree["spec"]
        ports = spec.get("ports") or []
        kind = spec.get("type")
        found = {self._names[0]: ONE, "services": ONE, "services.nodeports": NOTHING, "services.loadbalancers": NOTHING}
        if kind == "LoadBalancer":
            found["services.loadbalancers"] = ONE
            if spec.get("allocateLoadBalancerNodePorts") is False:
                ports = [port for port in ports if port.get("nodePort")]
        if kind in ("NodePort", "LoadBalancer"):
            found["services.nodeports"] = Quantity(len(ports))
        return found

    def is_judged(self, verb: str, subresource: str, new: Object, old: Object | None) -> bool:
        return verb in (CREATE, UPDATE) and not subresource


class StorageClaims(Evaluator):
    is_plain = False

    def counts(self, name: str) -> bool:
        own = ("persistentvolumeclaims", "requests.storage")
        return name in (*self._names, *own) or any(name.endswith(_STORAGE_CLASS + kind) for kind in own)

    def usage(self, tree: Object) -> Mapping[str, Quantity]:
        found = {self._names[0]: ONE, "persistentvolumeclaims": ONE}
        requests = (tree["spec"].get("resources") or {}).get("requests") or {}
        if "storage" in requests:
            size = amount(requests["storage"])
            granted = ((tree.get("status") or {}).get("allocatedResources") or {}).get("storage")
            if granted is not None:
                size = max(size, amount(granted))
            found["requests.storage"] = size if size.scale >= 0 else Quantity(size.value(), 0, size.format)
        name = storage_class(tree)
        if name:
            own = ("persistentvolumeclaims", "requests.storage")
            found |= {f"{name}{_STORAGE_CLASS}{kind}": found[kind] for kind in own if kind in found}
        return found

    def is_judged(self, verb: str, subresource: str, new: Object, old: Object | None) -> bool:
        return verb in (CREATE, UPDATE) and not subresource

    def is_in_scope(self, requirement: Object, tree: Object) -> bool:
        if requirement.get("scopeName") != "VolumeAttributesClass":
            return False
        status = tree.get("status") or {}
        names = {
            tree["spec"].get("volumeAttributesClassName"),
            status.get("currentVolumeAttributesClassName"),
            (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
        }
        return _selects(requirement, {name for name in names if name})


class DeviceClaims(Evaluator):
    is_plain = False

    def counts(self, name: str) -> bool:
        return name in self._names or name.endswith(_DEVICE_CLASS)

    def usage(self, tree: Object) -> Mapping[str, Quantity]:
        found: dict[str, Quantity] = {self._names[0]: ONE}
        for request in ((tree.get("spec") or {}).get("devices") or {}).get("requests") or ():
            # One of several alternatives is allocated: each class counts with its maximum.
            choices = request.get("firstAvailable") or [request.get("exactly") or request]
            most: dict[str, int] = {}
            for choice in choices:
                name = f"{choice.get('deviceClassName') or ''}{_DEVICE_CLASS}"
                mode = choice.get("allocationMode")
                devices = choice.get("count") or 0 if mode == "ExactCount" else _ALL_DEVICES if mode == "All" else 0
                most[name] = max(most.get(name, 0), devices)
            for name, devices in most.items():
                found[name] = found.get(name, NOTHING) + Quantity(devices)
        return found

    def is_judged(self, verb: str, subresource: str, new: Object, old: Object | None) -> bool:
        return verb in (CREATE, UPDATE) and not subresource


def _selects(requirement: Object, names: Collection[str]) -> bool:
    """Returns True if a scope selector requirement matches an object with these names."""
    operator, values = requirement.get("operator"), requirement.get("values") or ()
    if operator == "Exists":
        return bool(names)
    if operator == "DoesNotExist":
        return not names
    if operator == "In":
        return any(name in values for name in names)
    if not names:
        return True
    return any(name not in values for name in names)


SPECIAL: Mapping[GroupResource, type[Evaluator]] = {
    GroupResource("", "pods"): Pods,
    GroupResource("", "services"): Services,
    GroupResource("", "persistentvolumeclaims"): StorageClaims,
    GroupResource("resource.k8s.io", "resourceclaims"): DeviceClaims,
}
ALIASED = tuple(GroupResource("", plural) for plural in _ALIASES)


def evaluator_of(resource: Resource) -> Evaluator | None:
    """Returns the evaluator of a resource, or None if the resource is not counted."""
    found = resource.group_resource
    if not resource.namespaced or found in _UNCOUNTED or resource.verbs == CREATE_ONLY:
        return None
    return SPECIAL.get(found, Evaluator)(found)
