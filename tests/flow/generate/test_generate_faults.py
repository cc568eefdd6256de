"""Whatever goes wrong while children are made, changed and pruned, the end is the same: nothing leaked, nothing pruned
by mistake."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.flow.generate.worlds import CONFIG_MAP, OF_SETS, App, AppStatus, app, condition_of, config_map, rendering

from setpoint import testing
from setpoint.controller.request import Result
from setpoint.objects.errors import Conflict
from setpoint.objects.tree import Object

OTHER: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
BEGIN: dict[str, Any] = {"crds": [App], "objects": [OTHER, config_map("default/bystander"), app("a", "other/b")]}
FIRST, SECOND = ["a", "other/b"], ["a", "c"]


async def is_done(world: testing.World) -> App | None:
    """The app, if it says that it is as it should be."""
    found = await world.find(App, "shop")
    told = None if found is None else condition_of(found)
    is_so = told is not None and told["status"] == "True" and told["observedGeneration"] == found.metadata.generation
    return found if is_so else None


def change_in_the_middle(world: testing.World) -> Callable[[], Any]:
    """Wants other children once the first are in place; holds when those are."""

    async def holds() -> bool:
        found = await is_done(world)
        if found is not None and found.spec.children == FIRST:

            def want(found: App) -> None:
                found.spec.children, found.spec.text = list(SECOND), "bye"

            await world.client.edit(App, "shop", "default", want)
            return False
        return found is not None

    return holds


async def end(world: testing.World) -> dict[str, Any]:
    """What there is of the handler, and what its inventory knows."""
    found = {}
    for namespace in ("default", "other"):
        for each in (await world.client.list(CONFIG_MAP, namespace, labels=OF_SETS)).items:
            found[f"{namespace}/{each['metadata']['name']}"] = each["data"]["text"]
    inventories = (await world.client.list(CONFIG_MAP, labels="setpoint.dev/kind")).items
    return {"children": found, "known": [each["data"]["inventory"].count('"uid"') for each in inventories]}


EXPECTED = {"children": {"default/a": "bye", "default/c": "bye"}, "known": [2]}


@pytest.mark.feature("E89", "E11")
@pytest.mark.parametrize("owner_references", [True, False])
async def test_a_crash_after_any_write_ends_where_an_undisturbed_run_does(owner_references: bool) -> None:
    crashes = 0
    async for crash in testing.every_crash(**BEGIN):
        handler = rendering(cross_namespace=True, owner_references=owner_references)
        await crash.run(handler, until=change_in_the_middle(crash.world))
        assert await end(crash.world) == EXPECTED, crash
        assert await crash.world.find(CONFIG_MAP, "bystander") is not None
        crashes += crash.happened
    assert crashes >= 10


@pytest.mark.feature("E89", "E62")
async def test_a_crash_while_it_cleans_up_after_a_parent_leaks_nothing() -> None:
    async for crash in testing.every_crash(**BEGIN):

        async def gone(world: testing.World = crash.world) -> bool:
            if await is_done(world) is not None:
                await world.client.delete(App, "shop", "default")
            return await end(world) == {"children": {}, "known": []}

        await crash.run(rendering(cross_namespace=True, owner_references=False), until=gone)
        assert await crash.world.find(CONFIG_MAP, "bystander") is not None


@pytest.mark.feature("E89")
@pytest.mark.parametrize("stale", [CONFIG_MAP, App], ids=["children", "parents"])
async def test_an_old_view_does_no_harm(stale: Any) -> None:
    async with testing.world(**BEGIN) as world:
        await world.run(rendering(cross_namespace=True))
        await world.eventually(lambda: is_done(world))
        with world.faults.stale(stale):
            await change_in_the_middle(world)()
            await world.client.delete(CONFIG_MAP, "a", "default")
            await world.advance(30)
        await world.eventually(change_in_the_middle(world))
        await world.eventually(lambda: ends_well(world))


async def ends_well(world: testing.World) -> bool:
    return await end(world) == EXPECTED


@pytest.mark.feature("E31", "G28")
@pytest.mark.parametrize("verb", ["apply", "create", "update", "delete", "patch"])
async def test_conflicts_are_tried_again_and_are_no_success(verb: str) -> None:
    async with testing.world(**BEGIN) as world:
        world.faults.fail(verb, error=Conflict, times=3)
        await world.run(rendering(cross_namespace=True))
        await world.eventually(change_in_the_middle(world))
        assert await end(world) == EXPECTED


@pytest.mark.feature("G28")
async def test_a_conflict_that_stays_is_told_as_one() -> None:
    async with testing.world(**BEGIN) as world:
        await world.run(rendering(cross_namespace=True))
        await world.eventually(lambda: is_done(world))
        fault = world.faults.fail("update", CONFIG_MAP, error=Conflict, times=None)

        async def told() -> bool:
            found = await world.find(App, "shop")
            each = condition_of(found) or {}
            assert each.get("observedGeneration") != found.metadata.generation or each["status"] != "True"
            return each.get("reason") == "Conflict"

        await change_in_the_middle(world)()
        await world.eventually(told)
        fault.stop()
        await world.eventually(lambda: ends_well(world))


@pytest.mark.feature("E26", "E90")
async def test_a_function_can_ask_to_be_asked_again() -> None:
    def hourly(parent: App, status: AppStatus) -> list[object]:
        status.count += 1
        return [config_map("a"), Result(requeue_after=3600), Result(requeue_after=7200)]

    async with testing.world(**BEGIN) as world:
        await world.run(rendering(hourly))
        await world.eventually(lambda: is_done(world))
        counted = (await world.find(App, "shop")).status.count
        await world.advance(3599)
        assert (await world.find(App, "shop")).status.count == counted
        await world.advance(2)
        assert (await world.find(App, "shop")).status.count == counted + 1


@pytest.mark.feature("E73", "E89")
async def test_a_status_that_is_not_written_is_written_later() -> None:
    async with testing.world(**BEGIN) as world:
        world.faults.fail("patch", App, error=503, times=4, subresource="status")
        await world.run(rendering(cross_namespace=True))
        await world.eventually(lambda: is_done(world))
