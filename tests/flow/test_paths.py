"""Paths of rules into a tree of any shape."""

from typing import Any

import pytest

from setpoint.flow.paths import Path, PathError, path

TREE: dict[str, Any] = {
    "spec": {
        "volumes": [{"name": "a", "secret": {"n": "s1"}}, {"name": "b"}, 5, None],
        "a/b": 1,
        "x-y": 2,
        "none": None,
    },
    "map": {"one": {"v": 1}, "two": {"v": 2}},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec.volumes[*].name", ["a", "b"]),
        ("spec.volumes[*].secret.n", ["s1"]),
        ("spec.volumes[*]", [TREE["spec"]["volumes"][0], {"name": "b"}, 5]),
        ("spec['a/b']", [1]),
        ("spec.x-y", [2]),
        ("map[*].v", [1, 2]),
        ("spec.none", []),
        ("spec.missing", []),
        ("spec.volumes.name", []),
        ("spec.volumes[*].name.deeper", []),
        ("", [TREE]),
    ],
)
def test_all_values_at_a_path_are_found(text: str, expected: list[Any]) -> None:
    assert Path(text).find(TREE) == expected
    assert path(text).find(TREE) == expected
    assert Path(text).text == text


@pytest.mark.parametrize("tree", [None, 5, "x", [], {}])
def test_a_tree_of_another_shape_has_no_value(tree: Any) -> None:
    assert Path("spec.volumes[*].name").find(tree) == []
    assert Path("spec.name").text_at(tree) == ""


def test_the_text_at_a_path_is_its_first_string() -> None:
    tree = {"items": [5, "", {"x": 1}, "first", "second"]}
    assert Path("items[*]").text_at(tree) == "first"
    assert Path("items").text_at(tree) == ""


@pytest.mark.parametrize("text", ["spec.", "spec[", "spec[0]", "spec['a", "1a", "spec..a", "spec a"])
def test_an_invalid_path_is_refused(text: str) -> None:
    with pytest.raises(PathError, match=r"invalid path .*: expected e\.g\. spec\.volumes"):
        Path(text)


def test_paths_are_compiled_once() -> None:
    assert path("spec.once") is path("spec.once")
