"""Selects the default among the classes that administrators marked as default."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Object


class Candidate(NamedTuple):
    """A class, its creation time, and its default mark."""

    name: str
    created: str
    is_default: bool


def candidate(tree: Object, annotations: Sequence[str]) -> Candidate:
    """Reads a class; any of the annotations marks the class as default."""
    found = meta.annotations(tree)
    marked = any(found.get(name) == "true" for name in annotations)
    return Candidate(meta.name(tree), tree["metadata"].get("creationTimestamp") or "", marked)


def default_of(classes: Iterable[Candidate]) -> str | None:
    """Returns the name of the newest marked class, and the first by name of those created at the same time. Returns
    None if no class is marked."""
    marked = sorted((found for found in classes if found.is_default), key=lambda found: found.name)
    return max(marked, key=lambda found: found.created).name if marked else None
