"""Comparing resourceVersions: as numbers where they are numbers, and not at all where they are not."""


def number(resource_version: str) -> int | None:
    """The number that a resourceVersion is; None for what cannot be compared."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdecimal() else None
