"""Merging is linear: four times as many managers, keys or items execute about four times the lines, not sixteen."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.turns import growth

from setpoint.merge import fieldset
from setpoint.merge.fieldmanager import FieldManager
from setpoint.merge.types import Types
from setpoint.objects import sorted_json
from setpoint.objects.clock import SystemClock
from setpoint.objects.owners import remove_duplicates
from setpoint.objects.sorted_json import encode_sorted, in_order
from setpoint.objects.tree import Object
from setpoint.schema import builtin

pytestmark = pytest.mark.slow

# Linear is 4, quadratic is 16; lines are counted, so that the result is the same on every machine.
LIMIT = 4.5


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

    assert growth(prepare, 100) < LIMIT


def test_an_update_that_makes_one_entry_of_many_updaters() -> None:
    manager = field_manager()

    def prepare(size: int) -> Callable[[], object]:
        live = owned(size, "Update")
        new = {**live, "data": {**live["data"], "new": "y"}}
        return lambda: manager.update(live, new, "me")

    assert growth(prepare, 100) < LIMIT


def test_the_union_of_many_sets_is_that_of_one_after_the_other() -> None:
    sets = [fieldset.from_paths(("f:a", f"f:{number % 7}"), ("f:b",)) for number in range(20)]
    joined: fieldset.FieldSet = {}
    for each in sets:
        joined = fieldset.union(joined, each)
    assert fieldset.union_all(sets) == joined
    assert fieldset.union_all([]) == {}


def test_keys_of_large_trees_are_sorted_before_msgspec_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """msgspec's own sorting is quadratic for the order that a merge patch of a stored object leaves."""
    encoded: list[Any] = []

    def encode(value: Any) -> bytes:
        encoded.append(value)
        return real(value)

    real = sorted_json._encode
    monkeypatch.setattr(sorted_json, "_encode", encode)
    monkeypatch.setattr(sorted_json, "encode_small", None)
    stored = sorted(f"k{number}" for number in range(2000))
    keys = [key for key in stored if int(key[1:]) % 2 == 0] + [f"k{number}" for number in range(2000, 4000, 2)]
    encode_sorted({"data": dict.fromkeys(keys, "v"), "a": [{"z": 1, "y": 2}]})
    assert list(encoded[-1]) == ["a", "data"]
    assert list(encoded[-1]["data"]) == sorted(keys)
    assert list(encoded[-1]["a"][0]) == ["y", "z"]


def test_sorted_json_is_the_same_for_small_and_large_trees() -> None:
    small = {"b": [{"z": 1, "a": {"d": None, "c": 1.5}}], "a": "é"}
    assert encode_sorted(small) == b'{"a":"\xc3\xa9","b":[{"a":{"c":1.5,"d":null},"z":1}]}'
    large = {**small, "c": "x" * 20_000}
    assert encode_sorted(large) == encode_sorted(small)[:-1] + b',"c":"' + b"x" * 20_000 + b'"}'
    assert list(in_order(large)) == ["a", "b", "c"]


class Compared(dict[str, Any]):
    """An object that counts its comparisons with others."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return super().__eq__(other)


def test_owner_references_of_one_uid_are_not_compared_with_each_other() -> None:
    def prepare(size: int) -> Callable[[], object]:
        references = [Compared(kind="K", name=f"n{number}", uid="u") for number in range(size)]
        return lambda: remove_duplicates({"ownerReferences": [*references, Compared(references[0])]})

    before = Compared.times
    assert growth(prepare, 200) < LIMIT
    assert Compared.times == before
