"""EndpointSlices: the addresses behind a service."""

from datetime import datetime

from setpoint.objects.field import FieldError, duplicate, index, invalid, not_supported, required, too_many
from setpoint.objects.names import dns1123_label, dns1123_subdomain, label_value
from setpoint.objects.tree import Object
from setpoint.schema.formats.network import is_ipv4, is_ipv6
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy
from setpoint.server.registry.kinds.printers.cells import field
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, first_few
from setpoint.server.registry.kinds.validation.address_warnings import ip_warnings
from setpoint.server.registry.kinds.validation.values import PROTOCOLS, ip, non_special_ip, qualified, wrong
from setpoint.server.registry.strategy import Column

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_MAX_ADDRESSES, _MAX_PORTS, _MAX_ENDPOINTS, _MAX_HINTS = 100, 20_000, 1_000, 8


def _ports(tree: Object, _now: datetime) -> str:
    found = tree.get("ports") or ()
    return first_few([str(port["port"]) if "port" in port else port.get("name", "*") for port in found], 3)


def _endpoints(tree: Object, _now: datetime) -> str:
    found = tree.get("endpoints") or ()
    return first_few([address for endpoint in found for address in endpoint.get("addresses") or ()], 3)


class EndpointSliceStrategy(ValidatingStrategy):
    name_on_update = "before"
    declared_of_new = ("addressType NotSupported",)
    declared_rules = (
        "addressType Required",
        "addressType Invalid field is immutable",
        "endpoints[*].addresses Required",
        "endpoints[*].addresses TooMany",
    )
    keeps_generation = True
    immutable_unshown = ("addressType",)
    columns = (
        NAME,
        Column("AddressType", field("addressType")),
        Column("Ports", _ports),
        Column("Endpoints", _endpoints),
        AGE,
    )

    def default(self, tree: Object) -> None:
        for port in tree.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def prepare_for_create(self, tree: Object) -> None:
        _drop_topology(tree)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if (tree.get("endpoints") or []) != (old.get("endpoints") or []):
            # A topology counts as a change, even though the field is not stored.
            tree["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
            _drop_topology(tree)

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        labels, before = tree["metadata"].get("labels"), old["metadata"].get("labels")
        return labels != before or super().bumps_generation(tree, old)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        kind = tree.get("addressType") or ""
        found: list[FieldError] = []
        if not kind:
            found.append(required("addressType"))
        elif kind not in ADDRESS_TYPES and (old is None or old.get("addressType") != kind):
            found.append(not_supported("addressType", kind, ADDRESS_TYPES))
        found += _validate_ports(tree.get("ports") or [])
        endpoints = tree.get("endpoints") or []
        # Unchanged endpoints remain valid, even if the rules have changed.
        if old is None or endpoints != (old.get("endpoints") or []):
            found += _validate_endpoints(endpoints, kind)
        return found

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        found: list[str] = []
        if old is None and tree.get("addressType") == "FQDN":
            found.append("spec.addressType: FQDN endpoints are deprecated")
        if (tree["metadata"].get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
            # These controllers write canonical addresses.
            return found
        for position, endpoint in enumerate(tree.get("endpoints") or ()):
            for number, address in enumerate(endpoint.get("addresses") or ()):
                found += ip_warnings(address, f"endpoints[{position}].addresses[{number}]")
        return found


def _drop_topology(tree: Object) -> None:
    """Drops the topology, a field of older versions that this version only shows."""
    for endpoint in tree.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _validate_ports(ports: list[Object]) -> list[FieldError]:
    if len(ports) > _MAX_PORTS:
        return [too_many("ports", len(ports), _MAX_PORTS)]
    found: list[FieldError] = []
    names: set[str] = set()
    for position, port in enumerate(ports):
        path, name = index("ports", position), port.get("name") or ""
        if name:
            found += wrong(f"{path}.name", name, dns1123_label(name))
        if name in names:
            found.append(duplicate(f"{path}.name", name))
        names.add(name)
        protocol = port.get("protocol")
        if protocol is None:
            found.append(required(f"{path}.protocol"))
        elif protocol not in PROTOCOLS:
            found.append(not_supported(f"{path}.protocol", protocol, PROTOCOLS))
        if "appProtocol" in port:
            found += qualified(port["appProtocol"], f"{path}.appProtocol")
    return found


def _validate_endpoints(endpoints: list[Object], kind: str) -> list[FieldError]:
    if len(endpoints) > _MAX_ENDPOINTS:
        return [too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)]
    found: list[FieldError] = []
    for position, endpoint in enumerate(endpoints):
        path = index("endpoints", position)
        place, addresses = f"{path}.addresses", endpoint.get("addresses") or []
        if not addresses:
            found.append(required(place))
        elif len(addresses) > _MAX_ADDRESSES:
            found.append(too_many(place, len(addresses), _MAX_ADDRESSES))
        for number, address in enumerate(addresses):
            found += _validate_address(address, kind, place, index(place, number))
        if "nodeName" in endpoint:
            found += wrong(f"{path}.nodeName", endpoint["nodeName"], dns1123_subdomain(endpoint["nodeName"]))
        if "hostname" in endpoint:
            found += wrong(f"{path}.hostname", endpoint["hostname"], dns1123_label(endpoint["hostname"]))
        found += _validate_hints(endpoint.get("hints") or {}, f"{path}.hints")
    return found


def _validate_address(address: str, kind: str, list_path: str, path: str) -> list[FieldError]:
    if kind == "FQDN":
        return _validate_domain(address, path)
    if kind not in ("IPv4", "IPv6"):
        return []
    found = ip(address, path)
    if found:
        return found
    if not (is_ipv4(address) if kind == "IPv4" else is_ipv6(address)):
        found.append(invalid(list_path, address, f"must be an {kind} address"))
    return found + non_special_ip(address, path)


def _validate_domain(name: str, path: str) -> list[FieldError]:
    """Validates a fully qualified host name, with or without the trailing dot."""
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    problems = dns1123_subdomain(name)
    if problems:
        return [invalid(path, name, ",".join(problems))]
    labels = name.split(".")
    if len(labels) < 2:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for label in labels:
        if dns1123_label(label):
            return [invalid(path, label, ",".join(dns1123_label(label)))]
    return []


def _validate_hints(hints: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name_of, rule in (("forZones", label_value), ("forNodes", dns1123_subdomain)):
        place, items = f"{path}.{name_of}", hints.get(name_of) or []
        if len(items) > _MAX_HINTS:
            return [*found, too_many(place, len(items), _MAX_HINTS)]
        names: set[str] = set()
        for position, item in enumerate(items):
            where, name = f"{index(place, position)}.name", item.get("name") or ""
            if name in names:
                found.append(duplicate(where, name))
            names.add(name)
            found += wrong(where, name, rule(name))
    return found
