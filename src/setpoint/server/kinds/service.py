"""The rules of Services: their types, their ports, and the addresses and node ports they are given."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from setpoint.objects.field import FieldError, child, duplicate, forbidden, index, invalid, key, not_supported, required
from setpoint.objects.gotext import RawJson, quote
from setpoint.objects.metavalidation import validate_labels
from setpoint.objects.names import dns1123_label, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.kinds.allocation import AllocationError, Pool
from setpoint.server.kinds.cells import selectable
from setpoint.server.kinds.service_columns import COLUMNS
from setpoint.server.kinds.values import (
    PROTOCOLS,
    cidr,
    enum,
    ip,
    label,
    non_special_ip,
    parse_ip,
    port,
    port_or_name,
    qualified,
    subdomain,
    wrong,
)
from setpoint.server.strategy import Column, Strategy

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_ONLY_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_UNCHANGED = "may not change once set"
_AFFINITY_SECONDS = 10800
_AFFINITY_LIMIT = 86400


class ServiceStrategy(Strategy):
    allows_create_on_update = True
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
        if _is_exposed(spec) and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for ingress in _ingresses(tree):
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
        _keep_allocated(spec, stored)
        _align_addresses(spec, stored)
        _drop_what_no_longer_applies(spec, stored)
        if spec.get("type") != "LoadBalancer":
            tree["status"] = {**tree.get("status", {}), "loadBalancer": {}}

    def allocate(self, tree: Object, old: Object | None, pool: Pool) -> list[FieldError]:
        spec, stored = tree["spec"], (old or {}).get("spec")
        found = _choose_families(spec, stored, pool)
        if found:
            return found
        found = _allocate_addresses(spec, stored, pool)
        return found or _allocate_ports(spec, stored, pool)

    def validate(self, tree: Object) -> list[FieldError]:
        return _validate(tree, None)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return _validate_status(tree)
        found = _validate_address_change(tree["spec"], old["spec"])
        found += _validate_family_change(tree["spec"], old["spec"])
        if "LoadBalancer" == tree["spec"].get("type") == old["spec"].get("type"):
            new_class = tree["spec"].get("loadBalancerClass")
            if new_class != old["spec"].get("loadBalancerClass"):
                found.append(invalid("spec.loadBalancerClass", new_class, _UNCHANGED))
        both = _needs_health_check(tree["spec"]) and _needs_health_check(old["spec"])
        if both and tree["spec"].get("healthCheckNodePort") != old["spec"].get("healthCheckNodePort"):
            found.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
        return found + _validate(tree, old)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        spec = tree["spec"]
        found = []
        if _HINTS in (tree["metadata"].get("annotations") or {}):
            found.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
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


def _is_exposed(spec: Object) -> bool:
    """Whether traffic from outside can reach it."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _needs_node_ports(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _is_headless(spec: Object) -> bool:
    return spec.get("clusterIPs") == ["None"]


def _ingresses(tree: Object) -> list[Object]:
    return ((tree.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


# --- what an update leaves out ---


def _keep_allocated(spec: Object, stored: Object) -> None:
    """A client that does not repeat what it was given does not mean to give it back."""
    if spec.get("type") != "ExternalName" and stored.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and stored.get(name):
                spec[name] = stored[name]
    if _needs_node_ports(spec) and _needs_node_ports(stored):
        given = {entry["nodePort"] for entry in spec.get("ports") or () if entry.get("nodePort")}
        before = {entry.get("name") or "": entry.get("nodePort", 0) for entry in stored.get("ports") or ()}
        used = given & set(before.values())
        for entry in spec.get("ports") or ():
            number = before.get(entry.get("name") or "", 0)
            if not entry.get("nodePort") and number and number not in used:
                entry["nodePort"] = number
    if _needs_health_check(spec) and _needs_health_check(stored) and not spec.get("healthCheckNodePort"):
        _put(spec, "healthCheckNodePort", stored.get("healthCheckNodePort"))


def _align_addresses(spec: Object, stored: Object) -> None:
    """Keeps the one address and the list of addresses in step where only one of them was changed."""
    before, after = stored.get("clusterIP") or "", spec.get("clusterIP") or ""
    unchanged = stored.get("clusterIPs") == spec.get("clusterIPs")
    if before != after and unchanged:
        _put(spec, "clusterIPs", [after] if after else None)


def _drop_what_no_longer_applies(spec: Object, stored: Object) -> None:
    """Another type has no use for some fields; what the client did not change itself goes."""
    if stored.get("type") != "ExternalName" and spec.get("type") == "ExternalName":
        if all(spec.get(name) in (None, stored.get(name)) for name in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if spec.get(name) == stored.get(name):
                spec.pop(name, None)
    if _needs_node_ports(stored) and not _needs_node_ports(spec):
        before = {entry.get("nodePort") for entry in stored.get("ports") or ()}
        if all(entry.get("nodePort") in (*before, None) for entry in spec.get("ports") or ()):
            for entry in spec.get("ports") or ():
                entry.pop("nodePort", None)
    _drop_unless(_needs_health_check, "healthCheckNodePort", spec, stored)
    _drop_unless(_is_balanced, "allocateLoadBalancerNodePorts", spec, stored)
    _drop_unless(_is_balanced, "loadBalancerClass", spec, stored)
    _drop_unless(_is_exposed, "externalTrafficPolicy", spec, stored)


def _is_balanced(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer"


def _drop_unless(applies: Callable[[Object], bool], name: str, spec: Object, stored: Object) -> None:
    if applies(stored) and not applies(spec) and spec.get(name) == stored.get(name):
        spec.pop(name, None)


def _put(spec: Object, name: str, value: object) -> None:
    if value is None:
        spec.pop(name, None)
    else:
        spec[name] = value


# --- what is given ---


def _choose_families(spec: Object, stored: Object | None, pool: Pool) -> list[FieldError]:
    """Fills in the IP families and their policy. There is one family here: two can be had without addresses only."""
    if spec.get("type") == "ExternalName":
        return []
    bare = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        before = (stored or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = before or ("RequireDualStack" if bare else "SingleStack")
    found = _validate_addresses(spec)
    if found:
        return found
    policy = spec["ipFamilyPolicy"]
    if stored is not None and policy == "SingleStack":
        for name in ("clusterIPs", "ipFamilies"):
            if spec.get(name) == stored.get(name) and len(spec.get(name) or ()) > 1:
                spec[name] = spec[name][:1]
    if policy == "SingleStack":
        why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
        if len(spec.get("clusterIPs") or ()) == 2:
            found.append(invalid("spec.ipFamilyPolicy", policy, f"{why} cluster IPs are specified"))
        if len(spec.get("ipFamilies") or ()) == 2:
            found.append(invalid("spec.ipFamilyPolicy", policy, f"{why} IP families are specified"))
    families = list(spec.get("ipFamilies") or ())
    for position, address in enumerate(spec.get("clusterIPs") or ()):
        if address == "None":
            break
        family = "IPv6" if ":" in address else "IPv4"
        if position >= len(families):
            if family != pool.family:
                why = f"{family} is not configured on this cluster"
                found.append(invalid(index("spec.clusterIPs", position), spec["clusterIPs"], why))
            else:
                families.append(family)
    if found:
        return found
    if bare:
        families = families or [pool.family]
        if len(families) < 2 and policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"] = families
        return []
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        found.append(invalid("spec.ipFamilyPolicy", policy, why))
    for position, family in enumerate(families):
        if family != pool.family:
            found.append(invalid(index("spec.ipFamilies", position), family, "not configured on this cluster"))
    if not found:
        spec["ipFamilies"] = families or [pool.family]
    return found


def _allocate_addresses(spec: Object, stored: Object | None, pool: Pool) -> list[FieldError]:
    if spec.get("type") == "ExternalName" or _is_headless(spec):
        return []
    if stored is not None and stored.get("type") != "ExternalName":
        return []
    wanted = spec.get("clusterIPs") or [""]
    try:
        given = [pool.take_address(address) for address in wanted]
    except AllocationError as error:
        which = f" {wanted[0]}" if wanted[0] else ""
        return [invalid("spec.clusterIPs", spec.get("clusterIPs") or [], f"failed to allocate IP{which}: {error}")]
    spec["clusterIPs"], spec["clusterIP"] = given, given[0]
    return []


def _allocate_ports(spec: Object, stored: Object | None, pool: Pool) -> list[FieldError]:
    before = {entry.get("nodePort", 0) for entry in (stored or {}).get("ports") or ()} - {0}
    if _needs_node_ports(spec):
        wants = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
        # Ports of one number, in different protocols, share a node port.
        by_port: dict[int, int] = {}
        for entry in spec.get("ports") or ():
            if entry.get("nodePort"):
                by_port.setdefault(entry.get("port", 0), entry["nodePort"])
        taken = set(before)
        for position, entry in enumerate(spec.get("ports") or ()):
            number = entry.get("nodePort") or (by_port.get(entry.get("port", 0), 0) if stored is None else 0)
            if not number and not wants:
                continue
            try:
                if number not in taken:
                    number = pool.take_port(number)
            except AllocationError as error:
                return [invalid(child(index("spec.ports", position), "nodePort"), number, str(error))]
            taken.add(number)
            entry["nodePort"] = number
            by_port.setdefault(entry.get("port", 0), number)
    if _needs_health_check(spec) and not (stored and _needs_health_check(stored)):
        try:
            spec["healthCheckNodePort"] = pool.take_port(spec.get("healthCheckNodePort", 0))
        except AllocationError as error:
            return [invalid("spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0), str(error))]
    return []


# --- validation ---


def _validate(tree: Object, old: Object | None) -> list[FieldError]:
    spec = tree["spec"]
    found = _validate_annotations(tree)
    kind = spec.get("type") or ""
    if not spec.get("ports") and not _is_headless(spec) and kind != "ExternalName":
        found.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and _is_headless(spec):
        why = f"may not be set to 'None' for {kind} services"
        found.append(invalid("spec.clusterIPs[0]", "None", why))
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                found.append(forbidden(child("spec", name), "may not be set for ExternalName services"))
        name = (spec.get("externalName") or "").removesuffix(".")
        found += subdomain(name, "spec.externalName") if name else [required("spec.externalName")]
    found += _validate_ports(spec)
    found += validate_labels(spec.get("selector") or {}, "spec.selector")
    found += _validate_affinity(spec)
    if kind != "ExternalName":
        found += _validate_addresses(spec)
    known = (old or {}).get("spec", {}).get("externalIPs") or []
    for position, address in enumerate(spec.get("externalIPs") or ()):
        place = index("spec.externalIPs", position)
        errors = [] if address in known else ip(address, place)
        found += errors or non_special_ip(address, place)
    found += enum(kind, "spec.type", _TYPES)
    found += _validate_balancer(tree)
    return found + _validate_policies(spec)


def _validate_annotations(tree: Object) -> list[FieldError]:
    annotations = tree["metadata"].get("annotations") or {}
    if _HINTS in annotations and _MODE in annotations and annotations[_HINTS] != annotations[_MODE]:
        why = f"must match annotations[{_HINTS}] when both are specified"
        return [invalid(key("metadata.annotations", _MODE), annotations[_MODE], why)]
    return []


def _validate_ports(spec: Object) -> list[FieldError]:
    ports = spec.get("ports") or []
    found: list[FieldError] = []
    names: set[str] = set()
    for position, entry in enumerate(ports):
        place = index("spec.ports", position)
        name = entry.get("name") or ""
        if name:
            found += label(name, child(place, "name"))
            if name in names:
                found.append(duplicate(child(place, "name"), name))
            names.add(name)
        elif len(ports) > 1:
            found.append(required(child(place, "name")))
        found += port(entry.get("port", 0), child(place, "port"))
        found += enum(entry.get("protocol") or "", child(place, "protocol"), PROTOCOLS)
        found += port_or_name(entry.get("targetPort", 0), child(place, "targetPort"))
        if entry.get("appProtocol") is not None:
            found += qualified(entry["appProtocol"], child(place, "appProtocol"))
        if spec.get("type") == "ClusterIP" and entry.get("nodePort"):
            found.append(forbidden(child(place, "nodePort"), "may not be used when `type` is 'ClusterIP'"))
    return found + _validate_unique_ports(ports)


def _validate_unique_ports(ports: list[Object]) -> list[FieldError]:
    found: list[FieldError] = []
    node_ports: set[tuple[str, int]] = set()
    numbers: set[tuple[str, int]] = set()
    for position, entry in enumerate(ports):
        place = index("spec.ports", position)
        protocol = entry.get("protocol") or ""
        node_port = (protocol, entry.get("nodePort", 0))
        if node_port[1] and node_port in node_ports:
            found.append(duplicate(child(place, "nodePort"), node_port[1]))
        node_ports.add(node_port)
        number = (protocol, entry.get("port", 0))
        if number in numbers:
            found.append(duplicate(place, RawJson(_PORT % (quote(protocol), number[1]))))
        numbers.add(number)
    return found


# What the API shows of a repeated port is a struct of its own, in its own order.
_PORT = '{"Name":"","Protocol":%s,"AppProtocol":null,"Port":%d,"TargetPort":0,"NodePort":0}'


def _validate_affinity(spec: Object) -> list[FieldError]:
    affinity = spec.get("sessionAffinity") or ""
    found = enum(affinity, "spec.sessionAffinity", _AFFINITIES)
    place = "spec.sessionAffinityConfig"
    config = spec.get("sessionAffinityConfig")
    if affinity == "None" and config is not None:
        found.append(forbidden(place, "must not be set when session affinity is None"))
    elif affinity == "ClientIP":
        why = "when session affinity type is ClientIP"
        client = (config or {}).get("clientIP")
        seconds = (client or {}).get("timeoutSeconds")
        if config is None:
            found.append(required(place, why))
        elif client is None:
            found.append(required(f"{place}.clientIP", why))
        elif seconds is None:
            found.append(required(f"{place}.clientIP.timeoutSeconds", why))
        elif not 0 < seconds <= _AFFINITY_LIMIT:
            limits = f"must be greater than 0 and less than {_AFFINITY_LIMIT}"
            found.append(invalid(f"{place}.clientIP.timeoutSeconds", seconds, limits))
    return found


def _validate_addresses(spec: Object) -> list[FieldError]:
    """How addresses and their families go together."""
    one, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    place = "spec.clusterIPs"
    found: list[FieldError] = []
    if one and not several:
        found.append(required(place))
    elif one and several[0] != one:
        found.append(invalid(place, several, "first value must match `clusterIP`"))
    elif several and not one:
        found.append(invalid(place, several, "must be empty when `clusterIP` is not specified"))
    families = spec.get("ipFamilies") or []
    for position, family in enumerate(families):
        where = index("spec.ipFamilies", position)
        if family not in _FAMILIES:
            found.append(not_supported(where, family, _FAMILIES))
        if family in families[:position]:
            found.append(duplicate(where, family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    wrong_addresses: list[FieldError] = []
    for position, address in enumerate(several):
        if position == 0 and address == "None":
            if len(several) > 1:
                wrong_addresses.append(invalid(place, several, "'None' must be the first and only value"))
        else:
            wrong_addresses += ip(address, index(place, position))
    found += wrong_addresses
    if len(several) > 2:
        found.append(invalid(place, several, "may only hold up to 2 values"))
    if wrong_addresses:
        return found
    if len(several) > 1 and len({":" in address for address in several}) < 2:
        found.append(invalid(place, several, "may specify no more than one IP for each IP family"))
    if not _is_headless(spec):
        for position, (address, family) in enumerate(zip(several, families, strict=False)):
            if family in _FAMILIES and (family == "IPv6") != (":" in address):
                why = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
                found.append(invalid(index(place, position), address, why))
    return found


def _validate_balancer(tree: Object) -> list[FieldError]:
    spec = tree["spec"]
    balanced = _is_balanced(spec)
    found: list[FieldError] = []
    ranges = spec.get("loadBalancerSourceRanges") or []
    annotation = (tree["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    if ranges:
        place = "spec.LoadBalancerSourceRanges"
        if not balanced:
            found.append(forbidden(place, _ONLY_BALANCERS))
        for position, text in enumerate(ranges):
            found += cidr(text.strip(), index(place, position))
    elif annotation is not None:
        place = key("metadata.annotations", _SOURCE_RANGES)
        if not balanced:
            found.append(forbidden(place, _ONLY_BALANCERS))
        for text in annotation.split(",") if annotation.strip() else ():
            found += cidr(text.strip(), place)
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if allocates is not None and not balanced:
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCERS))
    if balanced and allocates is None:
        found.append(required("allocateLoadBalancerNodePorts"))
    name = spec.get("loadBalancerClass")
    if name is not None:
        place = "spec.loadBalancerClass"
        found += qualified(name, place) if balanced else [forbidden(place, _ONLY_BALANCERS)]
    return found


def _validate_policies(spec: Object) -> list[FieldError]:
    found: list[FieldError] = []
    external, health = spec.get("externalTrafficPolicy") or "", spec.get("healthCheckNodePort", 0)
    if _is_exposed(spec):
        found += enum(external, "spec.externalTrafficPolicy", _POLICIES)
    elif external:
        why = "may only be set for externally-accessible services"
        found.append(invalid("spec.externalTrafficPolicy", external, why))
    place = "spec.healthCheckNodePort"
    if _needs_health_check(spec):
        found += port(health, place) if health else [required(place)]
    elif health:
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(invalid(place, health, why))
    internal = spec.get("internalTrafficPolicy")
    if internal is None:
        if spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
            found.append(required("spec.internalTrafficPolicy"))
    elif internal not in _POLICIES:
        found.append(not_supported("spec.internalTrafficPolicy", internal, _POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        found.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return found


def _validate_address_change(spec: Object, stored: Object) -> list[FieldError]:
    if "ExternalName" in (spec.get("type"), stored.get("type")):
        return []
    if _is_headless(spec) and _is_headless(stored):
        return []
    after, before = spec.get("clusterIPs") or [], stored.get("clusterIPs") or []
    place = "spec.clusterIPs"
    if len(after) == len(before):
        return [
            invalid(index(place, position), after, _UNCHANGED)
            for position, (new, old) in enumerate(zip(after, before, strict=True))
            if new != old
        ]
    found: list[FieldError] = []
    if not after:
        found.append(invalid(index(place, 0), after, "primary clusterIP can not be unset"))
    elif before and after[0] != before[0]:
        found.append(invalid(index(place, 0), after, _UNCHANGED))
    if len(before) > len(after) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        found.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), why))
    return found


def _validate_family_change(spec: Object, stored: Object) -> list[FieldError]:
    if "ExternalName" in (spec.get("type"), stored.get("type")) or _is_headless(spec) or _is_headless(stored):
        return []
    after, before = spec.get("ipFamilies") or [], stored.get("ipFamilies") or []
    place = index("spec.ipFamilies", 0)
    if len(after) == len(before):
        return [invalid(place, after, _UNCHANGED) for new, old in zip(after, before, strict=True) if new != old]
    if after and before and after[0] != before[0]:
        return [invalid(place, spec.get("clusterIPs"), _UNCHANGED)]
    return []


def _validate_status(tree: Object) -> list[FieldError]:
    place = "status.loadBalancer.ingress"
    ingresses = _ingresses(tree)
    if ingresses and not _is_balanced(tree["spec"]):
        return [forbidden(place, "may only be used when `spec.type` is 'LoadBalancer'")]
    found: list[FieldError] = []
    for position, ingress in enumerate(ingresses):
        where = index(place, position)
        address, mode, name = ingress.get("ip") or "", ingress.get("ipMode"), ingress.get("hostname") or ""
        if address:
            found += ip(address, child(where, "ip"))
            if mode is None:
                found.append(required(child(where, "ipMode"), "must be specified when `ip` is set"))
        if mode is not None and not address:
            found.append(forbidden(child(where, "ipMode"), "may not be specified when `ip` is not set"))
        elif mode is not None and mode not in ("Proxy", "VIP"):
            found.append(not_supported(child(where, "ipMode"), mode, ("Proxy", "VIP")))
        if name:
            found += wrong(child(where, "hostname"), name, dns1123_subdomain(name))
            if parse_ip(name) is not None:
                found.append(invalid(child(where, "hostname"), name, "must be a DNS name, not an IP address"))
    return found
