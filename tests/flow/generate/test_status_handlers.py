"""Status handlers: a status in, a status out, and nothing else touched."""

from typing import Annotated, Any

import msgspec
import pytest
from tests.flow.generate.worlds import APP, App, AppStatus, World, app, condition_of, until

from setpoint.api.core.v1 import Secret
from setpoint.api.meta.v1 import Condition
from setpoint.controller.context import Context
from setpoint.controller.sync_context import SyncContext
from setpoint.flow.fsm.results import Fail, Wait
from setpoint.flow.generate import status_of
from setpoint.objects.errors import Conflict
from setpoint.objects.tree import Object
from setpoint.schema.types import ListMap, Model, ObjectMeta, Resource


def written(parent: App, status: AppStatus) -> None:
    status.url = f"http://{parent.spec.text}"


def returned(parent: App, status: AppStatus) -> AppStatus:
    return AppStatus(url=f"http://{parent.spec.text}", seen=status.seen)


async def waited(ctx: Context, parent: App, status: AppStatus) -> AppStatus:
    assert await ctx.object() is not None
    return returned(parent, status)


@pytest.mark.feature("E10")
@pytest.mark.parametrize("function", [written, returned, waited])
async def test_the_fields_that_differ_are_written_and_only_once(world: World, function: Any) -> None:
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
async def test_a_failure_leaves_the_status_and_is_told_by_the_condition(
    world: World, raised: Exception, told: str
) -> None:
    def fails(parent: App, status: AppStatus) -> None:
        if parent.spec.text == "bye":
            status.url = "half done" if isinstance(raised, ValueError | Conflict) else status.url
            raise raised
        status.url = "whole"

    world.run(status_of(App, condition="Ready")(fails))
    await world.client.create(app())
    await world.is_so("True/Done", condition="Ready")
    await world.change(lambda found: setattr(found.spec, "text", "bye"))
    await world.is_so(told, condition="Ready")
    found = await world.client.get(App, "shop", "default")
    assert found.status is not None
    assert found.status.url == "whole"
    assert found.status.observed_generation == 1, "what failed has not been observed"


class GateSpec(Model):
    """What a gate should be."""

    open: bool = False


class GateStatus(Model):
    """What a gate is, with conditions of the API's own type."""

    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = msgspec.field(default_factory=list)


class Gate(Resource, group="example.com", version="v1"):
    """A gate."""

    spec: GateSpec
    status: GateStatus | None = None


@pytest.mark.feature("G31", "E68")
async def test_conditions_of_the_apis_own_type_are_set_and_read(world: World) -> None:
    seen: list[int] = []

    def is_open(gate: Gate, status: GateStatus) -> None:
        seen.append(len(status.conditions))
        if not gate.spec.open:
            raise Wait(600, "Closed")

    client = world.client
    await client.install(Gate)
    world.run(status_of(Gate, condition="Open")(is_open))
    await client.create(Gate(metadata=ObjectMeta(name="g", namespace="default"), spec=GateSpec(open=False)))
    await client.wait_for(Gate, "g", "default", "condition=Open=False")
    await client.edit(Gate, "g", "default", lambda found: setattr(found.spec, "open", True))
    found = await client.wait_for(Gate, "g", "default", "condition=Open")
    assert found is not None
    assert found.status is not None
    (told,) = found.status.conditions
    assert isinstance(told, Condition)
    assert (told.reason, told.observed_generation) == ("Done", 2)
    assert told.last_transition_time is not None
    assert seen[-1] == 1


@pytest.mark.feature("E18", "E10")
async def test_a_status_follows_what_was_looked_up(world: World) -> None:
    def seen(ctx: SyncContext, parent: Object, status: Object) -> None:
        status["seen"] = "yes" if ctx.lookup(Secret, "paint", "default") else "no"

    world.run(status_of(APP, reads=[Secret])(seen))
    await world.client.create(app())
    await world.client.wait_for(App, "shop", "default", "jsonpath={.status.seen}=no")
    await world.client.create(Secret(metadata=ObjectMeta(name="paint", namespace="default")))
    await world.client.wait_for(App, "shop", "default", "jsonpath={.status.seen}=yes")
    assert condition_of(await world.client.get(App, "shop", "default"), "Ready") is None
