"""What a revision changed, field by field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.past.change import compare

_KEYS = st.sampled_from(["a", "b", "spec", "status", "name", "x.y/z"])
_VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "p", "q"])
_TREES: Any = st.recursive(
    _VALUES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_KEYS, below, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_KEYS, _TREES, max_size=4)


@given(_OBJECTS)
def test_nothing_differs_from_itself(tree: dict[str, Any]) -> None:
    assert compare(tree, tree) == ()


@given(_OBJECTS, _OBJECTS)
def test_what_differs_is_found_and_what_is_found_differs(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert bool(compare(old, new)) == (not _same(old, new))


def _same(old: Any, new: Any) -> bool:
    """As JSON, where 1 is not true."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        if len(old) == len(new) and all(_same(*pair) for pair in zip(old, new, strict=True)):
            return True
        # Items with names are the same wherever they stand.
        return not compare({"l": old}, {"l": new}) and sorted(map(repr, old)) == sorted(map(repr, new))
    return type(old) is type(new) and old == new


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}, ["spec.replicas 1→2"]),
        ({"data": {}}, {"data": {"k": "v"}}, ["data.k set to v"]),
        ({"data": {"k": "v"}}, {"data": {}}, ["data.k removed"]),
        ({"data": {"a.b/c": "1"}}, {"data": {"a.b/c": "2"}}, ["data[a.b/c] 1→2"]),
        ({"spec": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}},
         {"spec": {"env": [{"name": "B", "value": "3"}, {"name": "A", "value": "1"}]}}, ["spec.env[B].value 2→3"]),
        ({"spec": {"args": ["a"]}}, {"spec": {"args": ["a", "b"]}}, ["spec.args [a]→[a, b]"]),
        ({"status": {}}, {"status": {"state": "On", "pid": 7}}, ["status.state set to On", "status.pid set to 7"]),
        ({"spec": {"on": True}}, {"spec": {"on": False}}, ["spec.on true→false"]),
    ],
)  # fmt: skip
def test_changes_read_as_sentences(old: Any, new: Any, told: list[str]) -> None:
    assert [str(change) for change in compare(old, new)] == told


def _conditions(**condition: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Ready", **condition}]}}


def test_a_condition_is_one_fact_and_its_message_and_time_are_noise() -> None:
    old = _conditions(status="False", reason="Starting", message="soon", lastTransitionTime="1")
    new = _conditions(status="True", reason="Running", message="it runs", lastTransitionTime="2")
    telling, *noise = compare(old, new)
    assert str(telling) == "status.conditions[Ready] False (Starting)→True (Running)"
    assert all(change.noise for change in noise)


def test_a_message_that_changes_alone_is_told() -> None:
    old, new = (_conditions(status="False", reason="Waiting", message=text) for text in ("for a", "for b"))
    assert [str(change) for change in compare(old, new)] == ["status.conditions[Ready].message for a→for b"]
    assert not compare(old, new)[0].noise


def test_who_manages_fields_and_which_revision_it_is_are_no_changes() -> None:
    old = {"metadata": {"resourceVersion": "1", "generation": 1, "managedFields": []}}
    new = {"metadata": {"resourceVersion": "2", "generation": 2, "managedFields": [{"manager": "m"}]}}
    assert compare(old, new) == ()
