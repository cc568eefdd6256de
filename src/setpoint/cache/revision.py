"""Compares resource versions: as numbers if they are numbers, otherwise not at all."""


def number(resource_version: str) -> int | None:
    """Returns the resource version as a number, or None if it cannot be compared."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdecimal() else None
