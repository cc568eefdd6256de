"""Where two versions of an object differ, and the paths that say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.controller.difference import MOST_PATHS, changed_paths, parse_path, value_at

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc./", min_size=1, max_size=3), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 2}}, ("spec.a",)),
        ({"spec": {"a": 1}}, {"spec": {}}, ("spec.a",)),
        ({"spec": {}}, {"spec": {"a": None}}, ("spec.a",)),
        ({"a": True}, {"a": 1}, ("a",)),
        ({"l": [1, 2]}, {"l": [1, 3]}, ("l[1]",)),
        ({"l": [1, 2]}, {"l": [1]}, ("l",)),
        (
            {"status": {"conditions": [{"type": "Ready", "reason": "A"}]}},
            {"status": {"conditions": [{"type": "Ready", "reason": "B"}]}},
            ("status.conditions[Ready].reason",),
        ),
        ({"c": [{"name": "x", "v": 1}]}, {"c": [{"name": "y", "v": 1}]}, ("c[0].name",)),
        (
            {"metadata": {"annotations": {"example.com/a": "1"}}},
            {"metadata": {"annotations": {"example.com/a": "2"}}},
            ("metadata.annotations[example.com/a]",),
        ),
        (
            {"metadata": {"resourceVersion": "1", "generation": 1, "managedFields": []}},
            {"metadata": {"resourceVersion": "2", "generation": 2, "managedFields": [{}]}},
            (),
        ),
    ],
)
def test_what_differs_is_named_by_its_path(old: dict, new: dict, paths: tuple[str, ...]) -> None:  # type: ignore[type-arg]
    assert changed_paths(old, new) == paths


def test_of_very_many_differences_the_first_are_told() -> None:
    found = changed_paths({}, {str(number): number for number in range(100)})
    assert found == tuple(map(str, range(MOST_PATHS)))


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), TREES), st.dictionaries(st.sampled_from(["a", "b", "c"]), TREES)
)
def test_nothing_is_told_of_equal_trees_and_something_of_others(old: dict, new: dict) -> None:  # type: ignore[type-arg]
    assert changed_paths(old, old) == ()
    assert bool(changed_paths(old, new)) or old == new


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("spec.replicas", ("spec", "replicas")),
        (".spec.replicas", ("spec", "replicas")),
        ("metadata.annotations[example.com/a].b", ("metadata", "annotations", "example.com/a", "b")),
        ("a[0].b", ("a", "0", "b")),
    ],
)
def test_a_path_has_steps(text: str, steps: tuple[str, ...]) -> None:
    assert parse_path(text) == steps


@pytest.mark.parametrize("text", ["", ".", "a..b", "a[b", "a[]"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_path(text)


def test_a_path_leads_into_maps_and_lists_and_to_nothing_beyond() -> None:
    tree = {"a": [{"b": 1}]}
    assert value_at(tree, ("a", "0", "b")) == 1
    assert value_at(tree, ("a", "1", "b")) is None
    assert value_at(tree, ("a", "b")) is None
