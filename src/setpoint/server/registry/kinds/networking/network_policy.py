"""NetworkPolicies, and the addresses of services: IPAddresses and ServiceCIDRs."""

import ipaddress
from collections.abc import Sequence
from datetime import datetime

from setpoint.objects import labels
from setpoint.objects.field import FieldError, forbidden, index, invalid, not_supported, required
from setpoint.objects.gotext import quote
from setpoint.objects.ids import Ids
from setpoint.objects.names import dns1123_subdomain, path_segment
from setpoint.objects.tree import Object
from setpoint.schema.formats.network import is_cidr, is_ipv4, is_ipv6
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy, struct_text
from setpoint.server.registry.kinds.printers.cells import NONE, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, joined, selector
from setpoint.server.registry.kinds.validation.address_warnings import cidr_warnings
from setpoint.server.registry.kinds.validation.references import path_segments
from setpoint.server.registry.kinds.validation.values import IMMUTABLE, cidr, port, port_name, wrong
from setpoint.server.registry.strategy import Column

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_POLICY_TYPES = ("Ingress", "Egress")
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class NetworkPolicyStrategy(ValidatingStrategy):
    declared_rules = ("spec.ingress[*].from[*].ipBlock.cidr Required", "spec.egress[*].to[*].ipBlock.cidr Required")
    keeps_generation = True
    counts_empty_in = "spec"
    columns = (NAME, Column("Pod-Selector", selector("spec", "podSelector")), AGE)

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        for direction, _ in _DIRECTIONS:
            for rule in spec.get(direction) or ():
                for item in rule.get("ports") or ():
                    item.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        known = _known_networks(old) if old else frozenset()
        found = labels.validate_object(spec.get("podSelector") or {}, "spec.podSelector")
        for direction, peers in _DIRECTIONS:
            for position, rule in enumerate(spec.get(direction) or ()):
                path = index(f"spec.{direction}", position)
                for number, item in enumerate(rule.get("ports") or ()):
                    found += _validate_port(item, index(f"{path}.ports", number))
                for number, peer in enumerate(rule.get(peers) or ()):
                    found += _validate_peer(peer, index(f"{path}.{peers}", number), known)
        types = spec.get("policyTypes") or []
        if len(types) > len(_POLICY_TYPES):
            return [*found, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
        for position, kind in enumerate(types):
            if kind not in _POLICY_TYPES:
                found.append(not_supported(index("spec.policyTypes", position), kind, _POLICY_TYPES))
        return found

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        found: list[str] = []
        for direction, peers in _DIRECTIONS:
            for position, rule in enumerate(lookup(tree, "spec", direction) or ()):
                for number, peer in enumerate(rule.get(peers) or ()):
                    block = peer.get("ipBlock") or {}
                    path = f"spec.{direction}[{position}].{peers}[{number}].ipBlock"
                    found += cidr_warnings(block.get("cidr") or "", f"{path}.cidr")
                    for at, part in enumerate(block.get("except") or ()):
                        found += cidr_warnings(part, f"{path}.except[{at}]")
        return found


def _known_networks(tree: Object) -> frozenset[str]:
    """Returns the networks of a stored policy, which remain allowed even if the rules have changed."""
    found: set[str] = set()
    for direction, peers in _DIRECTIONS:
        for rule in lookup(tree, "spec", direction) or ():
            for peer in rule.get(peers) or ():
                if (block := peer.get("ipBlock")) is not None:
                    found |= {block.get("cidr") or "", *(block.get("except") or ())}
    return frozenset(found)


def _validate_port(item: Object, path: str) -> list[FieldError]:
    found = []
    protocol, value, end = item.get("protocol"), item.get("port"), item.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        found.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if value is None:
        if end is not None:
            found.append(invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified"))
    elif type(value) is str:
        if end is not None:
            found.append(invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric"))
        found += wrong(f"{path}.port", value, port_name(value))
    else:
        found += port(value, f"{path}.port")
        if end is not None:
            if end < value:
                found.append(invalid(f"{path}.endPort", end, "must be greater than or equal to `port`"))
            found += port(end, f"{path}.endPort")
    return found


def _validate_peer(peer: Object, path: str, known: frozenset[str]) -> list[FieldError]:
    found: list[FieldError] = []
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if name in peer]
    for name in given:
        if name != "ipBlock":
            found += labels.validate_object(peer[name], f"{path}.{name}")
    if "ipBlock" in peer:
        found += _validate_block(peer["ipBlock"], f"{path}.ipBlock", known)
    if not given:
        found.append(required(path, "must specify a peer"))
    elif len(given) > 1 and "ipBlock" in peer:
        found.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return found


def _validate_block(block: Object, path: str, known: frozenset[str]) -> list[FieldError]:
    whole = block.get("cidr") or ""
    if not whole:
        return [required(f"{path}.cidr")]
    found = [] if whole in known else cidr(whole, f"{path}.cidr")
    network = _network(whole)
    if network is None:
        return found
    for position, part in enumerate(block.get("except") or ()):
        place = index(f"{path}.except", position)
        found += [] if part in known else cidr(part, place)
        inner = _network(part)
        if inner is not None and not (_contains(network, inner) and network.prefixlen < inner.prefixlen):
            found.append(invalid(place, part, "must be a strict subset of `cidr`"))
    return found


def _network(value: str) -> _Network | None:
    try:
        return ipaddress.ip_network(value, strict=False) if is_cidr(value) else None
    except ValueError:
        return None


def _contains(network: _Network, inner: _Network) -> bool:
    return network.version == inner.version and inner.network_address in network


def _parent(tree: Object, _now: datetime) -> str:
    found = lookup(tree, "spec", "parentRef")
    if found is None:
        return NONE
    group = f".{found['group']}" if found.get("group") else ""
    namespace = f"/{found['namespace']}" if found.get("namespace") else ""
    return f"{(found.get('resource') or '').lower()}{group.lower()}{namespace}/{found.get('name') or ''}"


class IPAddressStrategy(ValidatingStrategy):
    name_on_update = "before"
    immutable_unshown = ("spec.parentRef",)
    declared_rules = (
        "spec.parentRef Required",
        "spec.parentRef Invalid field is immutable",
    )
    declared_of_new = ("spec.parentRef.resource Required", "spec.parentRef.name Required")
    columns = (NAME, Column("ParentRef", _parent))
    undefined_columns = (AGE,)

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return ip_problems(name)

    def generate_name(self, base: str, ids: Ids) -> str:
        # A random end would not make an address.
        return base

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        reference = lookup(tree, "spec", "parentRef")
        if reference is None:
            return [required("spec.parentRef")]
        path, group, namespace = "spec.parentRef", reference.get("group"), reference.get("namespace")
        found = wrong(f"{path}.group", group, dns1123_subdomain(group)) if group else []
        found += path_segments(reference, path, "resource", "name")
        return found + wrong(f"{path}.namespace", namespace, path_segment(namespace)) if namespace else found


def ip_problems(value: str) -> list[str]:
    """Returns the errors of an address, which must be in canonical form."""
    if not (is_ipv4(value) or is_ipv6(value)):
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return ["must not have leading 0s"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if str(address) == value else [f"must be in canonical form ({quote(str(address))})"]


class ServiceCIDRStrategy(ValidatingStrategy):
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    columns = (NAME, Column("CIDRs", joined("spec", "cidrs")), AGE)

    def validate(self, tree: Object) -> list[FieldError]:
        return _validate_ranges(lookup(tree, "spec", "cidrs") or [], "spec.cidrs")

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return []
        path = "spec.cidrs"
        ranges, before = lookup(tree, "spec", "cidrs") or [], lookup(old, "spec", "cidrs") or []
        if len(ranges) != len(before) and (len(before), len(ranges)) != (1, 2):
            return [invalid(path, lookup(tree, "spec", "cidrs"), IMMUTABLE)]
        found = [
            invalid(index(path, position), value, IMMUTABLE)
            for position, (value, known) in enumerate(zip(ranges, before, strict=False))
            if value != known
        ]
        return found if len(ranges) == len(before) else found + _validate_ranges(ranges, path)


def _validate_ranges(ranges: list[str], path: str) -> list[FieldError]:
    if not ranges:
        return [required(path, "at least one CIDR required")]
    if len(ranges) > 2:
        return [invalid(path, struct_text(CIDRs=ranges), "may only hold up to 2 values")]
    found: list[FieldError] = []
    for position, value in enumerate(ranges):
        found += wrong(index(path, position), value, cidr_problems(value))
    families = [network.version for network in map(_network, ranges) if network is not None]
    if len(families) == 2 and families[0] == families[1]:
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        found.append(invalid(path, ranges, why))
    return found


def cidr_problems(value: str) -> list[str]:
    """Returns the errors of a CIDR, which must be in canonical form."""
    if not is_cidr(value):
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    address, _, length = value.partition("/")
    problems = ip_problems(address)
    if problems == ["must not have leading 0s"] or (length.startswith("0") and length != "0"):
        return ["must not have leading 0s in IP or prefix length"]
    if problems and "mapped" in problems[0]:
        return ["must not have an IPv4-mapped IPv6 address"]
    network = _network(value)
    if network is None:
        return []
    if network.network_address != ipaddress.ip_address(address):
        return ["must not have bits set beyond the prefix length"]
    return [] if str(network) == value else [f"must be in canonical form ({quote(str(network))})"]
