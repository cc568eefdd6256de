"""The order of keys in a patched document: sorted where a path of the patch leads, unchanged elsewhere."""

from typing import Any

import pytest

from setpoint.merge import jsonpatch
from setpoint.objects.tree import Object

DOCUMENT: Object = {"z": {"d": 1, "c": {"y": 1, "x": 2}}, "b": [{"f": 1, "e": 2}], "a": {"h": 1, "g": 2}}


def keys(value: Any) -> Any:
    if isinstance(value, dict):
        return [(name, keys(item)) for name, item in value.items()]
    return [keys(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([], DOCUMENT),
        (
            [{"op": "replace", "path": "/z/d", "value": 3}],
            {"a": {"h": 1, "g": 2}, "b": [{"f": 1, "e": 2}], "z": {"c": {"y": 1, "x": 2}, "d": 3}},
        ),
        (
            [{"op": "add", "path": "/b/0/a", "value": {"n": 1, "m": 2}}],
            {"a": {"h": 1, "g": 2}, "b": [{"a": {"n": 1, "m": 2}, "e": 2, "f": 1}], "z": DOCUMENT["z"]},
        ),
        (
            [{"op": "remove", "path": "/z"}],
            {"a": {"h": 1, "g": 2}, "b": [{"f": 1, "e": 2}]},
        ),
    ],
)
def test_containers_on_the_path_are_sorted(patch: list[Object], expected: Object) -> None:
    operations = jsonpatch.decode(patch, strict=False)
    found = jsonpatch.apply_in_order(DOCUMENT, operations)
    assert keys(found) == keys(expected)
    assert found == jsonpatch.apply(DOCUMENT, operations)
    assert list(DOCUMENT) == ["z", "b", "a"], "the given document stays the same"
