"""`ctx.create_once`: a child with a generated name is created once, whatever happens in between."""

from functools import partial
from typing import Any

import pytest
from tests.testing.kinds import CONFIG_MAP, Widget, WidgetSpec, widget

from setpoint import testing
from setpoint.api.core.v1 import ConfigMap
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.declare import controller
from setpoint.controller.generated_child import CHILD_LABEL, KEY_ANNOTATION
from setpoint.controller.leader import LeaderElection
from setpoint.controller.request import Request
from setpoint.controller.sync_context import SyncContext
from setpoint.objects.tree import Object
from setpoint.schema.types import ObjectMeta

KEYS = ("first", "second")


def generated(prefix: str = "run-") -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix}, "data": {"a": "b"}}


@controller(Widget, owns=[CONFIG_MAP])
async def widgets(ctx: Context, request: Request) -> None:
    """Has two children, and reports their names."""
    if await ctx.object() is not None:
        children = [await ctx.create_once(generated(), key=key) for key in KEYS]
        names = [child["metadata"]["name"] for child in children]
        ctx.status.condition("Ready", True, "Created", " ".join(names))


@controller(Widget, owns=[CONFIG_MAP])
def blocking_widgets(ctx: SyncContext, request: Request) -> None:
    """Does the same in a thread."""
    if ctx.object() is not None:
        children = [ctx.create_once(generated(), key=key) for key in KEYS]
        names = [child["metadata"]["name"] for child in children]
        ctx.status.condition("Ready", True, "Created", " ".join(names))


async def reported(world: testing.World, name: str = "w") -> list[str]:
    found = await world.find(Widget, name)
    if found is None or found.status is None or not found.status.conditions:
        return []
    names: list[str] = found.status.conditions[0]["message"].split()
    return names


async def by_key(world: testing.World) -> dict[str, list[str]]:
    """The names of the children by their keys."""
    found: dict[str, list[str]] = {}
    for item in (await world.client.list(CONFIG_MAP, "default", labels=CHILD_LABEL)).items:
        found.setdefault(item["metadata"]["annotations"][KEY_ANNOTATION], []).append(item["metadata"]["name"])
    return found


@pytest.mark.parametrize("target", [widgets, blocking_widgets])
async def test_a_crash_at_any_point_creates_no_second_child(target: Any) -> None:
    crashes = []
    async for crash in testing.every_crash(crds=[Widget], objects=[widget()], rights="declared"):
        world = crash.world
        await crash.run(target, until=partial(reported, world))
        children = await by_key(world)
        assert [children[key] for key in KEYS] == [[name] for name in await reported(world)], str(crash)
        crashes.append(crash.happened)
    # After each of three writes, done and not done; and a run without a crash for each.
    assert crashes == [True, True, True, False] * 2


@pytest.mark.parametrize("failure", ["lost", "error"])
async def test_a_create_with_an_unknown_outcome_is_not_repeated(failure: str) -> None:
    async with testing.world(crds=[Widget], objects=[widget()]) as world:
        if failure == "lost":
            world.faults.lose("create", CONFIG_MAP, times=2)
        else:
            world.faults.fail("create", CONFIG_MAP, error=500, done=True, times=2)
        await world.run(widgets)
        await world.eventually(lambda: reported(world))
        assert world.faults.hits == 2
        assert {key: len(names) for key, names in (await by_key(world)).items()} == dict.fromkeys(KEYS, 1)


async def test_a_new_leader_with_an_outdated_cache_asks_the_server() -> None:
    async with testing.world(crds=[Widget]) as world:
        managers = [
            await world.run(
                widgets, warm=True, leader_election=LeaderElection("widgets", "default", identity=f"replica-{number}")
            )
            for number in range(2)
        ]
        await world.eventually(lambda: managers[0].is_leader)
        # The first leader creates its children and ends before its report; the second one has not seen them.
        unreported = world.faults.fail("patch", Widget, error=500, times=None, subresource="status")
        with world.faults.stale(CONFIG_MAP):
            await world.create(widget())
            await world.eventually(lambda: by_key(world))
            await world.stop(managers[0])
            unreported.stop()
            await world.eventually(lambda: reported(world))
            assert managers[1].is_leader
        assert {key: len(names) for key, names in (await by_key(world)).items()} == dict.fromkeys(KEYS, 1)


async def test_a_known_child_costs_no_request() -> None:
    async with testing.world(crds=[Widget], objects=[widget()]) as world:
        await world.run(widgets)
        about = [str(seen) for seen in world.faults.seen if seen.resource == "configmaps" and seen.verb != "watch"]
        assert about == ["list configmaps default", "create configmaps default"] * 2
        await world.client.patch(Widget, merge({"spec": {"size": 2}}), "w", "default")
        await world.settle()
        assert len([seen for seen in world.faults.seen if seen.resource == "configmaps"]) == len(about) + 1


async def test_a_typed_child_stays_typed_and_each_owner_has_its_own() -> None:
    names: dict[str, str] = {}

    @controller(Widget, owns=[ConfigMap])
    async def typed(ctx: Context[Widget], request: Request) -> None:
        made = ConfigMap(metadata=ObjectMeta(generate_name="run-", labels={"app": "a"}), data={"a": ""})
        child = await ctx.create_once(made, key="run/1 ÄÖ")
        assert isinstance(child, ConfigMap)
        assert child.data == {"a": ""}
        assert child.metadata.labels is not None
        assert child.metadata.labels["app"] == "a"
        names[request.name] = child.metadata.name

    async with testing.world(crds=[Widget], objects=[widget("v"), widget("w")]) as world:
        await world.run(typed)
        assert len(set(names.values())) == 2
        first = names["v"]
        # An owner of the same name that is created anew has another child.
        await world.client.delete(Widget, "v", "default")
        await world.create(widget("v"))
        await world.settle()
        assert names["v"] != first


async def test_a_child_that_is_deleted_is_created_again_and_one_that_terminates_does_not_count() -> None:
    async with testing.world(crds=[Widget], objects=[widget()]) as world:
        await world.run(widgets)
        first, second = await reported(world)
        await world.client.patch(CONFIG_MAP, merge({"metadata": {"finalizers": ["example.com/x"]}}), first, "default")
        await world.client.delete(CONFIG_MAP, first, "default")
        await world.client.delete(CONFIG_MAP, second, "default")
        names = await world.eventually(lambda: changed(world, {first, second}))
        assert set(await world.names(CONFIG_MAP)) - set(names) == {first}


async def changed(world: testing.World, before: set[str]) -> list[str]:
    names = await reported(world)
    return [] if before & set(names) else names


async def test_an_orphan_is_adopted_and_the_oldest_of_several_counts(caplog: pytest.LogCaptureFixture) -> None:
    async with testing.world(crds=[Widget], objects=[widget()]) as world:
        manager = await world.run(widgets)
        first, second = await reported(world)
        await world.stop(manager)
        orphan = await world.client.patch(CONFIG_MAP, merge({"metadata": {"ownerReferences": None}}), first, "default")
        await world.advance(5)
        metadata = {key: orphan["metadata"][key] for key in ("labels", "annotations", "namespace")}
        await world.create({**generated(), "metadata": {"name": "a-later-one", **metadata}})
        await world.run(widgets)
        assert await reported(world) == [first, second]
        adopted = await world.find(CONFIG_MAP, first)
        assert [each["name"] for each in adopted["metadata"]["ownerReferences"]] == ["w"]
        assert f"Widget w has several children with one key: {first}, a-later-one" in caplog.text


@pytest.mark.parametrize(
    ("metadata", "key", "message"),
    [
        ({"name": "a"}, "k", "create_once needs a ConfigMap with generateName and without a name: apply a child"),
        ({}, "k", "create_once needs a ConfigMap with generateName"),
        ({"generateName": "a-"}, "", "create_once needs a key that tells this child from others"),
    ],
)
async def test_a_mistake_is_named(metadata: Object, key: str, message: str) -> None:
    @controller(Widget, owns=[CONFIG_MAP])
    async def wrong(ctx: Context, request: Request) -> None:
        await ctx.create_once({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, key=key)

    async with testing.world(crds=[Widget]) as world:
        ran = await world.run_once(wrong, Widget(metadata=ObjectMeta(name="w", namespace="default"), spec=WidgetSpec()))
        assert message in str(ran.error)
