"""Predicates: select the changes of an object that trigger a reconcile.

A predicate receives a change and returns True or False. Predicates combine: `generation | labels`, `~created`, `a & b`.
The change that marks an object as being deleted passes every predicate, because a finalizer may depend on that change.
Comparing predicates always pass creations and deletions, which have no second state to compare.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from setpoint.cache.entry import CachedObject, Meta
from setpoint.cache.informer import Change
from setpoint.client.kinds import tree_of
from setpoint.client.selectors import LabelsArgument, labels_text
from setpoint.controller.difference import parse_path, value_at
from setpoint.objects import labels as label_selectors

_log = logging.getLogger(__name__)


class Predicate:
    """A test of a change. Combine predicates with `&`, `|` and `~`.

    ready = Predicate(lambda change: change.new is not None and is_ready(change.new.object))
    Watch("v1/ConfigMap", predicates=[generation | ready])
    """

    __slots__ = ("_test", "name")

    def __init__(self, test: Callable[[Change[Any]], bool], name: str = "") -> None:
        self._test = test
        self.name = name or getattr(test, "__name__", "predicate")

    def __call__(self, change: Change[Any]) -> bool:
        return self._test(change)

    def __and__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda change: self(change) and other(change), f"({self.name} & {other.name})")

    def __or__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda change: self(change) or other(change), f"({self.name} | {other.name})")

    def __invert__(self) -> "Predicate":
        return Predicate(lambda change: not self(change), f"~{self.name}")

    def __repr__(self) -> str:
        return f"<predicate {self.name}>"


def passes(predicates: tuple[Predicate, ...], change: Change[Any]) -> bool:
    """Returns True if a change passes all predicates. A predicate that raises lets the change pass."""
    if not predicates or _starts_termination(change):
        return True
    for predicate in predicates:
        try:
            if not predicate(change):
                return False
        except Exception:
            _log.exception("the predicate %s failed for %s; the change passes", predicate.name, change.held.meta.key)
    return True


def _starts_termination(change: Change[Any]) -> bool:
    """Returns True if the change sets the deletion timestamp of an object."""
    old, new = change.old, change.new
    return (
        new is not None
        and new.meta.deletion_timestamp is not None
        and (old is None or old.meta.deletion_timestamp is None or old.meta.uid != new.meta.uid)
    )


def _compared(differs: Callable[[CachedObject[Any], CachedObject[Any]], bool], name: str) -> Predicate:
    """Returns a predicate that compares the old state with the new one."""

    def test(change: Change[Any]) -> bool:
        if change.old is None or change.new is None:
            return True
        return change.old.meta.uid != change.new.meta.uid or differs(change.old, change.new)

    return Predicate(test, name)


def _by_metadata(read: Callable[[Meta], object], name: str) -> Predicate:
    return _compared(lambda old, new: read(old.meta) != read(new.meta), name)


# Passes changes of the spec, for kinds with a generation. Passes every change of other kinds.
generation = _compared(
    lambda old, new: new.meta.generation == 0 or old.meta.generation != new.meta.generation, "generation"
)
labels = _by_metadata(lambda meta: meta.labels or {}, "labels")
annotations = _compared(lambda old, new: old.annotations != new.annotations, "annotations")
# Passes every change except a resync.
resource_version = _by_metadata(lambda meta: meta.resource_version, "resource_version")

created = Predicate(lambda change: change.old is None, "created")
updated = Predicate(lambda change: change.old is not None and change.new is not None, "updated")
deleted = Predicate(lambda change: change.new is None, "deleted")


# Stands for every value, in `changed`.
ANY: Final = object()


def changed(*paths: str, old: object = ANY, new: object = ANY) -> Predicate:
    """Passes changes of the value at one of the paths.

    With `old` or `new`, passes only changes from or to that value, at one path. Each is a value, None for an absent
    one, or a function that tests a value. The value before a creation and after a deletion is absent.

        changed("spec", "metadata.annotations[example.com/owner]")
        changed("status.phase", new="Failed")
        changed("spec.size", old=lambda size: size is not None, new=lambda size: size > 10)
    """
    parsed = [parse_path(path) for path in paths]
    if not parsed:
        raise ValueError("changed() needs at least one path, e.g. `spec`")
    if old is not ANY or new is not ANY:
        if len(parsed) > 1:
            raise ValueError("changed() with old or new takes one path: combine predicates with `|`")
        return _transition(paths[0], old, new)

    def differs(old: CachedObject[Any], new: CachedObject[Any]) -> bool:
        before, after = tree_of(old.object), tree_of(new.object)
        return any(value_at(before, path) != value_at(after, path) for path in parsed)

    return _compared(differs, f"changed({', '.join(paths)})")


def _transition(path: str, old: object, new: object) -> Predicate:
    """Returns the predicate of a change from and to certain values."""
    parsed = parse_path(path)

    def value(entry: CachedObject[Any] | None) -> Any:
        return None if entry is None else value_at(tree_of(entry.object), parsed)

    def test(change: Change[Any]) -> bool:
        before, after = value(change.old), value(change.new)
        if change.old is not None and change.new is not None and change.old.meta.uid != change.new.meta.uid:
            before = None  # another object of the same name
        return before != after and _is_wanted(before, old) and _is_wanted(after, new)

    return Predicate(test, f"changed({path})")


def _is_wanted(value: object, wanted: object) -> bool:
    if wanted is ANY:
        return True
    return bool(wanted(value)) if callable(wanted) else bool(value == wanted)


def matching(selector: LabelsArgument) -> Predicate:
    """Passes changes of objects that match the labels before or after the change.

    Watch("v1/Secret", predicates=[matching({"app": "website"})])
    """
    matches = label_selectors.parse(labels_text(selector)).matches

    def test(change: Change[Any]) -> bool:
        return any(entry is not None and matches(entry.meta.labels) for entry in (change.new, change.old))

    return Predicate(test, f"matching({labels_text(selector)})")


def where(test: Callable[[Any], bool]) -> Predicate:
    """Passes changes of objects that pass a test in their last known state.

    Watch("v1/Pod", predicates=[where(lambda pod: pod["spec"].get("nodeName") == node)])
    """
    return Predicate(lambda change: test(change.held.object), getattr(test, "__name__", "where"))
