"""Whatever goes wrong, an operator of any style comes to the same end: nothing is leaked, nothing is pruned by mistake.

An app is made, changed so that one part goes and another comes, and deleted; beside it are another app and an object of
nobody, which must be left alone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.flow.styles import CONFIG_MAP, STYLES, App, app

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.errors import Conflict, TooManyRequests
from setpoint.objects.tree import Object

pytestmark = pytest.mark.slow

# As long as it may take, in virtual time.
PATIENCE = 4 * 3600.0
BYSTANDER: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "bystander", "namespace": "default", "labels": {"part": "a"}},
}
# Where every write is a crash, there is no second app: its writes would only be more of the same.
ALONE: dict[str, Any] = {"crds": [App], "objects": [BYSTANDER, app("shop", "a", "b")]}
WORLD: dict[str, Any] = {"crds": [App], "objects": [*ALONE["objects"], app("other", "a")]}
Step = Callable[[], Any]
Run = Callable[[Step], Any]
STYLE = pytest.mark.parametrize("style", STYLES)


async def is_done(world: testing.World, version: str) -> bool:
    """Whether all apps say that they are as they should be."""
    for found in (await world.client.list(App, "default")).items:
        status, wanted = found.status, version if found.metadata.name == "shop" else "1"
        if status is None or status.version != wanted:
            return False
        ready = next((each for each in status.conditions if each["type"] == "Ready"), {})
        if ready.get("status") != "True" or ready.get("observedGeneration") != found.metadata.generation:
            return False
    return True


async def is_gone(world: testing.World) -> bool:
    return await world.find(App, "shop") is None


async def live(world: testing.World, run: Run) -> list[dict[str, Object]]:
    """The life of an app. Returns what there is at its stations."""
    stations = []
    await run(partial(is_done, world, "1"))
    stations.append(await world.state(App, CONFIG_MAP))
    await world.client.patch(App, merge({"spec": {"parts": ["b", "c"], "version": "2"}}), "shop", "default")
    await run(partial(is_done, world, "2"))
    stations.append(await world.state(App, CONFIG_MAP))
    await world.client.delete(App, "shop", "default")
    await run(partial(is_gone, world))
    stations.append(await world.state(App, CONFIG_MAP))
    return [_without_inventories(station) for station in stations]


def _without_inventories(station: dict[str, Object]) -> dict[str, Object]:
    """Inventories have UIDs in them, which differ; that they are right shows in what is deleted."""
    return {name: tree for name, tree in station.items() if "inventory" not in (tree.get("data") or {})}


async def undisturbed(style: str, settings: dict[str, Any] = WORLD) -> list[dict[str, Object]]:
    async with testing.world(**settings) as world:
        await world.run(STYLES[style]())
        return await live(world, partial(world.eventually, within=PATIENCE))


@STYLE
async def test_without_faults_it_is_as_it_should_be(style: str) -> None:
    made, changed, deleted = await undisturbed(style)
    assert _names(made) == ["bystander", "other-a", "shop-a", "shop-b"]
    assert _names(changed) == ["bystander", "other-a", "shop-b", "shop-c"]
    assert _names(deleted) == ["bystander", "other-a"]
    assert changed["ConfigMap default/shop-b"]["data"] == {"version": "2"}


def _names(station: dict[str, Object]) -> list[str]:
    return sorted(name.rpartition("/")[2] for name in station if name.startswith("ConfigMap"))


@pytest.mark.feature("E89")
@STYLE
async def test_a_crash_after_any_write_comes_to_the_same_end(style: str) -> None:
    expected = await undisturbed(style, ALONE)
    crashes = 0
    async for crash in testing.every_crash(**ALONE):
        assert await live(crash.world, partial(_through, crash, STYLES[style]())) == expected, str(crash)
        crashes += crash.happened
    assert crashes > 15


async def _through(crash: testing.Crash, operator: object, until: Step) -> None:
    await crash.run(operator, until=until, within=PATIENCE)


FAULTS: dict[str, Callable[[testing.Faults], Any]] = {
    "conflicts": lambda faults: faults.fail("write", error=Conflict, times=None, chance=0.4),
    "errors though it was done": lambda faults: faults.fail("write", error=500, done=True, times=None, chance=0.4),
    "answers that are lost": lambda faults: faults.lose("write", times=None, chance=0.4),
    "errors of reads": lambda faults: faults.fail("read", error=500, times=None, chance=0.4),
    "a server that asks for patience": lambda faults: faults.fail(
        "*", error=TooManyRequests("later", retry_after_seconds=1), times=None, chance=0.3
    ),
    "watches that break": lambda faults: faults.break_watches(after=1),
    "watches that expire": lambda faults: faults.break_watches(after=1, expired=True, chance=0.5),
}


@pytest.mark.feature("E89")
@pytest.mark.parametrize("fault", FAULTS)
@STYLE
async def test_faults_that_do_not_end_come_to_the_same_end(style: str, fault: str) -> None:
    expected = await undisturbed(style)
    async with testing.world(**WORLD, seed=1) as world:
        FAULTS[fault](world.faults)
        await world.run(STYLES[style]())
        assert await live(world, partial(world.eventually, within=PATIENCE)) == expected


@pytest.mark.feature("E89")
@pytest.mark.parametrize("kind", [App, CONFIG_MAP, None], ids=["of apps", "of their parts", "of everything"])
@STYLE
async def test_a_stale_view_does_no_harm_and_comes_to_the_same_end(style: str, kind: Any) -> None:
    expected = await undisturbed(style)
    async with testing.world(**WORLD) as world:
        await world.run(STYLES[style]())

        async def run(until: Step) -> None:
            await world.eventually(until, within=PATIENCE)
            await world.settle()

        async def late(until: Step) -> None:
            """The view is old for a while, in which others break things."""
            with world.faults.stale(kind):
                await world.settle()
                if await world.find(CONFIG_MAP, "shop-b"):
                    await world.client.patch(CONFIG_MAP, merge({"data": {"version": "9"}}), "shop-b", "default")
                await world.advance(30)
            await run(until)

        await run(partial(is_done, world, "1"))
        assert await live(world, late) == expected
