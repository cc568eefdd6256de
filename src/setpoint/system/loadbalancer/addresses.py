"""The addresses of simulated load balancers. They are of ranges for documentation: no network routes them."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

from setpoint.cache.entry import CachedObject
from setpoint.objects.tree import Object

RANGES: dict[str, IPv4Network | IPv6Network] = {
    "IPv4": IPv4Network("203.0.113.0/24"),
    "IPv6": IPv6Network("2001:db8::/32"),
}
# The most addresses of one family, so that a search ends.
_MOST = 10_000


def ingress_of(service: Object) -> list[str]:
    """Returns the addresses in the status of a Service."""
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    return [each["ip"] for each in balancer.get("ingress") or () if each.get("ip")]


def index_values(entry: CachedObject[Any]) -> Iterable[str]:
    """Returns the values of a Service in the index of addresses."""
    return ingress_of(entry.object)


def is_ours(address: str) -> bool:
    """Returns True for an address of our ranges."""
    found = ip_address(address)
    return any(found in each for each in RANGES.values() if each.version == found.version)


def family_of(address: str) -> str:
    return "IPv6" if ip_address(address).version == 6 else "IPv4"


def candidates(family: str, wanted: str | None) -> Iterator[str]:
    """Yields the addresses of a family in the order of their use, the wanted one first."""
    if wanted and is_ours(wanted) and family_of(wanted) == family:
        yield wanted
    for number, each in enumerate(RANGES[family].hosts()):
        if number >= _MOST:
            return
        # The first address of an IPv6 range is the anycast address of its routers, which `hosts` leaves out.
        yield str(each)
