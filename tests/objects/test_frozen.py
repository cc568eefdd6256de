"""Frozen trees read like any other, refuse every change, and thaw into copies of one's own."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.frozen import FrozenDict, FrozenList, freeze, is_frozen, thaw

trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def _frozen() -> Any:
    return freeze({"a": {"b": [1, {"c": 2}]}, "empty": {}, "none": []})


CHANGES: dict[str, Callable[[Any], Any]] = {
    "set an entry": lambda tree: tree.__setitem__("a", 1),
    "delete an entry": lambda tree: tree.__delitem__("a"),
    "update": lambda tree: tree.update(a=1),
    "merge in place": lambda tree: tree.__ior__({"a": 1}),
    "pop": lambda tree: tree.pop("a"),
    "popitem": lambda tree: tree.popitem(),
    "clear": lambda tree: tree.clear(),
    "setdefault": lambda tree: tree.setdefault("new", 1),
    "set an entry below": lambda tree: tree["a"].__setitem__("b", 1),
    "set an empty map": lambda tree: tree["empty"].__setitem__("b", 1),
    "append to an empty list": lambda tree: tree["none"].append(1),
    "append": lambda tree: tree["a"]["b"].append(1),
    "extend": lambda tree: tree["a"]["b"].extend([1]),
    "add in place": lambda tree: tree["a"]["b"].__iadd__([1]),
    "multiply in place": lambda tree: tree["a"]["b"].__imul__(2),
    "insert": lambda tree: tree["a"]["b"].insert(0, 1),
    "set an item": lambda tree: tree["a"]["b"].__setitem__(0, 1),
    "set a slice": lambda tree: tree["a"]["b"].__setitem__(slice(0, 1), []),
    "delete an item": lambda tree: tree["a"]["b"].__delitem__(0),
    "pop an item": lambda tree: tree["a"]["b"].pop(),
    "remove an item": lambda tree: tree["a"]["b"].remove(1),
    "clear a list": lambda tree: tree["a"]["b"].clear(),
    "sort": lambda tree: tree["a"]["b"].sort(),
    "reverse": lambda tree: tree["a"]["b"].reverse(),
    "set an entry in a list": lambda tree: tree["a"]["b"][1].__setitem__("c", 3),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_refused_with_the_remedy(change: Callable[[Any], Any]) -> None:
    tree = _frozen()
    with pytest.raises(TypeError, match=r"change a copy \(thaw"):
        change(tree)
    assert tree == _frozen()


def test_every_way_to_change_a_dict_or_a_list_is_known() -> None:
    reading = {"copy", "fromkeys", "get", "items", "keys", "values", "count", "index"}
    for kind, plain in ((FrozenDict, dict), (FrozenList, list)):
        methods = {name for name in vars(plain) if not name.startswith("__")} - reading
        assert all(getattr(kind, name) is not getattr(plain, name) for name in methods)


@given(trees)
def test_a_frozen_tree_reads_like_the_tree_and_thaws_into_a_copy(tree: Any) -> None:
    frozen = freeze(tree)
    assert frozen == tree
    assert freeze(frozen) is frozen or not isinstance(tree, dict | list)
    assert json.dumps(frozen) == json.dumps(tree)
    assert msgspec.json.encode(frozen) == msgspec.json.encode(tree)
    for thawed in (thaw(frozen), copy.deepcopy(frozen)):
        assert thawed == tree
        assert type(thawed) is type(tree)
        assert not is_frozen(thawed)
    unpickled = pickle.loads(pickle.dumps(frozen))
    assert unpickled == tree
    assert is_frozen(unpickled) == is_frozen(frozen)


def test_a_shallow_copy_may_be_changed_and_its_parts_may_not() -> None:
    tree = _frozen()
    for made in (tree.copy(), copy.copy(tree), {**tree}, tree | {}):
        made["x"] = 1
        with pytest.raises(TypeError):
            made["a"]["b"] = 1
    items = tree["a"]["b"]
    for listed in (items.copy(), copy.copy(items), items[:], [*items], items * 1):
        listed.append(1)
    assert tree == _frozen()


def test_empty_parts_are_shared() -> None:
    first, second = freeze({"a": [], "b": {}}), freeze({"c": [], "d": {}})
    assert first["a"] is second["c"]
    assert first["b"] is second["d"]
