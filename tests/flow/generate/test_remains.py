"""What becomes of children when their parent is gone: by owner reference, or by inventory, also after a while."""

import asyncio

import pytest
from tests.flow.generate.test_options import with_namespace
from tests.flow.generate.worlds import (
    CONFIG_MAP,
    App,
    World,
    app,
    children_of,
    config_map,
    namespace,
    new_world,
    rendering,
)

from setpoint.controller.manager import Manager
from setpoint.flow.generate.generator import GeneratingHandler
from setpoint.objects.errors import NotFound


async def while_it_runs(world: World, handler: GeneratingHandler, *children: str) -> None:
    """A parent is made while a handler works, which then ends."""
    async with Manager(world.client, controllers=[handler]):
        await world.client.create(app(*children))
        await world.is_so("True/Applied")


@pytest.mark.feature("E53")
async def test_children_go_with_their_parent_by_owner_reference() -> None:
    async with new_world(system=True) as world:
        world.run(rendering())
        await world.client.create(app("a", "b"))
        await world.is_so("True/Applied")
        await world.client.delete(App, "shop", "default")
        await world.has()
        async with asyncio.timeout(10):
            while await world.inventories():
                await asyncio.sleep(0.005)


@pytest.mark.feature("E53", "E54", "E62")
@pytest.mark.parametrize("was_down", [False, True], ids=["running", "down"])
async def test_children_in_other_namespaces_go_by_inventory_also_if_nobody_was_there_to_see_it(was_down: bool) -> None:
    async with new_world(system=True) as world:
        await namespace(world.client, "other")
        handler = rendering(cross_namespace=True)
        await world.client.create(config_map("other/bystander"))
        await while_it_runs(world, handler, "a", "other/b")
        if not was_down:
            world.run(handler)
        await world.client.delete(App, "shop", "default")
        if was_down:
            assert await world.names("other") == {"b"}
            world.run(handler)
        await world.has(namespace="other")
        await world.has()
        async with asyncio.timeout(10):
            while await world.inventories():
                await asyncio.sleep(0.005)
        await world.client.get(CONFIG_MAP, "bystander", "other")


@pytest.mark.feature("E53", "E62")
async def test_children_in_no_namespace_go_by_inventory() -> None:
    async with new_world(system=True) as world:
        world.run(rendering(with_namespace, kinds=["v1/Namespace"], cluster_scoped=True))
        await world.client.create(app("shop-1"))
        await world.is_so("True/Applied")
        await world.client.delete(App, "shop", "default")
        await world.client.wait_for("v1/Namespace", "shop-1", "", "delete")


@pytest.mark.feature("E62")
async def test_children_without_owner_references_go_by_inventory_and_those_that_must_stay_do(world: World) -> None:
    world.run(rendering(owner_references=False))
    await world.client.create(app("a", "b"))
    await world.is_so("True/Applied")
    await world.client.edit(
        CONFIG_MAP,
        "b",
        "default",
        lambda found: found["metadata"]["labels"].update({"setpoint.dev/prune": "false"}),
    )
    await world.client.delete(App, "shop", "default")
    await world.has("b")


async def test_who_deletes_the_parent_alone_keeps_what_it_owned() -> None:
    async with new_world(system=True) as world:
        controller = world.run(rendering())
        await world.client.create(app("a", "b"))
        await world.is_so("True/Applied")
        await world.client.delete(App, "shop", "default", propagation="Orphan")
        await world.client.wait_for(App, "shop", "default", "delete")
        async with asyncio.timeout(10):
            while await world.inventories():
                await asyncio.sleep(0.005)
        await world.plane.settle()
        await world.settle(controller)
        assert await world.names() == {"a", "b"}


async def test_a_parent_that_is_only_missing_in_the_cache_loses_nothing(world: World) -> None:
    """A look at an object that was not there yet must not be taken for its end."""
    await namespace(world.client, "other")
    handler = rendering(cross_namespace=True)
    await while_it_runs(world, handler, "other/b")
    controller = world.run(rendering(cross_namespace=True, namespaces=["other"]))
    await world.settle(controller)
    assert controller.runs, "the inventory is heard of, and the parent is not in this cache"
    assert await world.names("other") == {"b"}


@pytest.mark.feature("G29")
async def test_children_of_a_kind_that_is_not_declared_any_more_are_pruned(world: World) -> None:
    def with_secret(parent: App, status: object) -> list[object]:
        return [config_map("a"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]

    await while_it_runs(world, rendering(with_secret, kinds=[CONFIG_MAP, "v1/Secret"]))
    assert await world.names(kind="v1/Secret") == {"s"}
    world.run(rendering(children_of))
    await world.want("a")
    await world.is_so("True/Applied")
    with pytest.raises(NotFound):
        await world.client.get("v1/Secret", "s", "default")
    assert await world.names() == {"a"}
