"""Defaults of an update of a Service: restores omitted allocated fields, and drops obsolete ones.

Clients need not repeat the allocated values, nor clear fields that another type does not use.
"""

from collections.abc import Callable

from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.service.traits import (
    is_balanced,
    is_exposed,
    is_internal,
    needs_health_check,
    needs_node_ports,
)
from setpoint.server.registry.kinds.validation.values import put


def keep_allocated(spec: Object, stored: Object) -> None:
    """Restores allocated values that the client omitted."""
    if spec.get("type") != "ExternalName" and stored.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and stored.get(name):
                spec[name] = stored[name]
    if needs_node_ports(spec) and needs_node_ports(stored):
        given = {entry["nodePort"] for entry in spec.get("ports") or () if entry.get("nodePort")}
        before = {entry.get("name") or "": entry.get("nodePort", 0) for entry in stored.get("ports") or ()}
        used = given & set(before.values())
        for entry in spec.get("ports") or ():
            number = before.get(entry.get("name") or "", 0)
            if not entry.get("nodePort") and number and number not in used:
                entry["nodePort"] = number
    if needs_health_check(spec) and needs_health_check(stored) and not spec.get("healthCheckNodePort"):
        put(spec, "healthCheckNodePort", stored.get("healthCheckNodePort"))


def align_addresses(spec: Object, stored: Object) -> None:
    """Synchronizes the single address with the list of addresses if only one of them was changed."""
    before, after = stored.get("clusterIP") or "", spec.get("clusterIP") or ""
    unchanged = stored.get("clusterIPs") == spec.get("clusterIPs")
    if before != after and unchanged:
        put(spec, "clusterIPs", [after] if after else None)


def drop_type_dependent_fields(spec: Object, stored: Object) -> None:
    """Drops unchanged fields that the new type of the Service does not use."""
    if stored.get("type") != "ExternalName" and spec.get("type") == "ExternalName":
        if all(spec.get(name) in (None, stored.get(name)) for name in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if spec.get(name) == stored.get(name):
                spec.pop(name, None)
    if needs_node_ports(stored) and not needs_node_ports(spec):
        before = {entry.get("nodePort") for entry in stored.get("ports") or ()}
        if all(entry.get("nodePort") in (*before, None) for entry in spec.get("ports") or ()):
            for entry in spec.get("ports") or ():
                entry.pop("nodePort", None)
    _drop_unless(needs_health_check, "healthCheckNodePort", spec, stored)
    _drop_unless(is_balanced, "allocateLoadBalancerNodePorts", spec, stored)
    _drop_unless(is_balanced, "loadBalancerClass", spec, stored)
    _drop_unless(is_exposed, "externalTrafficPolicy", spec, stored)
    _drop_unless(is_internal, "internalTrafficPolicy", spec, stored)


def _drop_unless(applies: Callable[[Object], bool], name: str, spec: Object, stored: Object) -> None:
    if applies(stored) and not applies(spec) and spec.get(name) == stored.get(name):
        spec.pop(name, None)
