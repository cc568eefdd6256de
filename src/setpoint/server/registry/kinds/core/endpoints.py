"""The rules of Endpoints."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.field import FieldError, child, index, invalid, required
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import NONE
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import (
    PROTOCOLS,
    enum,
    ip,
    label,
    non_special_ip,
    port,
    qualified,
    wrong,
)
from setpoint.server.registry.strategy import Column, Strategy

_SHOWN = 3


def _addresses(tree: Object, _now: datetime) -> Json:
    subsets = tree.get("subsets") or []
    if not subsets:
        return NONE
    found = []
    for subset in subsets:
        hosts = [address.get("ip") or "" for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or []
        if not ports:
            found += hosts
        for entry in ports:
            found += [_joined(host, entry.get("port", 0)) for host in hosts]
    shown = ",".join(found[:_SHOWN])
    return f"{shown} + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else shown


def _joined(host: str, number: int) -> str:
    return f"[{host}]:{number}" if ":" in host else f"{host}:{number}"


class EndpointsStrategy(Strategy):
    name_on_update = "after"
    allows_create_on_update = True
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Endpoints", _addresses),
        AGE,
    )

    def default(self, tree: Object) -> None:
        for subset in tree.get("subsets") or ():
            for entry in subset.get("ports") or ():
                if not entry.get("protocol"):
                    entry["protocol"] = "TCP"

    def validate(self, tree: Object) -> list[FieldError]:
        found: list[FieldError] = []
        for position, subset in enumerate(tree.get("subsets") or ()):
            path = index("subsets", position)
            if not subset.get("addresses") and not subset.get("notReadyAddresses"):
                found.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
            for name in ("addresses", "notReadyAddresses"):
                for number, address in enumerate(subset.get(name) or ()):
                    found += _validate_address(address, index(child(path, name), number))
            ports = subset.get("ports") or []
            for number, entry in enumerate(ports):
                found += _validate_port(entry, index(child(path, "ports"), number), len(ports) > 1)
        return found

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        return [] if tree.get("subsets") == old.get("subsets") else self.validate(tree)


def _validate_address(address: Object, path: str) -> list[FieldError]:
    text = address.get("ip") or ""
    found = ip(text, child(path, "ip"))
    malformed = bool(found)
    if address.get("hostname"):
        found += label(address["hostname"], child(path, "hostname"))
    if address.get("nodeName") is not None:
        found += wrong(child(path, "nodeName"), address["nodeName"], dns1123_subdomain(address["nodeName"]))
    # The real server reports an address that it cannot parse twice.
    twice = [invalid(child(path, "ip"), text, "must be a valid IP address")]
    return found + (twice if malformed else non_special_ip(text, child(path, "ip")))


def _validate_port(entry: Object, path: str, named: bool) -> list[FieldError]:
    name = entry.get("name") or ""
    found = label(name, child(path, "name")) if name else [required(child(path, "name"))] if named else []
    found += port(entry.get("port", 0), child(path, "port"))
    found += enum(entry.get("protocol") or "", child(path, "protocol"), PROTOCOLS)
    if entry.get("appProtocol") is not None:
        found += qualified(entry["appProtocol"], child(path, "appProtocol"))
    return found
