"""IP addresses and CIDRs. IPv4 inside IPv6 and zones are rejected, as everywhere in the API."""

import ipaddress
import re
from typing import TypeAlias

from setpoint.objects.gotext import quote
from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.types import Type, opaque
from setpoint.schema.cel.values import EvaluationError, no_such_overload

NETWORK = Library()
_overload = NETWORK.overload
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_DOTTED = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_LEADING_ZERO = re.compile(r"(?:^|[.:])0[0-9]+(?:\.|$)")
_PREFIX = re.compile(r"0|[1-9][0-9]{0,2}")


class Ip:
    """An IP address as a CEL value."""

    __slots__ = ("address",)
    cel_type: Type = opaque("net.IP")

    def __init__(self, address: _Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ip) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    @property
    def cel_text(self) -> str:
        return str(self.address)

    @property
    def cost_size(self) -> int:
        return len(self.address.packed)


class Cidr:
    """An IP address with its prefix length; bits after the prefix are kept."""

    __slots__ = ("address", "bits")
    cel_type: Type = opaque("net.CIDR")

    def __init__(self, address: _Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cidr) and (self.address, self.bits) == (other.address, other.bits)

    def __hash__(self) -> int:
        return hash((self.address, self.bits))

    @property
    def cel_text(self) -> str:
        return f"{self.address}/{self.bits}"

    @property
    def cost_size(self) -> int:
        return len(self.address.packed)

    def masked(self) -> "Cidr":
        return Cidr(ipaddress.ip_network(f"{self.address}/{self.bits}", strict=False).network_address, self.bits)

    def contains(self, address: _Address) -> bool:
        if address.version != self.address.version:
            return False
        shift = address.max_prefixlen - self.bits
        return int(address) >> shift == int(self.address) >> shift


def _parse(text: str) -> _Address:
    """Parses an address. Raises ValueError with the reason of Go's `netip`."""
    if len(text) <= 64 and text.isascii():
        try:
            return ipaddress.ip_address(text)
        except ValueError:
            pass
    if _DOTTED.fullmatch(text):
        if _LEADING_ZERO.search(text):
            raise ValueError("IPv4 field has octet with leading zero")
        fields = text.split(".")
        if any(len(field) > 3 or int(field) > 255 for field in fields):
            raise ValueError("IPv4 field has value >255")
        raise ValueError("IPv4 address too short" if len(fields) < 4 else "IPv4 address too long")
    raise ValueError("unable to parse IP")


def _parse_ip(text: str) -> Ip:
    try:
        address = _parse(text)
    except ValueError as reason:
        parsing = f"ParseAddr({quote(text)}): {reason}"
        raise EvaluationError(
            f"IP Address {quote(text)} parse error during conversion from string: {parsing}"
        ) from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise EvaluationError(f"IP address {quote(text)} with zone value is not allowed")
        if address.ipv4_mapped:
            raise EvaluationError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Ip(address)


def _parse_cidr(text: str) -> Cidr:
    prefix = "network address parse error during conversion from string: "
    try:
        found = _split_prefix(text)
    except ValueError as reason:
        raise EvaluationError(f"{prefix}{prefix}netip.ParsePrefix({quote(text)}): {reason}") from None
    if isinstance(found.address, ipaddress.IPv6Address) and found.address.ipv4_mapped:
        raise EvaluationError(f"{prefix}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return found


def _split_prefix(text: str) -> Cidr:
    head, slash, tail = text.rpartition("/")
    if not slash:
        raise ValueError("no '/'")
    try:
        address = _parse(head)
    except ValueError as reason:
        raise ValueError(f"ParseAddr({quote(head)}): {reason}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        raise ValueError("IPv6 zones cannot be present in a prefix")
    if not _PREFIX.fullmatch(tail):
        raise ValueError(f"bad bits after slash: {quote(tail)}")
    if int(tail) > address.max_prefixlen:
        raise ValueError("prefix length out of range")
    return Cidr(address, int(tail))


@_overload("string_to_ip: ip(string) -> net.IP")
def _ip(text: str) -> Ip:
    return _parse_ip(text)


@_overload("is_ip: isIP(string) -> bool")
def _is_ip(text: str) -> bool:
    try:
        _parse_ip(text)
    except EvaluationError:
        return False
    return True


@_overload("ip_is_canonical: ip.isCanonical(string) -> bool")
def _is_canonical(text: str) -> bool:
    return _parse_ip(text).cel_text == text


@_overload("ip_family: (net.IP).family() -> int")
def _family(ip: Ip) -> int:
    return ip.address.version


@_overload("ip_is_unspecified: (net.IP).isUnspecified() -> bool")
def _is_unspecified(ip: Ip) -> bool:
    return ip.address.is_unspecified


@_overload("ip_is_loopback: (net.IP).isLoopback() -> bool")
def _is_loopback(ip: Ip) -> bool:
    return ip.address.is_loopback


_LINK_LOCAL_MULTICAST = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))
_BROADCAST = ipaddress.ip_address("255.255.255.255")


@_overload("ip_is_link_local_multicast: (net.IP).isLinkLocalMulticast() -> bool")
def _is_link_local_multicast(ip: Ip) -> bool:
    return any(ip.address in network for network in _LINK_LOCAL_MULTICAST)


@_overload("ip_is_link_local_unicast: (net.IP).isLinkLocalUnicast() -> bool")
def _is_link_local_unicast(ip: Ip) -> bool:
    return ip.address.is_link_local


@_overload("ip_is_global_unicast: (net.IP).isGlobalUnicast() -> bool")
def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != _BROADCAST


@_overload("string_to_cidr: cidr(string) -> net.CIDR")
def _cidr(text: str) -> Cidr:
    return _parse_cidr(text)


@_overload("is_cidr: isCIDR(string) -> bool")
def _is_cidr(text: str) -> bool:
    try:
        _parse_cidr(text)
    except EvaluationError:
        return False
    return True


@_overload(
    "cidr_contains_ip_string: (net.CIDR).containsIP(string) -> bool",
    "cidr_contains_ip_ip: (net.CIDR).containsIP(net.IP) -> bool",
)
def _contains_ip(cidr: Cidr, other: Ip | str) -> bool:
    if isinstance(other, str):
        try:
            other = _parse_ip(other)
        except EvaluationError:
            raise no_such_overload() from None
    return cidr.contains(other.address)


@_overload(
    "cidr_contains_cidr_string: (net.CIDR).containsCIDR(string) -> bool",
    "cidr_contains_cidr: (net.CIDR).containsCIDR(net.CIDR) -> bool",
)
def _contains_cidr(cidr: Cidr, other: Cidr | str) -> bool:
    other = _parse_cidr(other) if isinstance(other, str) else other
    return cidr.bits <= other.bits and cidr.contains(other.address)


@_overload("cidr_ip: (net.CIDR).ip() -> net.IP")
def _cidr_ip(cidr: Cidr) -> Ip:
    return Ip(cidr.address)


@_overload("cidr_masked: (net.CIDR).masked() -> net.CIDR")
def _masked(cidr: Cidr) -> Cidr:
    return cidr.masked()


@_overload("cidr_prefix_length: (net.CIDR).prefixLength() -> int")
def _prefix_length(cidr: Cidr) -> int:
    return cidr.bits
