"""Merging takes linear time: four times as many managers, keys or items cost about four times the CPU, not sixteen."""

from collections.abc import Callable

import pytest
from tests.turns import growth

from setpoint.merge import fieldset
from setpoint.merge.fieldmanager import FieldManager
from setpoint.merge.types import Types
from setpoint.objects.clock import SystemClock
from setpoint.objects.owners import remove_duplicates
from setpoint.objects.sorted_json import encode_sorted, in_order
from setpoint.objects.tree import Object
from setpoint.schema import builtin

pytestmark = pytest.mark.slow

# Between linear (4) and quadratic (16).
LIMIT = 9.0


def field_manager() -> FieldManager:
    types = {"v1": Types(builtin.definition).definition("io.k8s.api.core.v1.ConfigMap")}
    return FieldManager(api_version="v1", kind="ConfigMap", types=types, clock=SystemClock())


def config_map(data: Object, *entries: Object) -> Object:
    metadata = {"name": "one", "namespace": "default", "managedFields": list(entries)}
    if not entries:
        del metadata["managedFields"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def entry(manager: str, operation: str, *keys: str) -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {f"f:{key}": {} for key in keys}},
    }


def owned(size: int, operation: str) -> Object:
    """An object with a manager for each key, and one that applied all of them."""
    keys = [f"k{number}" for number in range(size)]
    others = [entry(f"m{number}", operation, key) for number, key in enumerate(keys)]
    return config_map(dict.fromkeys(keys, "x"), *others, entry("me", "Apply", *keys))


@pytest.mark.parametrize("operation", ["Update", "Apply"])
def test_an_apply_that_gives_up_fields_of_many_managers(operation: str) -> None:
    manager = field_manager()

    def prepare(size: int) -> Callable[[], object]:
        live = owned(size, operation)
        return lambda: manager.apply(live, config_map({"k1": "x"}), "me")

    assert growth(prepare, 1000) < LIMIT


def test_an_update_that_makes_one_entry_of_many_updaters() -> None:
    manager = field_manager()

    def prepare(size: int) -> Callable[[], object]:
        live = owned(size, "Update")
        new = {**live, "data": {**live["data"], "new": "y"}}
        return lambda: manager.update(live, new, "me")

    assert growth(prepare, 1000) < LIMIT


def test_the_union_of_many_sets_is_that_of_one_after_the_other() -> None:
    sets = [fieldset.from_paths(("f:a", f"f:{number % 7}"), ("f:b",)) for number in range(20)]
    joined: fieldset.FieldSet = {}
    for each in sets:
        joined = fieldset.union(joined, each)
    assert fieldset.union_all(sets) == joined
    assert fieldset.union_all([]) == {}


def test_keys_are_sorted_in_any_order_they_come_in() -> None:
    """msgspec's own sorting is quadratic for the order that a merge patch of a stored object leaves."""

    def prepare(size: int) -> Callable[[], object]:
        stored = sorted(f"k{number}" for number in range(size))
        keys = [key for key in stored if int(key[1:]) % 2 == 0] + [f"k{number}" for number in range(size, 2 * size, 2)]
        tree = {"data": dict.fromkeys(keys, "v")}
        return lambda: encode_sorted(tree)

    assert growth(prepare, 10_000) < LIMIT


def test_sorted_json_is_the_same_for_small_and_large_trees() -> None:
    small = {"b": [{"z": 1, "a": {"d": None, "c": 1.5}}], "a": "é"}
    assert encode_sorted(small) == b'{"a":"\xc3\xa9","b":[{"a":{"c":1.5,"d":null},"z":1}]}'
    large = {**small, "c": "x" * 20_000}
    assert encode_sorted(large) == encode_sorted(small)[:-1] + b',"c":"' + b"x" * 20_000 + b'"}'
    assert list(in_order(large)) == ["a", "b", "c"]


def test_owner_references_of_one_uid_are_compared_in_linear_time() -> None:
    def prepare(size: int) -> Callable[[], object]:
        meta = {"ownerReferences": [{"kind": "K", "name": f"n{number}", "uid": "u"} for number in range(size)]}
        return lambda: remove_duplicates(meta)

    assert growth(prepare, 2000) < LIMIT
