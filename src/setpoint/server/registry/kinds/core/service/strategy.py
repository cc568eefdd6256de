"""The rules of Services."""

from collections.abc import Sequence
from typing import ClassVar

from setpoint.objects.field import FieldError, forbidden, invalid
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.service.addresses import (
    UNCHANGED,
    validate_address_change,
    validate_family_change,
)
from setpoint.server.registry.kinds.core.service.allocation import allocate_addresses, allocate_ports, choose_families
from setpoint.server.registry.kinds.core.service.allocator import Pool
from setpoint.server.registry.kinds.core.service.columns import COLUMNS
from setpoint.server.registry.kinds.core.service.traits import ingresses, is_exposed, needs_health_check
from setpoint.server.registry.kinds.core.service.update_defaults import (
    align_addresses,
    drop_type_dependent_fields,
    keep_allocated,
)
from setpoint.server.registry.kinds.core.service.validation import (
    HINTS,
    MODE,
    validate_balancer_class,
    validate_service,
    validate_status,
)
from setpoint.server.registry.kinds.printers.cells import selectable
from setpoint.server.registry.strategy import Column, Strategy

_AFFINITY_SECONDS = 10800


class ServiceStrategy(Strategy):
    allows_create_on_update = True
    allows_create_on_status_update = True
    returns_deleted_object = True
    allocates = True
    selectable_fields: ClassVar = {
        "spec.clusterIP": selectable("spec", "clusterIP"),
        "spec.type": selectable("spec", "type"),
    }
    columns: ClassVar[Sequence[Column]] = COLUMNS

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return dns1123_label(name, prefix)

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        _default_affinity(spec)
        kind = spec.setdefault("type", "ClusterIP")
        for entry in spec.get("ports") or ():
            if not entry.get("protocol"):
                entry["protocol"] = "TCP"
            if not entry.get("targetPort"):
                entry["targetPort"] = entry.get("port", 0)
        if is_exposed(spec) and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for ingress in ingresses(tree):
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")

    def prepare_for_create(self, tree: Object) -> None:
        spec = tree["spec"]
        tree["status"] = {"loadBalancer": {}}
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if subresource:
            return
        spec, stored = tree["spec"], old["spec"]
        keep_allocated(spec, stored)
        align_addresses(spec, stored)
        drop_type_dependent_fields(spec, stored)
        if spec.get("type") != "LoadBalancer":
            tree["status"] = {**tree.get("status", {}), "loadBalancer": {}}

    def allocate(self, tree: Object, old: Object | None, pool: Pool) -> list[FieldError]:
        spec, stored = tree["spec"], (old or {}).get("spec")
        found = choose_families(spec, stored, pool)
        if found:
            return found
        found = allocate_addresses(spec, stored, pool, tree["metadata"].get("name") or "")
        return found or allocate_ports(spec, stored, pool)

    def validate(self, tree: Object) -> list[FieldError]:
        return validate_service(tree, None)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return validate_status(tree)
        found = validate_address_change(tree["spec"], old["spec"])
        found += validate_family_change(tree["spec"], old["spec"])
        if "LoadBalancer" == tree["spec"].get("type") == old["spec"].get("type"):
            new_class = tree["spec"].get("loadBalancerClass")
            if new_class != old["spec"].get("loadBalancerClass"):
                found.append(invalid("spec.loadBalancerClass", new_class, UNCHANGED))
        # An update reports the class before other errors, and not again.
        found += validate_balancer_class(tree["spec"])
        both = needs_health_check(tree["spec"]) and needs_health_check(old["spec"])
        if both and tree["spec"].get("healthCheckNodePort") != old["spec"].get("healthCheckNodePort"):
            found.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
        return found + validate_service(tree, old)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        spec = tree["spec"]
        found = []
        if HINTS in (tree["metadata"].get("annotations") or {}):
            found.append(f"annotation {HINTS} is deprecated, please use {MODE} instead")
        headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
        if headless:
            if spec.get("loadBalancerIP"):
                found.append("spec.loadBalancerIP is ignored for headless services")
            if spec.get("externalIPs"):
                found.append("spec.externalIPs is ignored for headless services")
            if spec.get("sessionAffinity") != "None":
                found.append("spec.SessionAffinity is ignored for headless services")
        named = spec.get("type") == "ExternalName"
        if spec.get("externalIPs") and not headless and not named:
            found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
        if named and spec.get("externalIPs"):
            found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
        if not named and spec.get("externalName"):
            found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
        if spec.get("trafficDistribution") == "PreferClose":
            found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
        return found


def _default_affinity(spec: Object) -> None:
    affinity = spec.get("sessionAffinity") or "None"
    spec["sessionAffinity"] = affinity
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds")
        if seconds is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
