"""Whatever goes wrong between a controller and its server, it brings about what it is there for: each widget has one
child and no second one, with a name that the server made, of the size of the widget, and a status that says so."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.controller.core.hurry import HurriedClock
from tests.controller.core.worlds import CONFIG_MAP, PATIENCE, WIDGET, Widget, widget

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.objects.errors import Conflict, TooManyRequests
from setpoint.objects.ids import SeededIds
from setpoint.objects.owners import controller_reference
from setpoint.plane import ControlPlane
from setpoint.testing import Faults

WIDGETS = 8


async def reconcile(ctx: Context, request: Request) -> None:
    """One child for each widget. It looks for it by a label, for the server makes the name."""
    obj = await ctx.object()
    if obj is None:
        return
    wanted = {"size": str(obj.spec.size)}
    found = (await ctx.client.list(CONFIG_MAP, request.namespace, labels={"widget": request.name})).items
    if not found:
        metadata = {
            "generateName": f"{request.name}-",
            "namespace": request.namespace,
            "labels": {"widget": request.name},
            "ownerReferences": [controller_reference(obj.to_json())],
        }
        await ctx.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": wanted})
    elif found[0]["data"] != wanted:
        name = found[0]["metadata"]["name"]
        await ctx.client.update({**found[0], "data": wanted})
        assert name
    ctx.status["count"] = max(len(found), 1)
    ctx.status["size"] = obj.spec.size


class World:
    """A server that keeps what it has, a controller, and what is between them."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self.plane: ControlPlane | None = None
        self.direct: Client | None = None
        self._faults: Faults | None = None
        self._seed = seed
        self.controller = Controller("widget", reconcile, kind=Widget, owns=[CONFIG_MAP], concurrency=3)

    @property
    def faults(self) -> Faults:
        assert self._faults is not None
        return self._faults

    async def start(self) -> None:
        self.plane = ControlPlane(store=f"sqlite:{self._path / 'state.db'}", system=False)
        await self.plane.__aenter__()
        self.direct = self.plane.client()
        if self._faults is None:
            self._faults = Faults(self.direct, ids=SeededIds(self._seed))
        self._faults.transport = self.direct.transport

    async def stop(self) -> None:
        direct, plane, self.direct, self.plane = self.direct, self.plane, None, None
        assert direct is not None
        assert plane is not None
        await direct.close()
        await plane.__aexit__(None, None, None)

    @property
    def client(self) -> Client:
        assert self.direct is not None
        return self.direct

    async def trouble(self) -> str:
        """What is not as it should be; nothing, when all is well."""
        widgets = (await self.client.list(WIDGET, "default")).items
        maps = (await self.client.list(CONFIG_MAP, "default", labels="widget")).items
        for tree in widgets:
            name = tree["metadata"]["name"]
            children = [each for each in maps if each["metadata"]["labels"]["widget"] == name]
            if len(children) > 1:
                return f"DUPLICATE: {name} has {len(children)} children"
            if not children or children[0]["data"]["size"] != str(tree["spec"]["size"]):
                return f"{name} has {children}"
            if (tree.get("status") or {}).get("size") != tree["spec"]["size"]:
                return f"{name} says {tree.get('status')}"
        return "" if len(widgets) == WIDGETS else f"there are {len(widgets)} widgets"

    async def settle(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while problem := await self.trouble():
                assert "DUPLICATE" not in problem, problem
                await asyncio.sleep(0.01)


@asynccontextmanager
async def worlds(path: Path, seed: int) -> AsyncIterator[World]:
    world = World(path, seed)
    await world.start()
    await world.client.create(Widget.crd())
    await world.client.wait_for(
        "apiextensions.k8s.io/v1/CustomResourceDefinition", "widgets.example.com", "", "condition=Established"
    )
    clock = HurriedClock()
    async with Cache(Client(world.faults, clock=clock), clock=clock) as cache:
        await world.controller.start(cache)
        world.controller.work()
        yield world
        await world.controller.stop()
    await world.stop()


async def job(world: World) -> None:
    """Makes widgets and changes each twice; then all must come to rest as it should be."""
    for number in range(WIDGETS):
        await world.client.create(widget(f"w{number}", 1))
        await asyncio.sleep(0)
    for size in (2, 3):
        for number in range(WIDGETS):
            await world.client.patch(WIDGET, merge({"spec": {"size": size}}), f"w{number}", "default")
            await asyncio.sleep(0.001)
    await world.settle()


async def survive(path: Path, seed: int, upset: Callable[[World], None]) -> None:
    async with worlds(path, seed) as world:
        upset(world)
        await job(world)
        assert world.faults.hits, "nothing went wrong: the test shows nothing"


@pytest.mark.parametrize("after", [1, 2, 5])
async def test_the_watch_is_cut_after_every_few_events(tmp_path: Path, after: int) -> None:
    def upset(world: World) -> None:
        world.faults.break_watches(after=after)

    await survive(tmp_path, 0, upset)


@pytest.mark.parametrize("seed", range(3))
async def test_the_server_forgets_where_a_watch_was_at_any_time(tmp_path: Path, seed: int) -> None:
    def upset(world: World) -> None:
        world.faults.break_watches(expired=True, chance=0.3)

    await survive(tmp_path, seed, upset)


@pytest.mark.parametrize("seed", range(3))
async def test_writes_meet_storms_of_conflicts(tmp_path: Path, seed: int) -> None:
    def upset(world: World) -> None:
        for verb in ("update", "patch", "apply"):
            world.faults.fail(verb, error=Conflict, times=None, chance=0.6)

    await survive(tmp_path, seed, upset)


@pytest.mark.feature("E46")
@pytest.mark.parametrize("seed", range(2))
async def test_the_server_says_that_it_is_asked_too_much(tmp_path: Path, seed: int) -> None:
    def upset(world: World) -> None:
        world.faults.fail("*", error=TooManyRequests("later", retry_after_seconds=1), times=None, chance=0.4)

    await survive(tmp_path, seed, upset)


@pytest.mark.parametrize("seed", range(3))
async def test_writes_are_done_and_yet_answered_with_an_error(tmp_path: Path, seed: int) -> None:
    def upset(world: World) -> None:
        world.faults.fail("write", error=500, done=True, times=None, chance=0.5)

    await survive(tmp_path, seed, upset)


@pytest.mark.parametrize("seed", range(3))
async def test_writes_are_done_and_nobody_hears_of_it(tmp_path: Path, seed: int) -> None:
    def upset(world: World) -> None:
        world.faults.lose("write", times=None, chance=0.5)
        world.faults.break_watches(after=3)

    await survive(tmp_path, seed, upset)


async def test_a_child_that_was_made_without_anybody_hearing_of_it_is_found_though_the_cache_does_not_know_it(
    tmp_path: Path,
) -> None:
    async with worlds(tmp_path, 0) as world:
        lost = world.faults.lose("create", times=3)
        controller = world.controller
        with world.faults.stale(CONFIG_MAP):
            await world.client.create(widget("w0"))
            async with asyncio.timeout(PATIENCE):
                while not any(run.result == "success" and run.writes for run in controller.runs):
                    await asyncio.sleep(0.005)
        maps = (await world.client.list(CONFIG_MAP, "default", labels="widget")).items
        assert (lost.hits, len(maps)) == (1, 1)


async def test_the_server_is_restarted_in_the_middle(tmp_path: Path) -> None:
    async with worlds(tmp_path, 0) as world:
        for number in range(WIDGETS):
            await world.client.create(widget(f"w{number}", 1))
        for size in (2, 3):
            with world.faults.down():
                await world.stop()
                await asyncio.sleep(0.02)
                await world.start()
            for number in range(WIDGETS):
                await world.client.patch(WIDGET, merge({"spec": {"size": size}}), f"w{number}", "default")
        await world.settle()
