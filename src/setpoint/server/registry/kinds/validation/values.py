"""Rules for single values that fields of many kinds share: ports, addresses, paths, amounts.

Each function takes a value and its path and returns the errors. Messages are those of the API.
"""

import ipaddress
import re
from collections.abc import Collection, Iterable

from setpoint.objects.field import FieldError, child, invalid, not_supported, required
from setpoint.objects.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.objects.quantity import Quantity
from setpoint.objects.sorted_json import encode_sorted
from setpoint.objects.tree import Json, Object
from setpoint.schema.formats.network import is_cidr, is_ipv4, is_ipv6

INT32_MAX = 2**31 - 1
IMMUTABLE = "field is immutable"
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
PROTOCOLS = ("SCTP", "TCP", "UDP")

_PORT_NAME = re.compile(r"[-a-z0-9]+\Z")
_LETTER = re.compile(r"[a-z]")
_HEADER_NAME = re.compile(r"[-A-Za-z0-9]+\Z")
_HEADER_NAME_WRONG = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
_ENV_NAME_WRONG = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_UNDERSCORED = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_UNDERSCORED_NAME = re.compile(_UNDERSCORED + r"\Z")
_UNDERSCORED_WRONG = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_UNDERSCORED}')"
)


def wrong(path: str, value: Json, messages: Iterable[str]) -> list[FieldError]:
    """Returns one error per message."""
    return [invalid(path, value, message) for message in messages]


# --- names ---


def label(value: str, path: str) -> list[FieldError]:
    return wrong(path, value, dns1123_label(value))


def subdomain(value: str, path: str) -> list[FieldError]:
    return wrong(path, value, dns1123_subdomain(value))


def qualified(value: str, path: str) -> list[FieldError]:
    return wrong(path, value, qualified_name(value))


def underscored_subdomain(value: str, path: str) -> list[FieldError]:
    """Validates a subdomain that may contain underscores, as in DNS search paths."""
    found = wrong(path, value, ("must be no more than 253 characters",)) if len(value) > 253 else []
    return found if _UNDERSCORED_NAME.match(value) else [*found, invalid(path, value, _UNDERSCORED_WRONG)]


def env_name(value: str, path: str) -> list[FieldError]:
    """Validates the name of an environment variable: printable ASCII except `=`."""
    if value.isascii() and value.isprintable() and "=" not in value:
        return []
    return [invalid(path, value, _ENV_NAME_WRONG)]


def header_name(value: str, path: str) -> list[FieldError]:
    return [] if _HEADER_NAME.match(value) else [invalid(path, value, _HEADER_NAME_WRONG)]


def enum(value: str, path: str, supported: Collection[str], *, needed: bool = True) -> list[FieldError]:
    """Validates that a value is supported. An empty value is reported as missing if `needed`."""
    if value in supported:
        return []
    return [not_supported(path, value, supported) if value or not needed else required(path)]


# --- numbers ---


def in_range(value: int, path: str, low: int, high: int) -> list[FieldError]:
    return [] if low <= value <= high else [invalid(path, value, f"must be between {low} and {high}, inclusive")]


def port(value: int, path: str) -> list[FieldError]:
    return in_range(value, path, 1, 65535)


def port_name(value: str) -> list[str]:
    """Returns the errors of the name of a port."""
    found = []
    if len(value) > 15:
        found.append("must be no more than 15 characters")
    if not _PORT_NAME.match(value):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LETTER.search(value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def port_or_name(value: int | str, path: str) -> list[FieldError]:
    return wrong(path, value, port_name(value)) if type(value) is str else port(int(value), path)


def non_negative(value: int, path: str) -> list[FieldError]:
    return [] if value >= 0 else [invalid(path, value, "must be greater than or equal to 0")]


def non_negative_fields(tree: Object, path: str, *names: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in names:
        value = tree.get(name)
        if value is not None and value < 0:
            found += non_negative(value, child(path, name))
    return found


def positive(value: int, path: str) -> list[FieldError]:
    return [] if value > 0 else [invalid(path, value, "must be greater than zero")]


def file_mode(tree: Object, path: str, name: str = "defaultMode") -> list[FieldError]:
    mode = tree.get(name)
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(child(path, name), mode, FILE_MODE)]


# --- amounts ---


def amount(value: Json) -> Quantity:
    """Returns a quantity of a normalized tree."""
    return Quantity.parse(str(value))


def non_negative_amount(value: Json, path: str) -> list[FieldError]:
    return [invalid(path, str(value), "must be greater than or equal to 0")] if amount(value).sign < 0 else []


def positive_amount(value: Json, path: str) -> list[FieldError]:
    return [] if amount(value).sign > 0 else [invalid(path, str(value), "must be greater than zero")]


# --- addresses ---


def parse_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Returns the address, or None if the text is not an address. Leading zeros are invalid."""
    try:
        return None if "%" in value else ipaddress.ip_address(value)
    except ValueError:
        return None


def ip(value: str, path: str) -> list[FieldError]:
    """Validates an address by the rules of older fields, which allow leading zeros."""
    if is_ipv4(value) or is_ipv6(value):
        return []
    return [invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]


def cidr(value: str, path: str) -> list[FieldError]:
    if is_cidr(value):
        return []
    return [invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]


def non_special_ip(value: str, path: str) -> list[FieldError]:
    """Validates that an address is reachable from other hosts."""
    found = parse_ip(value)
    if found is None:
        return [] if is_ipv4(value) else ip(value, path)
    errors = []
    if found.is_unspecified:
        errors.append(invalid(path, value, f"may not be unspecified ({value})"))
    if found.is_loopback:
        errors.append(invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if found.is_link_local:
        errors.append(invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if found.is_multicast and (found.version == 6 or found in _LINK_LOCAL_MULTICAST):
        errors.append(invalid(path, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
    return errors


_LINK_LOCAL_MULTICAST = ipaddress.ip_network("224.0.0.0/24")


# --- paths of files ---


def no_backsteps(value: str, path: str) -> list[FieldError]:
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def descending_path(value: str, path: str) -> list[FieldError]:
    """Validates a relative path without backsteps."""
    found = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return found + no_backsteps(value, path)


def local_path(value: str, path: str) -> list[FieldError]:
    """Validates a relative path whose first part is not reserved."""
    found = descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        found.append(invalid(path, value, "must not start with '..'"))
    return found


# --- changes ---


def put(tree: Object, name: str, value: Json) -> None:
    """Sets a field, or removes the field if the value is None."""
    if value is None:
        tree.pop(name, None)
    else:
        tree[name] = value


def immutable(new: Json, old: Json, path: str) -> list[FieldError]:
    return [] if new == old else [invalid(path, new, IMMUTABLE)]


def repeats(values: Iterable[Json]) -> list[bool]:
    """Returns for each value True if an equal one precedes it. Takes linear time, because a list may have very many
    values."""
    seen: set[Json] = set()
    found = []
    for value in values:
        key = value if type(value) is str else encode_sorted(value)
        found.append(key in seen)
        seen.add(key)
    return found
