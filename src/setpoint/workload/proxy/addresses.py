"""The addresses of a Service: those to listen on by its mode, and the one for clients."""

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
    """The values of `Service.spec.addressAllocationMode`."""

    LOCALHOST = "Localhost"
    IPV4_ZERO_ONE = "IPv4ZeroOne"
    IPV4_LOOPBACK = "IPv4Loopback"
    IPV6_ZERO_ONE = "IPv6ZeroOne"
    ALL_INTERFACES = "AllInterfaces"
    IPV4_ALL_INTERFACES = "IPv4AllInterfaces"
    IPV6_ALL_INTERFACES = "IPv6AllInterfaces"
    PROXYLESS = "Proxyless"


class ListenAddresses(NamedTuple):
    """The addresses to listen on, of which the first is required, and the address for clients."""

    addresses: Sequence[str]
    shown: str


class NoAddressError(ValueError):
    """An address is invalid, or does not exist on this machine; the message has the remedy."""


def place_of(mode: AddressMode, address: str, owner: str, resolve: Resolve | None = None) -> ListenAddresses:
    """Returns the addresses of a Service. An explicit address takes precedence over the mode. Raises NoAddressError."""
    resolve = resolve or resolved
    if address and not is_local_name(address):
        return _requested_addresses(address, resolve)
    match mode if not address else AddressMode.LOCALHOST:
        case AddressMode.IPV4_ZERO_ONE:
            return ListenAddresses((IPV4,), IPV4)
        case AddressMode.IPV6_ZERO_ONE:
            return ListenAddresses((IPV6,), in_url(IPV6))
        case AddressMode.IPV4_LOOPBACK:
            own = loopback_of(owner)
            return ListenAddresses((own,), own)
        case AddressMode.IPV4_ALL_INTERFACES:
            return ListenAddresses(("0.0.0.0",), IPV4)
        case AddressMode.IPV6_ALL_INTERFACES:
            return ListenAddresses(("::",), in_url(IPV6))
        case AddressMode.ALL_INTERFACES:
            return ListenAddresses(("0.0.0.0", "::"), LOCALHOST)
        case _:
            # localhost may mean either; the first is required, the other is optional.
            return ListenAddresses(tuple(resolve(LOCALHOST)) or (IPV4, IPV6), LOCALHOST)


def _requested_addresses(address: str, resolve: Resolve) -> ListenAddresses:
    try:
        found = ipaddress.ip_address(plain(address))
    except ValueError:
        addresses = tuple(resolve(address))
        if not addresses:
            raise NoAddressError(f"unknown host {address}: use localhost, or an IP address") from None
        return ListenAddresses(addresses, address)
    shown = {"0.0.0.0": IPV4, "::": IPV6}.get(str(found), str(found))
    return ListenAddresses((str(found),), in_url(shown))


def in_url(address: str) -> str:
    """Returns an address in the form of a URL, which DCP uses everywhere: IPv6 addresses are in brackets."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address


def plain(address: str) -> str:
    """Returns an address without the brackets of an IPv6 address."""
    return address[1:-1] if address.startswith("[") and address.endswith("]") else address


def is_local_name(address: str) -> bool:
    """Returns True for localhost and names below localhost."""
    name = address.rstrip(".").lower()
    return name == LOCALHOST or name.endswith(f".{LOCALHOST}")


def loopback_of(owner: str) -> str:
    """Returns a loopback address that is always the same for an owner, and very likely unique."""
    number = int.from_bytes(hashlib.blake2b(owner.encode(), digest_size=3).digest(), "big")
    # 127.0.0.x is in common use, and the first and last address are not hosts.
    return str(ipaddress.ip_address("127.0.0.0") + 256 + number % (2**24 - 512))


def resolved(name: str) -> list[str]:
    """Returns the addresses of a name, IPv4 first, because most servers on this machine listen there."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    return sorted(addresses, key=lambda each: ":" in each)
