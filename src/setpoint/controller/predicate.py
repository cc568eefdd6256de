"""Predicates: which changes of an object are worth a reconcile.

A predicate looks at a change and says yes or no. They combine: `generation | labels`, `~created`, `a & b`. A change
that says that an object is to be deleted passes every predicate: nobody may miss it, for a finalizer waits on it. What
comes and what goes passes those that compare, for there is nothing to compare with.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from setpoint.cache.entry import Held, Meta
from setpoint.cache.informer import Change
from setpoint.client.kinds import tree_of
from setpoint.client.selectors import LabelsArgument, labels_text
from setpoint.controller.difference import parse_path, value_at
from setpoint.objects import labels as label_selectors
from setpoint.schema.types.resource import Resource

_log = logging.getLogger(__name__)


class Predicate:
    """A question about a change. Make one of any function: `Predicate(lambda change: ...)`."""

    __slots__ = ("_asks", "name")

    def __init__(self, asks: Callable[[Change[Any]], bool], name: str = "") -> None:
        self._asks = asks
        self.name = name or getattr(asks, "__name__", "predicate")

    def __call__(self, change: Change[Any]) -> bool:
        return self._asks(change)

    def __and__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda change: self(change) and other(change), f"({self.name} & {other.name})")

    def __or__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda change: self(change) or other(change), f"({self.name} | {other.name})")

    def __invert__(self) -> "Predicate":
        return Predicate(lambda change: not self(change), f"~{self.name}")

    def __repr__(self) -> str:
        return f"<predicate {self.name}>"


def passes(predicates: tuple[Predicate, ...], change: Change[Any]) -> bool:
    """Whether a change passes all predicates. One that fails lets it pass: a reconcile too many harms nobody."""
    if not predicates or _begins_to_go(change):
        return True
    for predicate in predicates:
        try:
            if not predicate(change):
                return False
        except Exception:
            _log.exception("the predicate %s failed at %s; the change counts", predicate.name, change.held.meta.key)
    return True


def _begins_to_go(change: Change[Any]) -> bool:
    """Whether this is the change by which an object is to be deleted."""
    old, new = change.old, change.new
    return (
        new is not None
        and new.meta.deletion_timestamp is not None
        and (old is None or old.meta.deletion_timestamp is None or old.meta.uid != new.meta.uid)
    )


def _compared(differs: Callable[[Held[Any], Held[Any]], bool], name: str) -> Predicate:
    """A predicate that compares what was with what is."""

    def asks(change: Change[Any]) -> bool:
        if change.old is None or change.new is None:
            return True
        return change.old.meta.uid != change.new.meta.uid or differs(change.old, change.new)

    return Predicate(asks, name)


def annotations_of(held: Held[Any]) -> Mapping[str, str]:
    """The annotations of an object, in whichever form it is held."""
    found: Any = held.object
    if isinstance(found, Resource):
        return found.metadata.annotations or {}
    return found.get("metadata", {}).get("annotations") or {}


def _by_metadata(read: Callable[[Meta], object], name: str) -> Predicate:
    return _compared(lambda old, new: read(old.meta) != read(new.meta), name)


# The spec changed, for kinds that count that. Of kinds that do not, every change passes.
generation = _compared(
    lambda old, new: new.meta.generation == 0 or old.meta.generation != new.meta.generation, "generation"
)
labels = _by_metadata(lambda meta: meta.labels or {}, "labels")
annotations = _compared(lambda old, new: annotations_of(old) != annotations_of(new), "annotations")
# Everything but a resync.
resource_version = _by_metadata(lambda meta: meta.resource_version, "resource_version")

created = Predicate(lambda change: change.old is None, "created")
updated = Predicate(lambda change: change.old is not None and change.new is not None, "updated")
deleted = Predicate(lambda change: change.new is None, "deleted")


def changed(*paths: str) -> Predicate:
    """Something changed at one of these paths: `changed("spec", "metadata.annotations[example.com/owner]")`."""
    parsed = [parse_path(path) for path in paths]
    if not parsed:
        raise ValueError("which paths? Name at least one, such as `spec`")

    def differs(old: Held[Any], new: Held[Any]) -> bool:
        before, after = tree_of(old.object), tree_of(new.object)
        return any(value_at(before, path) != value_at(after, path) for path in parsed)

    return _compared(differs, f"changed({', '.join(paths)})")


def matching(selector: LabelsArgument) -> Predicate:
    """The object has these labels, or had them before the change."""
    matches = label_selectors.parse(labels_text(selector)).matches

    def asks(change: Change[Any]) -> bool:
        return any(held is not None and matches(held.meta.labels) for held in (change.new, change.old))

    return Predicate(asks, f"matching({labels_text(selector)})")


def where(test: Callable[[Any], bool]) -> Predicate:
    """A test of the object, as it is or was last."""
    return Predicate(lambda change: test(change.held.object), getattr(test, "__name__", "where"))
