"""Inventories: their entries, their encoding, and the ConfigMap in which they are stored."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.flow.apply_set.sets import CONFIG_MAP, World, config_map, world

from setpoint.controller.reconcile_client import Applied
from setpoint.flow.inventory import Identity, Inventory, InventoryEntry
from setpoint.flow.record import ConfigMapRecord, inventory_in
from setpoint.objects.errors import Conflict
from setpoint.objects.gvk import GroupKind, GroupVersionKind

A, B = Identity("", "ConfigMap", "default", "a"), Identity("apps", "Deployment", "default", "b")
NODE = Identity("", "Node", "", "n")
ENTRY = InventoryEntry(A, "v1", "uid-a")


def test_an_identity_is_independent_of_the_version() -> None:
    assert Identity.of(config_map("a")) == A
    assert (
        Identity.of({"apiVersion": "apps/v2", "kind": "Deployment", "metadata": {"name": "b", "namespace": "default"}})
        == B
    )
    assert B.group_kind == GroupKind("apps", "Deployment")
    assert [str(each) for each in (A, B, NODE)] == ["ConfigMap default/a", "Deployment.apps default/b", "Node n"]
    assert InventoryEntry(B, "v1").gvk == GroupVersionKind("apps", "v1", "Deployment")


def test_an_inventory_is_encoded_in_order_and_without_empty_fields() -> None:
    inventory = Inventory([InventoryEntry(B, "v1", "", "2026-01-01T00:00:00Z"), InventoryEntry(NODE, "v1"), ENTRY])
    encoded = inventory.to_json()
    assert encoded == [
        {"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "a", "uid": "uid-a"},
        {"version": "v1", "kind": "Node", "name": "n"},
        {
            "group": "apps", "version": "v1", "kind": "Deployment", "namespace": "default", "name": "b",
            "unwantedSince": "2026-01-01T00:00:00Z",
        },
    ]  # fmt: skip
    assert Inventory.from_json(encoded) == inventory
    assert hash(Inventory.from_json(encoded)) == hash(inventory)
    assert inventory != encoded
    assert inventory != Inventory()


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({}, "must be a list of entries"),
        (None, "must be a list of entries"),
        (["x"], "must be an object of strings"),
        ([{"version": "v1", "kind": "K", "name": "a", "uid": 1}], "must be an object of strings"),
        ([{"version": "v1", "kind": "K"}], "needs version, kind and name"),
        ([{"version": "v1", "name": "a"}], "needs version, kind and name"),
        ([{"kind": "K", "name": "a"}], "needs version, kind and name"),
    ],
)
def test_an_invalid_inventory_is_refused(tree: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Inventory.from_json(tree)


def test_an_inventory_is_changed_by_making_another() -> None:
    first = Inventory([ENTRY])
    second = first.with_entries([InventoryEntry(A, "v1", "uid-2"), InventoryEntry(NODE, "v1")])
    assert (len(first), first[A].uid) == (1, "uid-a")
    assert (len(second), second[A].uid, list(second)) == (2, "uid-2", [A, NODE])
    assert first.with_entries([]) is first
    assert first.without([]) is first
    assert list(second.without([A, B])) == [NODE]


# The ConfigMap


@pytest.fixture
async def it() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def record(memory: Applied | None = None, **how: Any) -> ConfigMapRecord:
    return ConfigMapRecord("main", "default", how.get("owner"), "teams", memory)


async def test_an_inventory_is_read_as_it_was_written(it: World) -> None:
    own = record()
    assert await own.read(it.client) == Inventory()
    await own.write(it.client, Inventory([ENTRY]), all_owned=True)
    assert await record().read(it.client) == Inventory([ENTRY])
    [found] = await it.inventories()
    assert found["metadata"]["name"] == "apply-set-main"
    assert found["metadata"]["labels"]["setpoint.dev/apply-set"] == "main"
    assert "ownerReferences" not in found["metadata"]
    await own.remove(it.client)
    assert await it.inventories() == []
    assert await record().read(it.client) == Inventory()
    await own.remove(it.client)  # once more without effect


async def test_the_owner_is_referenced_only_if_all_objects_go_with_it(it: World) -> None:
    owner = await it.owner()
    own = record(owner=owner)
    await own.read(it.client)
    for all_owned in (True, False):
        await own.write(it.client, Inventory([ENTRY]), all_owned=all_owned)
        [found] = await it.inventories()
        assert found["metadata"]["annotations"] == {"setpoint.dev/apply-set-owner": "v1/ConfigMap:default/boss"}
        assert ("ownerReferences" in found["metadata"]) is all_owned


async def test_a_record_with_a_memory_reads_once(it: World) -> None:
    memory = Applied()
    own = record(memory)
    await own.read(it.client)
    reads = len(it.requests.calls)
    assert await record(memory).read(it.client) == Inventory()
    assert len(it.requests.calls) == reads
    await own.write(it.client, Inventory([ENTRY]), all_owned=False)
    again = len(it.requests.calls)
    assert await record(memory).read(it.client) == Inventory([ENTRY])
    assert len(it.requests.calls) == again
    await own.remove(it.client)
    assert await record(memory).read(it.client) == Inventory()


async def test_a_write_over_another_inventory_is_a_conflict(it: World) -> None:
    first, second = record(), record()
    for each in (first, second):
        await each.read(it.client)
    await first.write(it.client, Inventory([ENTRY]), all_owned=False)
    with pytest.raises(Conflict):
        await second.write(it.client, Inventory(), all_owned=False)
    assert await second.read(it.client) == Inventory([ENTRY]), "the version of the failed write is not used again"


async def test_a_write_over_the_same_inventory_is_repeated(it: World) -> None:
    own = record()
    await own.read(it.client)
    await own.write(it.client, Inventory([ENTRY]), all_owned=False)
    await it.direct.edit(CONFIG_MAP, "apply-set-main", "default", lambda tree: tree["metadata"].update(labels={
        **tree["metadata"]["labels"], "x": "1"}))  # fmt: skip
    await own.write(it.client, Inventory(), all_owned=False)
    assert await record().read(it.client) == Inventory()


@pytest.mark.parametrize("data", [None, {}, {"inventory": "{"}, {"inventory": "{}"}, {"inventory": "null"}])
def test_an_inventory_that_cannot_be_read_is_named(data: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot read the inventory in ConfigMap default/x .*repair or delete"):
        inventory_in({"metadata": {"name": "x", "namespace": "default"}, "data": data})
