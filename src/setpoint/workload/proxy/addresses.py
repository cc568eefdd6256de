"""Where a service is to be had: which addresses its mode means, and what clients call it."""

import hashlib
import ipaddress
import socket
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

Resolve = Callable[[str], Sequence[str]]

LOCALHOST = "localhost"
IPV4, IPV6 = "127.0.0.1", "::1"


class AddressMode(StrEnum):
    """The words of `Service.spec.addressAllocationMode`."""

    LOCALHOST = "Localhost"
    IPV4_ZERO_ONE = "IPv4ZeroOne"
    IPV4_LOOPBACK = "IPv4Loopback"
    IPV6_ZERO_ONE = "IPv6ZeroOne"
    ALL_INTERFACES = "AllInterfaces"
    IPV4_ALL_INTERFACES = "IPv4AllInterfaces"
    IPV6_ALL_INTERFACES = "IPv6AllInterfaces"
    PROXYLESS = "Proxyless"


class Place(NamedTuple):
    """The addresses to listen at, the first of which has to be had, and the one that clients are told."""

    addresses: Sequence[str]
    shown: str


class NoAddressError(ValueError):
    """An address that is none, or that this machine has not; says what to do."""


def place_of(mode: AddressMode, address: str, owner: str, resolve: Resolve | None = None) -> Place:
    """Where a service listens. An address that was asked for counts before the mode. Raises NoAddressError."""
    resolve = resolve or resolved
    if address and not is_local_name(address):
        return _asked_for(address, resolve)
    match mode if not address else AddressMode.LOCALHOST:
        case AddressMode.IPV4_ZERO_ONE:
            return Place((IPV4,), IPV4)
        case AddressMode.IPV6_ZERO_ONE:
            return Place((IPV6,), IPV6)
        case AddressMode.IPV4_LOOPBACK:
            own = loopback_of(owner)
            return Place((own,), own)
        case AddressMode.IPV4_ALL_INTERFACES:
            return Place(("0.0.0.0",), IPV4)
        case AddressMode.IPV6_ALL_INTERFACES:
            return Place(("::",), IPV6)
        case AddressMode.ALL_INTERFACES:
            return Place(("0.0.0.0", "::"), LOCALHOST)
        case _:
            # Whoever says localhost may mean either; the first has to be there, the other is welcome.
            return Place(tuple(resolve(LOCALHOST)) or (IPV4, IPV6), LOCALHOST)


def _asked_for(address: str, resolve: Resolve) -> Place:
    try:
        found = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        addresses = tuple(resolve(address))
        if not addresses:
            raise NoAddressError(f"{address} is not known as a host: use localhost, or an IP address") from None
        return Place(addresses, address)
    shown = {"0.0.0.0": IPV4, "::": IPV6}.get(str(found), str(found))
    return Place((str(found),), shown)


def is_local_name(address: str) -> bool:
    """Whether a name means this machine alone: localhost, or any name below it."""
    name = address.rstrip(".").lower()
    return name == LOCALHOST or name.endswith(f".{LOCALHOST}")


def loopback_of(owner: str) -> str:
    """An address of the loopback network that is always the same for an owner, and hardly ever another's."""
    number = int.from_bytes(hashlib.blake2b(owner.encode(), digest_size=3).digest(), "big")
    # 127.0.0.x is what everybody uses, and the first and last of all are no hosts.
    return str(ipaddress.ip_address("127.0.0.0") + 256 + number % (2**24 - 512))


def resolved(name: str) -> list[str]:
    """What a name stands for here, IPv4 first: what else listens on this machine mostly does so there."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    return sorted(addresses, key=lambda each: ":" in each)
