"""Sources: what a controller hears from, and how they come and go."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from threading import Thread

import pytest
from tests.controller.core.hurry import HurriedClock
from tests.controller.core.worlds import (
    CONFIG_MAP,
    WIDGET,
    Widget,
    World,
    config_map,
    named,
    settle,
    until,
    widget,
    with_widgets,
)

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.controller import predicate
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.handler import for_owner, mapped
from setpoint.controller.request import Request
from setpoint.controller.timers import CHANNEL_SIZE, Channel, Enqueue, Every, Stream
from setpoint.controller.watch import Owned, Watch
from setpoint.objects.clock import ManualClock
from setpoint.objects.owners import controller_reference, owner_reference
from setpoint.plane import ControlPlane
from setpoint.testing import Faults

START = datetime(2026, 1, 1, 12, 0, 10, tzinfo=UTC)


class Seen:
    """A reconcile that remembers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, ctx: Context, request: Request) -> None:
        self.requests.append(request)

    async def until(self, times: int) -> None:
        await until(lambda: len(self.requests) == times)


@pytest.mark.feature("E19")
async def test_a_timer_comes_every_so_many_seconds(world: World) -> None:
    clock, seen = ManualClock(START), Seen()
    await world.run(Controller("c", seen, watches=[Every(60.0, Request("all"))], clock=clock))
    for times in range(1, 4):
        await asyncio.sleep(0.01)
        clock.advance(59.0)
        await asyncio.sleep(0.01)
        assert len(seen.requests) == times - 1
        clock.advance(1.0)
        await seen.until(times)


async def test_a_timer_that_is_aligned_comes_at_the_full_minute_and_asks_who_is_meant(world: World) -> None:
    clock, seen = ManualClock(START), Seen()

    async def everybody() -> list[Request]:
        return [named("a"), named("b")]

    await world.run(Controller("c", seen, watches=[Every(60.0, everybody, aligned=True)], clock=clock))
    await asyncio.sleep(0.01)
    clock.advance(49.0)
    await asyncio.sleep(0.01)
    assert not seen.requests
    clock.advance(1.0)
    await until(lambda: seen.requests == [named("a"), named("b")])


@pytest.mark.feature("E19")
async def test_a_channel_keeps_what_was_said_before_anybody_listened_up_to_a_limit(world: World) -> None:
    channel, seen = Channel(), Seen()
    for number in range(CHANNEL_SIZE):
        channel.send(named(str(number)))
    channel.send(named("0"))
    with pytest.raises(BufferError, match="no controller is attached"):
        channel.send(named("one too many"))
    await world.run(Controller("c", seen, watches=[channel]))
    await until(lambda: len(seen.requests) == CHANNEL_SIZE)
    thread = Thread(target=channel.send_from_thread, args=(named("from a thread"),))
    thread.start()
    await until(lambda: seen.requests[-1] == named("from a thread"))
    thread.join()


@pytest.mark.feature("E19")
async def test_a_stream_that_fails_is_begun_anew(world: World) -> None:
    seen, begun = Seen(), []

    async def follow(enqueue: Enqueue) -> None:
        begun.append(True)
        enqueue(named(str(len(begun))))
        if len(begun) < 3:
            raise RuntimeError("cut")
        await asyncio.Event().wait()

    controller = await world.run(Controller("c", seen, watches=[Stream("external", follow)]))
    await until(lambda: len(seen.requests) == 3)
    assert controller.problems == ["external: cut"]


async def test_a_source_can_be_added_and_taken_away_while_it_works(world: World) -> None:
    channel, seen = Channel(), Seen()
    controller = await world.run(Controller("c", seen, watches=[channel]))
    watch = Watch(CONFIG_MAP, namespaces=["default"])
    await world.config_map("a")
    await settle(controller)
    assert not seen.requests
    await controller.watch(watch)
    await until(lambda: seen.requests == [named("a")])
    await controller.unwatch(watch)
    await world.config_map("b")
    await settle(controller)
    assert seen.requests == [named("a")]


@pytest.mark.feature("E34")
async def test_a_watch_may_be_for_some_namespaces_and_labels_only(world: World) -> None:
    for namespace in ("one", "two"):
        tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await world.client.create(tree)
    seen = Seen()
    watch = Watch(CONFIG_MAP, namespaces=["one", "default"], labels="app=x")
    controller = await world.run(Controller("c", seen, kind=watch))
    for namespace in ("one", "two", "default"):
        await world.client.create(config_map("yes", namespace=namespace, labels={"app": "x"}))
        await world.client.create(config_map("no", namespace=namespace))
    await until(lambda: len(seen.requests) == 2)
    await settle(controller)
    assert set(seen.requests) == {Request("yes", "one"), Request("yes", "default")}


async def test_a_kind_that_may_be_missing_is_watched_when_it_appears_and_let_go_when_it_disappears(
    world: World,
) -> None:
    clock, seen = HurriedClock(), Seen()
    watch = Watch(WIDGET, optional=True)
    controller = Controller("c", seen, watches=[watch, Channel()], clock=clock)
    await world.run(controller)
    assert controller.problems == [f"{WIDGET}: the server does not have this kind (yet)"]
    await with_widgets(world)
    await world.client.create(widget("a"))
    await until(lambda: seen.requests == [named("a")])
    assert controller.problems == []
    await world.client.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", "widgets.example.com")
    await until(lambda: controller.problems == [f"{WIDGET}: the server does not have this kind (yet)"])
    await with_widgets(world)
    await world.client.create(widget("b"))
    await until(lambda: named("b") in seen.requests)


async def test_the_owner_may_be_of_the_cluster_and_every_owner_may_count(world: World) -> None:
    seen = Seen()
    namespace = await world.client.get("v1/Namespace", "default")
    owned = Owned(CONFIG_MAP, every_owner=True, namespaces=["default"])
    watch = Watch("v1/Namespace", fields="metadata.name=default")
    controller = await world.run(Controller("c", seen, kind=watch, owns=[owned]))
    await until(lambda: seen.requests == [Request("default")])
    await world.client.create(config_map("child", ownerReferences=[owner_reference(namespace)]))
    await until(lambda: seen.requests == [Request("default")] * 2)
    await settle(controller)


async def test_a_plain_watch_among_what_is_owned_means_the_owner_too(world: World) -> None:
    await with_widgets(world)
    seen = Seen()
    controller = await world.run(
        Controller("c", seen, kind=Widget, owns=[Watch(CONFIG_MAP, labels="app=x", predicates=[predicate.created])])
    )
    owner = (await world.client.create(widget("w"))).to_json()
    await seen.until(1)
    references = [controller_reference(owner)]
    await world.client.create(config_map("no", ownerReferences=references))
    await world.client.create(config_map("yes", labels={"app": "x"}, ownerReferences=references))
    await seen.until(2)
    await settle(controller)
    assert seen.requests == [named("w"), named("w")]


async def test_a_server_that_does_not_answer_at_the_start_is_waited_for(world: World) -> None:
    faults, clock, seen = Faults(world.client), HurriedClock(), Seen()
    async with Cache(Client(faults, clock=clock), clock=clock) as cache:
        watch = Watch("v1/Namespace", fields="metadata.name=default")
        controller = Controller("c", seen, kind=watch, owns=[CONFIG_MAP])
        with faults.down():
            starting = asyncio.ensure_future(controller.start(cache))
            await asyncio.sleep(0.05)
            assert not starting.done()
        await starting
        controller.work()
        await seen.until(1)
        await controller.stop()


@pytest.mark.feature("E15")
async def test_owners_are_told_apart_by_group_and_kind_and_not_by_version(world: World) -> None:
    await with_widgets(world)
    handler = for_owner(WIDGET)
    async with world.cache.use(CONFIG_MAP, "default") as informer:
        owner = (await world.client.create(widget("w"))).to_json()
        reference = controller_reference(owner)
        for name, changed in {
            "same": {},
            "version": {"apiVersion": "example.com/v9"},
            "group": {"apiVersion": "other.com/v1"},
            "kind": {"kind": "Gadget"},
        }.items():
            await world.client.create(config_map(name, ownerReferences=[{**reference, **changed}]))
        await until(lambda: len(informer.store) == 4)
        found = {held.meta.name: list(handler(held)) for held in informer.store.all()}
    assert found == {"same": [named("w")], "version": [named("w")], "group": [], "kind": []}


@pytest.mark.feature("E20")
async def test_objects_of_another_cluster_are_requests_of_that_cluster(world: World) -> None:
    seen: list[tuple[str, str]] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        found = await ctx.client.get(CONFIG_MAP, request.name, request.namespace)
        here = await ctx.cluster("").find(CONFIG_MAP, request.name, request.namespace)
        seen.append((request.key, found["data"]["where"]))
        assert here is None

    async with ControlPlane() as plane, plane.client() as client, Cache(client) as east:
        await client.create(config_map("a", {"where": "east"}))
        watch = Watch(CONFIG_MAP, namespaces=["default"], cluster="east")
        controller = Controller("c", reconcile, watches=[watch], reads=[CONFIG_MAP])
        await controller.start(world.cache, {"east": east})
        controller.work()
        await until(lambda: len(seen) == 1)
        await world.config_map("a")  # it was looked for here
        await until(lambda: len(controller.runs) == 2)
        await controller.stop()
    assert seen == [("east:default/a", "east")] * 2


async def test_a_function_may_name_requests_in_several_ways(world: World) -> None:
    seen = Seen()
    watch = Watch(
        CONFIG_MAP,
        mapped(lambda tree: ["plain", "other/slashed", ("third", "pair"), Request("cluster-wide")]),
        namespaces=["default"],
    )
    await world.run(Controller("c", seen, watches=[watch]))
    await world.config_map("a")
    await until(lambda: len(seen.requests) == 4)
    assert {request.key for request in seen.requests} == {
        "default/plain",
        "other/slashed",
        "third/pair",
        "cluster-wide",
    }


@pytest.mark.feature("E27")
async def test_a_resync_comes_with_low_priority(world: World) -> None:
    await with_widgets(world)
    priorities: list[tuple[int, str]] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        priorities.append((ctx.run.priority, ctx.why[0].event))

    await world.client.create(widget("a"))
    await world.run(Controller("c", reconcile, kind=Widget))
    await until(lambda: priorities == [(-100, "initial")])
    world.cache.informer(Widget).resync()
    await until(lambda: priorities == [(-100, "initial"), (-100, "resync")])
    await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "a", "default")
    await until(lambda: priorities[2:] == [(0, "updated")])


@pytest.mark.feature("E28")
async def test_a_controller_comes_back_to_every_object_every_so_often_and_not_all_controllers_at_once() -> None:
    clock = ManualClock(START)
    async with ControlPlane(system=False, clock=clock) as plane, plane.client() as client, Cache(client) as cache:
        await client.create(config_map("a"))
        times: dict[str, list[float]] = {"often": [], "seldom": [], "never": []}
        controllers = []
        for name, seconds in (("often", 100.0), ("seldom", 1000.0), ("never", None)):

            async def reconcile(ctx: Context, request: Request, name: str = name) -> None:
                times[name].append(clock.monotonic())

            controllers.append(Controller(name, reconcile, kind=CONFIG_MAP, namespaces=["default"], resync=seconds))
        for controller in controllers:
            await controller.start(cache)
            controller.work()
        for _ in range(2200):
            clock.advance(1)
            await asyncio.sleep(0)
        for controller in controllers:
            await controller.stop()
    assert len(times["never"]) == 1
    for name, seconds in (("often", 100.0), ("seldom", 1000.0)):
        waits = [after - before for before, after in pairwise(times[name])]
        assert len(waits) >= 1
        assert all(0.9 * seconds - 2 <= wait <= 1.1 * seconds + 5 for wait in waits), waits
    assert len({round(after - before) for before, after in pairwise(times["often"])}) > 1


def test_a_resync_without_time_between_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        Controller("c", Seen(), kind=CONFIG_MAP, resync=0)
