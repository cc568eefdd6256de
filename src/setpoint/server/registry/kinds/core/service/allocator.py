"""Allocator of the addresses and node ports of Services.

`Holdings` are the allocations of all Services, in the ranges of all ServiceCIDRs that are ready; the first one is that
of the server's settings. A `Pool` holds the reservations of one write: they are unavailable to
others until the pool is closed; by then the write is part of the holdings, or has failed. The lower part of each range
is reserved for explicitly requested addresses and ports, and is used for others only when the rest is exhausted. A
released value is reused only after the rest of its part, because clients may still send to the old address.
"""

import ipaddress
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from setpoint.objects.tree import Object

SERVICE_CIDR: Final = "10.0.0.0/16"
NODE_PORTS: Final = range(30000, 32768)
# The name of the ServiceCIDR with the range of the server's settings.
DEFAULT_RANGE: Final = "kubernetes"
# The port after which a dry run begins to count, beyond all valid ones.
_LAST_PORT: Final = 32768

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class AllocationError(ValueError):
    """The requested value is not available. The message is the API's."""


class Claims(NamedTuple):
    """The addresses and ports of one Service, or of one write, as numbers."""

    addresses: list[int]
    ports: list[int]


NOTHING: Final = Claims([], [])


def claims_of(service: Object) -> Claims:
    """Returns the addresses and ports in the spec of a Service."""
    spec = service.get("spec") or {}
    addresses = [int(ipaddress.ip_address(text)) for text in spec.get("clusterIPs") or () if text != "None"]
    ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    if spec.get("healthCheckNodePort"):
        ports.append(spec["healthCheckNodePort"])
    return Claims(addresses, ports)


class _RangePart:
    """A part of a range, allocated in turn."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.used = 0
        self._next = first

    def next(self, holders: dict[int, int]) -> int | None:
        """Returns the next free number, or None if there is none."""
        if self.used > self.last - self.first:
            return None
        while self._next in holders:
            self._step()
        found = self._next
        self._step()
        return found

    def _step(self) -> None:
        self._next = self._next + 1 if self._next < self.last else self.first


class _Numbers:
    """The numbers of ranges, each with the count of its holders: Services and reservations."""

    def __init__(self) -> None:
        # The parts of each range; ranges may overlap.
        self._parts: dict[str, list[_RangePart]] = {}
        self._holders: dict[int, int] = {}

    def add(self, name: str, first: int, last: int, kept: int) -> None:
        """Adds a range, whose numbers are allocated after those of earlier ranges."""
        parts = [_RangePart(first + kept, last), *([_RangePart(first, first + kept - 1)] if kept else [])]
        for part in parts:
            part.used = sum(part.first <= number <= part.last for number in self._holders)
        self._parts[name] = parts

    def remove(self, name: str) -> None:
        """Removes a range; its numbers keep their holders."""
        del self._parts[name]

    def reserve(self, number: int) -> None:
        holders = self._holders.get(number, 0)
        self._holders[number] = holders + 1
        if not holders:
            self._count(number, 1)

    def release(self, number: int) -> None:
        holders = self._holders[number] - 1
        if holders:
            self._holders[number] = holders
        else:
            del self._holders[number]
            self._count(number, -1)

    def _count(self, number: int, change: int) -> None:
        for part in self._all_parts():
            if part.first <= number <= part.last:
                part.used += change

    def _all_parts(self) -> Iterator[_RangePart]:
        return chain.from_iterable(self._parts.values())

    def holders(self, number: int) -> int:
        return self._holders.get(number, 0)

    def next(self) -> int | None:
        for part in self._all_parts():
            if (found := part.next(self._holders)) is not None:
                return found
        return None


class Holdings:
    """The allocations of all Services."""

    def __init__(self, cidr: str = SERVICE_CIDR, ports: range = NODE_PORTS) -> None:
        self.network: Final[_Network] = ipaddress.ip_network(cidr)
        self.networks: list[_Network] = []
        self.port_range: Final = ports
        self.addresses: Final = _Numbers()
        kept = min(max(16, len(ports) // 32), 128) if len(ports) > 16 else 0
        self.ports: Final = _Numbers()
        self.ports.add("", ports[0], ports[-1], kept)
        self._numbers_of: dict[str, Claims] = {}
        # The ready networks of the ServiceCIDRs, by their keys.
        self._networks_of: dict[str, Sequence[_Network]] = {}
        self._set_networks()

    def ranges_changed(self, key: str, cidrs: Sequence[str] | None) -> None:
        """Updates the ready ranges of a ServiceCIDR; None if the ServiceCIDR is deleted."""
        self._networks_of.pop(key, None)
        if cidrs is not None:
            self._networks_of[key] = [ipaddress.ip_network(cidr) for cidr in cidrs]
        self._set_networks()

    def _set_networks(self) -> None:
        """Sets the ranges from which addresses are allocated. The range of the settings is ready if its ServiceCIDR
        does not exist, as before the start is complete."""
        own = [] if any(key.endswith(f"/{DEFAULT_RANGE}") for key in self._networks_of) else [self.network]
        others = [network for networks in self._networks_of.values() for network in networks]
        wanted = sorted({*own, *others}, key=lambda network: (network != self.network, str(network)))
        wanted = [network for network in wanted if network.version == self.network.version]
        for network in self.networks:
            if network not in wanted:
                self.addresses.remove(str(network))
        for network in wanted:
            if network not in self.networks:
                size = network.num_addresses - 2
                kept = min(max(16, size // 16), 256) if size > 16 else 0
                self.addresses.add(str(network), int(network[0]) + 1, int(network[-1]) - 1, kept)
        self.networks = wanted

    def contains(self, address: _Address) -> bool:
        """Returns True if an address is in a range. The first and the last address of a network are no addresses."""
        return any(
            address in network and int(network[0]) < int(address) < int(network[-1]) for network in self.networks
        )

    def changed(self, key: str, claims: Claims | None) -> None:
        """Updates the allocations of a Service; None if the Service is deleted."""
        before = self._numbers_of.pop(key, None)
        if claims is not None:
            self._numbers_of[key] = claims
            self.each(claims, _Numbers.reserve)
        if before is not None:
            self.each(before, _Numbers.release)

    def pool(self, key: str = "", promised: Claims = NOTHING) -> "Pool":
        """Returns a pool for a write of the Service with this key, which may keep its own values. Values in `promised`
        are unavailable."""
        return Pool(self, self._numbers_of.get(key, NOTHING), promised)

    def dry_pool(self, key: str) -> "Pool":
        """Returns a pool for a dry run, which reserves no value."""
        return DryPool(self, self._numbers_of.get(key, NOTHING), NOTHING)

    def each(self, claims: Claims, do: Callable[[_Numbers, int], None]) -> None:
        for address in claims.addresses:
            do(self.addresses, address)
        for port in claims.ports:
            do(self.ports, port)


class Pool:
    """The reservations of one write, unavailable to others until the pool is closed."""

    def __init__(self, holdings: Holdings, own: Claims, promised: Claims) -> None:
        self._holdings = holdings
        self._own = own
        self._promised = promised
        self.claims: Final = Claims([], [])
        self.is_open = True
        holdings.each(promised, _Numbers.reserve)

    @property
    def family(self) -> str:
        """The only IP family of the Services of this server."""
        return f"IPv{self._holdings.network.version}"

    def reserve_address(self, wanted: str = "") -> str:
        """Reserves an address: the requested one, or the next free one. Raises AllocationError."""
        numbers = self._holdings.addresses
        if not wanted:
            number = _next(numbers, self.claims.addresses)
            return str(type(self._holdings.network.network_address)(number))
        address = ipaddress.ip_address(wanted)
        if not self._holdings.contains(address):
            raise AllocationError("the provided network does not match the current range")
        _claim(numbers, int(address), self._own.addresses, self.claims.addresses, "provided IP is already allocated")
        return str(address)

    def reserve_port(self, wanted: int = 0) -> int:
        """Reserves a node port: the requested one, or the next free one. Raises AllocationError."""
        numbers, span = self._holdings.ports, self._holdings.port_range
        if not wanted:
            return _next(numbers, self.claims.ports)
        if wanted not in span:
            text = f"The range of valid ports is {span.start}-{span.stop - 1}"
            raise AllocationError(f"provided port is not in the valid range. {text}")
        _claim(numbers, wanted, self._own.ports, self.claims.ports, "provided port is already allocated")
        return wanted

    @property
    def has_reservations(self) -> bool:
        """True if the pool has a reservation."""
        return any(self.claims)

    def close(self) -> None:
        """Releases the reservations; values of a successful write are part of the holdings by now."""
        if self.is_open:
            self.is_open = False
            self._holdings.each(self.claims, _Numbers.release)
            self._holdings.each(self._promised, _Numbers.release)


class DryPool(Pool):
    """The values of a write that is not stored: made up, as on kube-apiserver, without any reservation."""

    def reserve_address(self, wanted: str = "") -> str:
        if not wanted:
            return str(self._holdings.network.network_address)
        if not self._holdings.contains(address := ipaddress.ip_address(wanted)):
            span = f"The range of valid IPs is {self._holdings.network}"
            raise AllocationError(f"the provided IP ({address}) is not in the valid range. {span}")
        return wanted

    def reserve_port(self, wanted: int = 0) -> int:
        if wanted and (wanted in self.claims.ports or self._is_held(wanted)):
            raise AllocationError("provided port is already allocated")
        port = wanted or max(self.claims.ports, default=_LAST_PORT) + 1
        self.claims.ports.append(port)
        return port

    def _is_held(self, port: int) -> bool:
        return self._holdings.ports.holders(port) > self._own.ports.count(port)

    def close(self) -> None:
        self.is_open = False


def _next(numbers: _Numbers, used: list[int]) -> int:
    found = numbers.next()
    if found is None:
        raise AllocationError("range is full")
    numbers.reserve(found)
    used.append(found)
    return found


def _claim(numbers: _Numbers, wanted: int, own: list[int], used: list[int], refused: str) -> None:
    if wanted in used or numbers.holders(wanted) > own.count(wanted):
        raise AllocationError(refused)
    numbers.reserve(wanted)
    used.append(wanted)
