"""Whoever asks to be left alone is, by every controller; condition and metric say so, and end with the mark."""

from typing import Any

import pytest
from tests.controller.core.worlds import Widget, World, settle, until, widget, with_widgets

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.controller.suspension import SUSPEND, SUSPENDED
from setpoint.objects.metrics import exposition


async def conditions(world: World) -> dict[str, str]:
    found: Any = await world.client.get("example.com/v1/Widget", "w", "default")
    listed = (found.get("status") or {}).get("conditions") or []
    return {each["type"]: each["status"] for each in listed}


@pytest.mark.feature("E74")
@pytest.mark.parametrize("place", ["labels", "annotations"])
async def test_a_plain_controller_leaves_a_suspended_object_alone_and_tells(world: World, place: str) -> None:
    await with_widgets(world)
    seen: list[int] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        found = await ctx.object()
        if found is not None:
            seen.append(found.spec.size)

    def mark(value: str) -> Any:
        return lambda found: getattr(found.metadata, place).update({SUSPEND: value})

    made = widget(size=1)
    mark("true")(made)
    await world.client.create(made)
    controller = await world.run(Controller("widgets", reconcile, kind=Widget))
    await until(lambda: bool(controller.suspended))
    await settle(controller)
    assert seen == []
    assert await conditions(world) == {SUSPENDED: "True"}
    assert 'setpoint_suspended{controller="widgets"} 1' in list(exposition(controller.families()))
    await world.client.edit(Widget, "w", "default", mark("false"))
    await until(lambda: seen == [1])
    await settle(controller)
    assert await conditions(world) == {}
    assert 'setpoint_suspended{controller="widgets"} 0' in list(exposition(controller.families()))


@pytest.mark.feature("E74", "G17")
async def test_a_suspended_object_that_goes_is_counted_no_more(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None: ...

    controller = await world.run(
        Controller("widgets", reconcile, kind=Widget, suspend=lambda found: "it is big" if found.spec.size > 1 else "")
    )
    await world.client.create(widget(size=2))
    await until(lambda: bool(controller.suspended))
    assert controller.suspended == {Request("w", "default"): "it is big"}
    await world.client.delete(Widget, "w", "default")
    await until(lambda: not controller.suspended)
