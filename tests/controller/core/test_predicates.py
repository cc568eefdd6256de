"""Predicates: which changes count."""

from typing import Any

import msgspec
import pytest

from setpoint.cache.informer import Change
from setpoint.controller import predicate
from setpoint.controller.predicate import Predicate, passes
from setpoint.objects.frozen import freeze
from setpoint.objects.tree import Object

BASE: Object = {
    "apiVersion": "v1",
    "kind": "Thing",
    "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1},
    "spec": {"a": 1},
}


class Held:
    """An object as a cache holds it, as far as predicates look."""

    def __init__(self, tree: Object) -> None:
        from setpoint.cache.entry import Meta

        self.meta = msgspec.convert(tree["metadata"], Meta)
        self.object = freeze(tree)
        self.annotations = tree["metadata"].get("annotations") or {}


def version(**changes: Any) -> Any:
    """The object with other metadata, or with another spec or status."""
    metadata = {name: value for name, value in changes.items() if name not in ("spec", "status")}
    rest = {name: value for name, value in changes.items() if name in ("spec", "status")}
    return Held({**BASE, "metadata": {**BASE["metadata"], "resourceVersion": "2", **metadata}, **rest})


def update(**changes: Any) -> Change[Any]:
    return Change(version(resourceVersion="1"), version(**changes))


@pytest.mark.feature("E14")
@pytest.mark.parametrize(
    ("asked", "change", "passed"),
    [
        (predicate.generation, update(generation=2, spec={"a": 2}), True),
        (predicate.generation, update(status={"x": 1}), False),
        (predicate.generation, update(labels={"a": "b"}), False),
        (predicate.generation, update(uid="v"), True),
        (predicate.generation, Change(version(generation=0), version(generation=0, labels={"a": "b"})), True),
        (predicate.labels, update(labels={"a": "b"}), True),
        (predicate.labels, update(labels={}), False),
        (predicate.labels, update(annotations={"a": "b"}), False),
        (predicate.annotations, update(annotations={"a": "b"}), True),
        (predicate.annotations, update(labels={"a": "b"}), False),
        (predicate.resource_version, update(), True),
        (predicate.resource_version, update(resourceVersion="1"), False),
        (predicate.changed("spec.a", "status.x"), update(spec={"a": 2}), True),
        (predicate.changed("spec.a", "status.x"), update(status={"x": 1}), True),
        (predicate.changed("spec.a", "status.x"), update(status={"y": 1}), False),
        (predicate.changed("metadata.annotations[a/b]"), update(annotations={"a/b": "1"}), True),
        (predicate.matching("app=x"), update(labels={"app": "x"}), True),
        (predicate.matching("app=x"), Change(version(labels={"app": "x"}), version()), True),
        (predicate.matching("app=x"), update(labels={"app": "y"}), False),
        (predicate.created, update(), False),
        (predicate.updated, update(), True),
        (predicate.where(lambda tree: tree["spec"]["a"] == 1), update(), True),
        (predicate.where(lambda tree: tree["spec"]["a"] == 2), update(), False),
    ],
)
def test_a_predicate_passes_what_it_asks_for(asked: Predicate, change: Change[Any], passed: bool) -> None:
    assert passes((asked,), change) is passed


COMPARING = [
    predicate.generation,
    predicate.labels,
    predicate.annotations,
    predicate.resource_version,
    predicate.changed("spec"),
]


@pytest.mark.parametrize("asked", COMPARING)
def test_what_comes_and_what_goes_passes_whatever_compares(asked: Predicate) -> None:
    assert passes((asked,), Change(None, version()))
    assert passes((asked,), Change(version(), None))


@pytest.mark.parametrize("asked", [*COMPARING, predicate.created, predicate.matching("app=x"), ~predicate.updated])
def test_the_change_by_which_an_object_is_to_be_deleted_passes_all(asked: Predicate) -> None:
    assert passes((asked,), update(deletionTimestamp="2026-01-01T00:00:00Z"))


@pytest.mark.feature("E14")
def test_predicates_combine() -> None:
    both = predicate.labels & predicate.annotations
    either = predicate.labels | predicate.annotations
    change = update(labels={"a": "b"})
    assert (passes((both,), change), passes((either,), change), passes((~either,), change)) == (False, True, False)
    assert passes((predicate.labels, predicate.annotations), change) is False


def test_a_predicate_that_fails_lets_the_change_count(caplog: pytest.LogCaptureFixture) -> None:
    def broken(change: Change[Any]) -> bool:
        raise RuntimeError("no")

    assert passes((Predicate(broken),), update())
    assert "the predicate broken failed for n/a" in caplog.text


def test_a_predicate_without_paths_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="needs at least one path"):
        predicate.changed()


@pytest.mark.parametrize(
    ("asked", "change", "passed"),
    [
        (predicate.changed("spec.a", new=2), update(spec={"a": 2}), True),
        (predicate.changed("spec.a", new=2), update(spec={"a": 3}), False),
        (predicate.changed("spec.a", new=1), update(spec={"a": 1}), False),  # no change
        (predicate.changed("spec.a", old=1, new=2), update(spec={"a": 2}), True),
        (predicate.changed("spec.a", old=5, new=2), update(spec={"a": 2}), False),
        (predicate.changed("spec.a", new=None), update(spec={}), True),
        (predicate.changed("spec.a", old=None), update(spec={"a": 2}), False),
        (predicate.changed("spec.a", old=None, new=1), Change(None, version()), True),
        (predicate.changed("spec.a", old=None, new=1), update(uid="v"), True),  # another object of the same name
        (predicate.changed("spec.a", new=None), Change(version(), None), True),
        (predicate.changed("spec.a", new=lambda value: value > 10), update(spec={"a": 11}), True),
        (predicate.changed("spec.a", new=lambda value: value > 10), update(spec={"a": 10}), False),
        (predicate.changed("spec.a", old=lambda value: value == 1), update(spec={"a": 10}), True),
    ],
)
def test_a_change_from_and_to_certain_values_passes(asked: Predicate, change: Change[Any], passed: bool) -> None:
    assert passes((asked,), change) is passed


def test_values_belong_to_one_path() -> None:
    with pytest.raises(ValueError, match="takes one path"):
        predicate.changed("spec.a", "spec.b", new=1)
