"""Validation of the spec and the status of a Service."""

from setpoint.objects.field import FieldError, child, duplicate, forbidden, index, invalid, key, not_supported, required
from setpoint.objects.gotext import RawJson, quote
from setpoint.objects.metavalidation import validate_labels
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.service.addresses import validate_addresses
from setpoint.server.registry.kinds.core.service.traits import (
    ingresses,
    is_balanced,
    is_exposed,
    is_headless,
    needs_health_check,
)
from setpoint.server.registry.kinds.validation.values import (
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

HINTS = "service.kubernetes.io/topology-aware-hints"
MODE = "service.kubernetes.io/topology-mode"
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_AFFINITY_LIMIT = 86400


def validate_service(tree: Object, old: Object | None) -> list[FieldError]:
    spec = tree["spec"]
    found = _validate_annotations(tree)
    kind = spec.get("type") or ""
    if not spec.get("ports") and not is_headless(spec) and kind != "ExternalName":
        found.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
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
        found += validate_addresses(spec)
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
    if HINTS in annotations and MODE in annotations and annotations[HINTS] != annotations[MODE]:
        why = f"must match annotations[{HINTS}] when both are specified"
        return [invalid(key("metadata.annotations", MODE), annotations[MODE], why)]
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


# The API shows a duplicate port as an internal struct, with its field order.
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


def _validate_balancer(tree: Object) -> list[FieldError]:
    spec = tree["spec"]
    balanced = is_balanced(spec)
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
    return found + validate_balancer_class(spec)


def validate_balancer_class(spec: Object) -> list[FieldError]:
    name, path = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if name is None:
        return []
    return qualified(name, path) if spec.get("type") == "LoadBalancer" else [forbidden(path, _ONLY_BALANCERS)]


def _validate_policies(spec: Object) -> list[FieldError]:
    found: list[FieldError] = []
    external, health = spec.get("externalTrafficPolicy") or "", spec.get("healthCheckNodePort", 0)
    if is_exposed(spec):
        found += enum(external, "spec.externalTrafficPolicy", _POLICIES)
    elif external:
        why = "may only be set for externally-accessible services"
        found.append(invalid("spec.externalTrafficPolicy", external, why))
    place = "spec.healthCheckNodePort"
    if needs_health_check(spec):
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


def validate_status(tree: Object) -> list[FieldError]:
    place = "status.loadBalancer.ingress"
    found_ingresses = ingresses(tree)
    if found_ingresses and not is_balanced(tree["spec"]):
        return [forbidden(place, "may only be used when `spec.type` is 'LoadBalancer'")]
    found: list[FieldError] = []
    for position, ingress in enumerate(found_ingresses):
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
