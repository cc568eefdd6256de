"""Warnings about valid but non-canonical addresses and CIDRs."""

import ipaddress

from setpoint.objects.gotext import quote
from setpoint.schema.formats.network import is_cidr, is_ipv4, is_ipv6

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def ip_warnings(value: str, path: str) -> list[str]:
    """Returns the warnings about an address."""
    address = _sloppy(value)
    if address is None:
        return []
    if not _is_standard(value):
        return [f"{path}: non-standard IP address {quote(value)} is invalid: use {quote(str(address))}"]
    if address.version == 6 and str(address) != value:
        shown = f"({quote(str(address))})"
        return [f"{path}: IPv6 address {quote(value)} should be in RFC 5952 canonical format {shown}"]
    return []


def cidr_warnings(value: str, path: str) -> list[str]:
    """Returns the warnings about a CIDR."""
    if not is_cidr(value):
        return []
    text, _, length = value.partition("/")
    address = _sloppy(text)
    bits = int(length)
    if address is None:
        return []
    if address.version == 4 and ":" in text:
        bits = max(bits - 96, 0)
    network = ipaddress.ip_network((address, bits), strict=False)
    found = []
    if network.network_address != address:
        single = f"{address}/{address.max_prefixlen}"
        found.append(
            f"{path}: CIDR value {quote(value)} is ambiguous in this context "
            f"(should be {quote(str(network))} or {quote(single)}?)"
        )
    if not _is_standard(text) or (length.startswith("0") and length != "0"):
        found.append(f"{path}: non-standard CIDR value {quote(value)} is invalid: use {quote(str(network))}")
    if not found and address.version == 6 and str(network) != value:
        shown = f"({quote(str(network))})"
        found.append(f"{path}: IPv6 CIDR value {quote(value)} should be in RFC 5952 canonical format {shown}")
    return found


def _sloppy(value: str) -> _Address | None:
    """Returns the address as older parsers read the text: leading zeros are ignored, and mapped addresses are IPv4."""
    if is_ipv4(value) and ":" not in value:
        return ipaddress.IPv4Address(".".join(str(int(part)) for part in value.split(".")))
    if not (is_ipv4(value) or is_ipv6(value)):
        return None
    try:
        address = ipaddress.IPv6Address(value)
    except ValueError:
        return None
    return address.ipv4_mapped or address


def _is_standard(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return not isinstance(address, ipaddress.IPv6Address) or address.ipv4_mapped is None
