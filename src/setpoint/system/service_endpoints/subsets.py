"""The subsets of Endpoints: addresses with the same ports, in a canonical form. Pure functions."""

from collections.abc import Hashable, Iterable, Sequence
from math import ceil
from typing import Any

from setpoint.objects.tree import Object

# The most addresses of one object.
MOST_ADDRESSES = 1000


def subset_of(address: Object, ports: Sequence[Object], *, is_ready: bool) -> Object:
    """Returns the subset of one address."""
    return {"addresses" if is_ready else "notReadyAddresses": [address], "ports": list(ports)}


def repacked(subsets: Iterable[Object]) -> list[Object]:
    """Returns subsets in their canonical form: each address once for each port, all ports of the same addresses in one
    subset, everything sorted. An address that is ready in one subset and not in another one is not ready."""
    addresses: dict[Hashable, Object] = {}
    # The readiness of the addresses by port; an empty tuple stands for addresses without ports.
    by_port: dict[tuple[Any, ...], dict[Hashable, bool]] = {}
    for subset in subsets:
        states = [(each, True) for each in subset.get("addresses") or ()]
        states += [(each, False) for each in subset.get("notReadyAddresses") or ()]
        for port in [tuple(sorted(each.items())) for each in subset.get("ports") or ()] or [()]:
            found = by_port.setdefault(port, {})
            for address, is_ready in states:
                key = _address_key(address)
                addresses.setdefault(key, address)
                found[key] = found.get(key, True) and is_ready
    by_addresses: dict[Hashable, tuple[dict[Hashable, bool], list[Object]]] = {}
    for port, found in by_port.items():
        _, ports = by_addresses.setdefault(frozenset(found.items()), (found, []))
        if port:
            ports.append(dict(port))
    made = [_subset(addresses, found, ports) for found, ports in by_addresses.values()]
    return sorted(made, key=_subset_order)


def _subset(addresses: dict[Hashable, Object], found: dict[Hashable, bool], ports: list[Object]) -> Object:
    subset: Object = {}
    for field, wanted in (("addresses", True), ("notReadyAddresses", False)):
        chosen = [addresses[key] for key, is_ready in found.items() if is_ready is wanted]
        if chosen:
            subset[field] = sorted(chosen, key=_address_key)
    if ports:
        subset["ports"] = sorted(ports, key=_port_order)
    return subset


def _address_key(address: Object) -> tuple[str, str]:
    return address["ip"], (address.get("targetRef") or {}).get("uid") or ""


def _port_order(port: Object) -> tuple[str, int, str]:
    return port.get("name") or "", port["port"], port.get("protocol") or ""


def _subset_order(subset: Object) -> tuple[Any, ...]:
    fields = (subset.get("addresses") or (), subset.get("notReadyAddresses") or ())
    return [_port_order(each) for each in subset.get("ports") or ()], *[
        list(map(_address_key, each)) for each in fields
    ]


def number_of(subsets: Iterable[Object]) -> int:
    """Returns the number of addresses."""
    return sum(len(each.get("addresses") or ()) + len(each.get("notReadyAddresses") or ()) for each in subsets)


def truncated(subsets: list[Object]) -> list[Object]:
    """Returns subsets with at most a thousand addresses: ready ones first, and each subset in proportion to its
    size."""
    ready = sum(len(each.get("addresses") or ()) for each in subsets)
    field, most, whole = "addresses", MOST_ADDRESSES, ready
    if ready <= MOST_ADDRESSES:
        field, most, whole = "notReadyAddresses", MOST_ADDRESSES - ready, number_of(subsets) - ready
    left = most
    made = []
    for subset in subsets:
        given = subset.get(field) or []
        kept = given[: min(ceil(len(given) / whole * most), left)]
        left -= len(kept)
        dropped = (field, "notReadyAddresses")
        rest = {name: value for name, value in subset.items() if name not in dropped}
        made.append({**rest, field: kept} if kept else rest)
    return made
