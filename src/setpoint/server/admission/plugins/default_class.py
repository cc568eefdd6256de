"""The classes that an administrator marked as the default of their kind: which of several counts."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Object


class Candidate(NamedTuple):
    """A class, when it was made, and whether it is marked as the default."""

    name: str
    created: str
    is_default: bool


def candidate(tree: Object, annotations: Sequence[str]) -> Candidate:
    """Reads a class; any of the annotations marks it."""
    found = meta.annotations(tree)
    marked = any(found.get(name) == "true" for name in annotations)
    return Candidate(meta.name(tree), tree["metadata"].get("creationTimestamp") or "", marked)


def default_of(classes: Iterable[Candidate]) -> str | None:
    """The name of the newest that is marked, and of those made at the same time the first by name."""
    marked = sorted((found for found in classes if found.is_default), key=lambda found: found.name)
    return max(marked, key=lambda found: found.created).name if marked else None
