"""Addresses and ports that Services are given: which are free, and which come next.

A `Pool` is made for one write, from what is in use at that moment; taking from it changes only the pool. The lower part
of each range is left to those who ask for a certain address or port: others get one from there when the rest is taken.
"""

import ipaddress
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, TypeVar

from setpoint.objects.tree import Object

SERVICE_CIDR: Final = "10.0.0.0/16"
NODE_PORTS: Final = range(30000, 32768)

_T = TypeVar("_T")
_Version = ipaddress.IPv4Network | ipaddress.IPv6Network


class AllocationError(ValueError):
    """What was asked for is not to be had. The text is the API's."""


class Pool:
    """The addresses and node ports that are left."""

    def __init__(
        self,
        used_addresses: Iterable[str] = (),
        used_ports: Iterable[int] = (),
        *,
        cidr: str = SERVICE_CIDR,
        ports: range = NODE_PORTS,
    ) -> None:
        self.network: Final[_Version] = ipaddress.ip_network(cidr)
        self.ports: Final = ports
        self._addresses = set(used_addresses)
        self._ports = set(used_ports)

    @property
    def family(self) -> str:
        """The only IP family that Services of this server have."""
        return f"IPv{self.network.version}"

    def take_address(self, wanted: str = "") -> str:
        """An address: the one that is wanted, or the next that is free."""
        if not wanted:
            return _next(self._addresses, self._free_addresses(), "range is full")
        address = ipaddress.ip_address(wanted)
        if address not in self.network:
            raise AllocationError("the provided network does not match the current range")
        first, last = self.network[1], self.network[-2]
        if not int(first) <= int(address) <= int(last):
            span = f"The range of valid IPs is {self.network}"
            raise AllocationError(f"the provided IP ({wanted}) is not in the valid range. {span}")
        return _claim(self._addresses, str(address), "provided IP is already allocated")

    def take_port(self, wanted: int = 0) -> int:
        """A node port: the one that is wanted, or the next that is free."""
        if not wanted:
            return _next(self._ports, self._free_ports(), "range is full")
        if wanted not in self.ports:
            span = f"The range of valid ports is {self.ports.start}-{self.ports.stop - 1}"
            raise AllocationError(f"provided port is not in the valid range. {span}")
        return _claim(self._ports, wanted, "provided port is already allocated")

    def _free_addresses(self) -> Iterator[str]:
        size = self.network.num_addresses - 2
        kept = min(max(16, size // 16), 256) if size > 16 else 0
        return (str(self.network[offset]) for offset in chain(range(kept + 1, size + 1), range(1, kept + 1)))

    def _free_ports(self) -> Iterator[int]:
        size = len(self.ports)
        kept = min(max(16, size // 32), 128) if size > 16 else 0
        return chain(self.ports[kept:], self.ports[:kept])


def _next(used: set[_T], candidates: Iterator[_T], full: str) -> _T:
    for candidate in candidates:
        if candidate not in used:
            used.add(candidate)
            return candidate
    raise AllocationError(full)


def _claim(used: set[_T], wanted: _T, taken: str) -> _T:
    if wanted in used:
        raise AllocationError(taken)
    used.add(wanted)
    return wanted


def pool_of(services: Iterable[Object], *, cidr: str = SERVICE_CIDR, ports: range = NODE_PORTS) -> Pool:
    """What is left when these Services have what they say they have."""
    addresses: list[str] = []
    taken: list[int] = []
    for service in services:
        spec = service.get("spec") or {}
        addresses += [address for address in spec.get("clusterIPs") or () if address != "None"]
        taken += [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
        if spec.get("healthCheckNodePort"):
            taken.append(spec["healthCheckNodePort"])
    return Pool(addresses, taken, cidr=cidr, ports=ports)
