"""A world is a server, time and controllers for one test, and nothing of it is left."""

import asyncio
import itertools
from datetime import UTC, datetime
from functools import partial

import pytest
from tests.flow.styles import STYLES, App, app, plain
from tests.testing.kinds import CONFIG_MAP, Widget, config_map, widget, widgets

from setpoint import testing
from setpoint.controller.context import Context
from setpoint.controller.declare import controller
from setpoint.controller.request import Request, Requeue, TerminalError
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import Forbidden
from setpoint.testing.virtual_time import Passing


@pytest.mark.feature("E88", "E91")
@pytest.mark.world(crds=[Widget])
async def test_one_reconcile_tells_what_it_wrote_reported_and_asks_for(world: testing.World) -> None:
    ran = await world.run_once(widgets, widget(size=3))
    assert [(write.verb, write.kind.kind, write.object, write.subresource) for write in ran.writes] == [
        ("apply", "ConfigMap", "default/w-child", ""),
        ("patch", "Widget", "default/w", "status"),
    ]
    assert ran.result == "requeue_after"
    assert ran.requeue_after == 60
    assert ran.conditions["Ready"]["reason"] == "ChildMade"
    assert ran.object.status.size == 3
    assert ran.events == [testing.Told("Normal", "ChildMade", "of size 3", "Widget default/w")]
    assert ran.reads == []


@pytest.mark.feature("E88")
@pytest.mark.world(crds=[Widget])
async def test_a_second_reconcile_finds_everything_as_it_should_be(world: testing.World) -> None:
    await world.run_once(widgets, widget())
    ran = await world.run_once(widgets, Request("w", "default"))
    assert ran.changes == []
    assert [str(seen) for seen in ran.requests] == ["apply configmaps default/w-child"]  # it is not known to be so yet


@pytest.mark.feature("E88")
@pytest.mark.world(crds=[Widget])
async def test_a_reconcile_sees_the_world_that_it_is_given(world: testing.World) -> None:
    seen = []

    @controller(Widget, reads=[CONFIG_MAP])
    async def looks(ctx: Context, request: Request) -> None:
        found = await ctx.client.get(CONFIG_MAP, "settings", "default")
        seen.append((found["data"], (await ctx.object()).status.size))

    before = widget()
    before.status = (
        type(before)
        .from_json({**before.to_json(), "status": {"size": 7, "observedGeneration": 0, "conditions": []}})
        .status
    )
    await world.run_once(looks, before, world=[config_map("settings", a="1")])
    assert seen == [({"a": "1"}, 7)]


@pytest.mark.feature("E88")
@pytest.mark.parametrize(
    ("raised", "result", "after"),
    [
        (ValueError("no"), "error", None),
        (TerminalError("no"), "terminal", None),
        (Requeue(7, "later"), "requeue_after", 7),
    ],
    ids=["error", "terminal", "requeue"],
)
@pytest.mark.world(crds=[Widget])
async def test_a_reconcile_that_fails_is_told_and_not_raised(
    world: testing.World, raised: Exception, result: str, after: float | None
) -> None:
    @controller(Widget)
    async def fails(ctx: Context, request: Request) -> None:
        raise raised

    ran = await world.run_once(fails, widget())
    assert (ran.result, ran.requeue_after) == (result, after)
    if not isinstance(raised, Requeue):
        with pytest.raises(type(raised), match="no"):
            ran.raise_error()


@pytest.mark.feature("E90")
@pytest.mark.world(crds=[Widget], objects=[widget()])
async def test_time_is_virtual_and_drives_delays(world: testing.World) -> None:
    looks = []

    @controller(Widget)
    async def patrol(ctx: Context, request: Request) -> None:
        looks.append(ctx.clock.monotonic())
        raise Requeue(300)

    await world.run(patrol)
    await world.eventually(lambda: len(looks) == 4, within=901)
    assert [round(after - before) for before, after in itertools.pairwise(looks)] == [300, 300, 300]
    await world.never(lambda: len(looks) > 4, within=299)
    with pytest.raises(AssertionError, match=r"within 200 s: .*len\(looks\) == 99"):
        await world.eventually(lambda: len(looks) == 99, within=200)
    with pytest.raises(AssertionError, match="must never hold"):
        await world.never(lambda: len(looks) > 5, within=400)


@pytest.mark.feature("E90")
@pytest.mark.world(crds=[Widget], objects=[widget()])
async def test_retries_wait_in_virtual_time_ever_longer(world: testing.World) -> None:
    tries: list[float] = []

    @controller(Widget)
    async def fails(ctx: Context, request: Request) -> None:
        tries.append(ctx.clock.monotonic())
        raise ValueError("not yet")

    with world.expect(ValueError, match="not yet"):
        await world.run(fails)
        await world.eventually(lambda: len(tries) == 12)
    waits = [after - before for before, after in itertools.pairwise(tries)]
    assert waits == sorted(waits)
    assert waits[-1] > 5


@pytest.mark.feature("E90")
async def test_what_never_comes_to_rest_is_told() -> None:
    class Restless:
        pulses = 0

        def pulse(self) -> int:
            self.pulses += 1
            return self.pulses

        def check(self) -> None: ...

    with pytest.raises(TimeoutError, match="never settles"):
        await Passing(ManualClock(datetime(2030, 1, 1, tzinfo=UTC)), Restless(), most_turns=1000).settle()


@pytest.mark.feature("E87")
@pytest.mark.world(crds=[Widget], rights="declared", objects=[widget()])
async def test_controllers_may_do_no_more_than_they_declare(world: testing.World) -> None:
    @controller(Widget)
    async def nosy(ctx: Context, request: Request) -> None:
        await ctx.client.get("v1/Secret", "secret", "default")

    await world.run(widgets)
    await world.eventually(lambda: world.find(CONFIG_MAP, "w-child"))
    ran = await world.run_once(nosy, Request("w", "default"))
    assert isinstance(ran.error, Forbidden)


@pytest.mark.feature("E87")
async def test_the_rights_of_controllers_can_be_said() -> None:
    read = {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "list", "watch"]}
    maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    async with testing.world(crds=[Widget], rights=[read, maps]) as world:
        ran = await world.run_once(widgets, widget())
        assert isinstance(ran.error, Forbidden)
        assert await world.names(CONFIG_MAP) == []


@pytest.mark.feature("E91")
@pytest.mark.world(crds=[Widget], objects=[widget()])
async def test_the_events_of_what_runs_are_at_the_server(world: testing.World) -> None:
    await world.run(widgets)
    await world.eventually(world.events)
    assert await world.events() == [testing.Told("Normal", "ChildMade", "of size 1", "Widget default/w")]


@pytest.mark.feature("E87")
async def test_two_worlds_know_nothing_of_each_other_and_leave_nothing() -> None:
    async with testing.world(crds=[Widget], objects=[widget()]) as one, testing.world(crds=[Widget]) as other:
        await one.run(widgets)
        await one.eventually(lambda: one.find(CONFIG_MAP, "w-child"))
        assert await other.names(Widget) == []
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert left == []


async def test_objects_bring_their_namespaces_and_states_can_be_compared() -> None:
    states = []
    for seed in (1, 2):
        async with testing.world(crds=[Widget], objects=[widget(namespace="shop")], seed=seed) as world:
            await world.run(widgets)
            await world.eventually(partial(world.find, CONFIG_MAP, "w-child", "shop"))
            await world.settle()
            states.append(await world.state(Widget, CONFIG_MAP, namespace="shop"))
    assert states[0] == states[1]
    assert states[0]["Widget shop/w"]["status"]["size"] == 1


@pytest.mark.feature("E91")
@pytest.mark.world(crds=[App])
async def test_the_plans_of_apply_sets_are_recorded(world: testing.World) -> None:
    ran = await world.run_once(plain(), app("shop", "a", "b"))
    [plan] = ran.plans
    assert [(step.action.value, step.identity.name) for step in plan.steps] == [
        ("create", "shop-a"),
        ("create", "shop-b"),
    ]
    await world.client.edit(App, "shop", "default", lambda found: found.spec.parts.remove("a"))
    [plan] = (await world.run_once(plain(), Request("shop", "default"))).plans
    assert [step.identity.name for step in plan.prunes] == ["shop-a"]


@pytest.mark.feature("E88")
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.world(crds=[App])
async def test_controllers_of_every_style_are_run_once(world: testing.World, style: str) -> None:
    ran = await world.run_once(STYLES[style](), app("shop", "a", "b"))
    assert ran.error is None
    assert ran.conditions["Ready"]["status"] == "True"
    assert {"shop-a", "shop-b"} <= set(await world.names(CONFIG_MAP))
