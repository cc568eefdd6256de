"""Validation of references to other objects, and of domain-prefixed names."""

import re

from setpoint.objects.field import FieldError, child, invalid, required
from setpoint.objects.names import dns1123_subdomain, path_segment, qualified_name
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import wrong

_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH_PATTERN = re.compile(_PATH + r"\Z")
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_WILDCARD_WRONG = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def path_segments(tree: Object, path: str, *names: str) -> list[FieldError]:
    """Validates required fields that must be valid path segments."""
    found: list[FieldError] = []
    for name in names:
        value, place = tree.get(name) or "", child(path, name)
        found += wrong(place, value, path_segment(value)) if value else [required(place)]
    return found


def validate_local_reference(reference: Object, path: str) -> list[FieldError]:
    """Validates a reference to an object of any kind in the same namespace."""
    group = reference.get("apiGroup")
    found = [] if group is None else wrong(child(path, "apiGroup"), group, dns1123_subdomain(group))
    return found + path_segments(reference, path, "kind", "name")


def domain_prefixed_path(value: str, path: str) -> list[FieldError]:
    """Validates a name such as `example.com/controller`."""
    if not value:
        return [required(path)]
    host, slash, rest = value.partition("/")
    if not (host and slash and rest):
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = wrong(path, host, dns1123_subdomain(host))
    if not _PATH_PATTERN.match(rest):
        found.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')"))
    return found


def domain_prefixed_key(value: str, path: str) -> list[FieldError]:
    """Validates a key such as `example.com/key`."""
    if not value:
        return [required(path)]
    found = wrong(path, value, qualified_name(value))
    if found or "/" in value:
        return found
    return [invalid(path, value, 'must be a domain-prefixed key (such as "acme.io/foo")')]


def host_or_wildcard(value: str, path: str) -> list[FieldError]:
    """Validates a host name, or `*.` with a domain."""
    if "*" not in value:
        return wrong(path, value, dns1123_subdomain(value))
    found = []
    if len(value) > 253:
        found.append(invalid(path, value, "must be no more than 253 bytes"))
    return found if _WILDCARD.match(value) else [*found, invalid(path, value, _WILDCARD_WRONG)]
