"""Status handlers: a status in, a status out, and nothing else touched."""

from typing import Any

import pytest
from tests.flow.generate.worlds import APP, App, AppStatus, World, app, condition_of, in_world, until

from setpoint.api.core.v1 import Secret
from setpoint.controller.context import Context
from setpoint.flow.fsm.results import Fail, Wait
from setpoint.flow.generate import status_of
from setpoint.objects.errors import Conflict
from setpoint.objects.tree import Object
from setpoint.schema.types import ObjectMeta


def written(parent: App, status: AppStatus) -> None:
    status.url = f"http://{parent.spec.text}"


def returned(parent: App, status: AppStatus) -> AppStatus:
    return AppStatus(url=f"http://{parent.spec.text}", seen=status.seen)


async def waited(ctx: Context, parent: App, status: AppStatus) -> AppStatus:
    assert await ctx.object() is not None
    return returned(parent, status)


@pytest.mark.feature("E10")
@pytest.mark.parametrize("function", [written, returned, waited])
def test_the_fields_that_differ_are_written_and_only_once(function: Any) -> None:
    async def test(world: World) -> None:
        controller = world.run(status_of(App, condition="Ready")(function))
        assert controller.name == "app-status"
        await world.client.create(app())
        await world.is_so("True/Done", condition="Ready")

        def others(found: App) -> None:
            assert found.status is not None
            found.status.seen = "by somebody else"

        await world.client.edit(App, "shop", "default", others, subresource="status")
        await world.change(lambda found: setattr(found.spec, "text", "bye"))
        await world.client.wait_for(App, "shop", "default", "jsonpath={.status.url}=http://bye")
        found = await world.client.get(App, "shop", "default")
        assert found.status is not None
        assert found.status.seen == "by somebody else"
        await world.settle(controller)
        before, version = len(controller.runs), found.metadata.resource_version
        controller.enqueue(controller.runs[-1].request)
        await until(lambda: len(controller.runs) > before)
        assert (await world.client.get(App, "shop", "default")).metadata.resource_version == version

    in_world(test)


@pytest.mark.feature("E10", "G28")
@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ValueError("no"), "False/Error"),
        (Conflict("somebody was faster"), "False/Conflict"),
        (Wait(600, "NotYet", "soon"), "False/NotYet"),
        (Fail("Broken", terminal=True), "False/Broken"),
    ],
    ids=["error", "conflict", "wait", "fail"],
)
def test_a_failure_leaves_the_status_and_is_told_by_the_condition(raised: Exception, told: str) -> None:
    def fails(parent: App, status: AppStatus) -> None:
        if parent.spec.text == "bye":
            status.url = "half done" if isinstance(raised, ValueError | Conflict) else status.url
            raise raised
        status.url = "whole"

    async def test(world: World) -> None:
        world.run(status_of(App, condition="Ready")(fails))
        await world.client.create(app())
        await world.is_so("True/Done", condition="Ready")
        await world.change(lambda found: setattr(found.spec, "text", "bye"))
        await world.is_so(told, condition="Ready")
        found = await world.client.get(App, "shop", "default")
        assert found.status is not None
        assert found.status.url == "whole"
        assert found.status.observed_generation == 1, "what failed has not been observed"

    in_world(test)


@pytest.mark.feature("E18", "E10")
def test_a_status_follows_what_was_looked_up() -> None:
    def seen(ctx: Context, parent: Object, status: Object) -> None:
        status["seen"] = "yes" if ctx.lookup(Secret, "paint", "default") else "no"

    async def test(world: World) -> None:
        world.run(status_of(APP, reads=[Secret])(seen))
        await world.client.create(app())
        await world.client.wait_for(App, "shop", "default", "jsonpath={.status.seen}=no")
        await world.client.create(Secret(metadata=ObjectMeta(name="paint", namespace="default")))
        await world.client.wait_for(App, "shop", "default", "jsonpath={.status.seen}=yes")
        assert condition_of(await world.client.get(App, "shop", "default"), "Ready") is None

    in_world(test)
