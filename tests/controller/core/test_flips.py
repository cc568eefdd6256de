"""What is told of single objects unasked: events when conditions flip, series, and fields of the log."""

import logging
from typing import Any

import pytest
from tests.testing.kinds import Widget, widget, widgets

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.declare import controller
from setpoint.controller.request import Request
from setpoint.flow.fsm import FSM, Done, Next, Outputs
from setpoint.testing import plugin

# The fixture of the plugin instead of the one of this package.
world = plugin.world


def judging(**settings: Any) -> Any:
    """A controller that finds even sizes good."""

    @controller(Widget, **settings)
    async def judge(ctx: Context, request: Request) -> None:
        found: Widget | None = await ctx.object()
        if found is None:
            return
        good = found.spec.size % 2 == 0
        ctx.status.condition("Ready", good, "Even" if good else "Odd", f"the size is {found.spec.size}")
        ctx.status.condition("Seen", True, "Seen")
        if found.spec.size > 10:
            ctx.status.condition("Ready", False, "TooLarge")
            raise ValueError("too large")

    return judge


async def resize(world: testing.World, size: int) -> None:
    await world.client.patch(Widget, merge({"spec": {"size": size}}), "w", "default")
    await world.settle()


@pytest.mark.feature("E77")
@pytest.mark.world(crds=[Widget], objects=[widget(size=1)])
async def test_an_event_tells_that_ready_flips_and_only_then(world: testing.World) -> None:
    await world.run(judging())
    for size in (3, 2, 4):
        await resize(world, size)
    with world.expect(ValueError, match="too large"):
        await resize(world, 11)
        await resize(world, 12)
    about = "Widget default/w"
    await world.eventually(lambda: _events(world, 3))
    assert await world.events() == [
        testing.Told("Normal", "Odd", "the size is 1", about),
        testing.Told("Normal", "Even", "the size is 2", about),
        testing.Told("Warning", "TooLarge", "Ready is False", about),
    ]


async def _events(world: testing.World, count: int) -> bool:
    return len(await world.events()) >= count


@pytest.mark.feature("E77")
@pytest.mark.world(crds=[Widget])
async def test_which_conditions_make_events_can_be_said(world: testing.World) -> None:
    assert (await world.run_once(judging(condition_events=()), widget("a"))).events == []
    told = (await world.run_once(judging(condition_events=["Seen"]), widget("b"))).events
    assert [event.reason for event in told] == ["Seen"]


@pytest.mark.feature("E75")
@pytest.mark.world(crds=[Widget], objects=[widget(size=2), widget("v", size=1)])
async def test_single_objects_are_measured_where_that_is_asked_for_and_no_longer_than_they_are(
    world: testing.World,
) -> None:
    def series(name: str) -> dict[str, object]:
        found = {family.name: family for family in manager.metrics.families()}
        return {labels["name"]: value for labels, value in found[name].samples} if name in found else {}

    manager = await world.run(widgets)
    assert series("setpoint_object_ready") == {}
    await world.stop()
    manager = await world.run(judging(object_metrics=True))
    await world.eventually(lambda: series("setpoint_object_ready") == {"v": 0, "w": 1})
    await resize(world, 4)
    assert series("setpoint_object_generation") == {"v": 1, "w": 2}
    assert series("setpoint_object_observed_generation") == {"v": 1, "w": 2}
    await world.client.delete(Widget, "w", "default")
    await world.eventually(lambda: series("setpoint_object_ready") == {"v": 0})


@pytest.mark.feature("E22", "E78")
@pytest.mark.world(crds=[Widget], objects=[widget()])
async def test_log_lines_have_the_reasons_and_the_state_as_fields(
    world: testing.World, caplog: pytest.LogCaptureFixture
) -> None:
    machine = FSM(Widget)

    @machine.state("Looked")
    async def looked(ctx: Context, found: Widget, out: Outputs) -> Next:
        ctx.log.info("looks")
        return Done()

    with caplog.at_level(logging.INFO):
        await world.run(machine)
        await resize(world, 5)
    lines = [record.__dict__ for record in caplog.records if record.getMessage().endswith("looks")]
    assert [(line["controller"], line["key"], line["state"]) for line in lines] == [
        ("widget", "default/w", "Looked")
    ] * 2
    assert [line["why"] for line in lines] == [
        "Widget default/w initial",
        "Widget default/w updated (spec.size)",
    ]
