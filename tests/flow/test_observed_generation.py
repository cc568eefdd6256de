"""A status claims the generation that its reconcile has read, whenever the object changes meanwhile."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from setpoint import testing
from setpoint.api.core.v1 import ConfigMap
from setpoint.controller.context import Context
from setpoint.controller.daemon import DaemonContext, daemon
from setpoint.controller.declare import controller
from setpoint.controller.request import Request
from setpoint.controller.run_record import ReconcileRecord
from setpoint.flow.chain import Chain, HandlerContext
from setpoint.flow.fsm import FSM, Done, Next, Outputs
from setpoint.flow.generate import generates
from setpoint.objects.errors import APIError
from setpoint.schema.types import Model, ObjectMeta, Resource

FINALIZER = "example.com/thing"
STEPS = 6


class ThingSpec(Model):
    """The number is the generation: an object begins with 1, and each change adds 1."""

    number: int


class ThingStatus(Model):
    number: int = 0
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class Thing(Resource, group="example.com", version="v1"):
    spec: ThingSpec
    status: ThingStatus | None = None


Pause = Callable[[Context[Any]], Awaitable[None]]


async def pause(ctx: Context[Any]) -> None:
    """Takes a second, as a call of a provider does."""
    await ctx.clock.sleep(1)


def child_of(thing: Thing) -> ConfigMap:
    where = ObjectMeta(name=thing.metadata.name, namespace=thing.metadata.namespace)
    return ConfigMap(metadata=where, data={"number": str(thing.spec.number)})


def function() -> object:
    @controller(Thing, owns=[ConfigMap])
    async def things(ctx: Context[Thing], request: Request) -> None:
        await pause(ctx)
        thing: Thing | None = await ctx.object()
        if thing is None:
            return
        await pause(ctx)
        if await ctx.finalize(FINALIZER, lambda: pause(ctx)):
            return
        await pause(ctx)
        await ctx.client.apply(ctx.own(child_of(thing)))
        await pause(ctx)
        ctx.status.number = thing.spec.number
        await pause(ctx)
        ctx.condition("Numbered", True, "Done", f"{thing.spec.number}")
        await pause(ctx)

    return things


def machine() -> object:
    fsm = FSM(Thing)

    @fsm.state("First")
    async def first(ctx: Context[Thing], thing: Thing, out: Outputs) -> Next:
        await pause(ctx)
        out.apply(child_of(thing))
        await pause(ctx)
        return second

    @fsm.state("Second")
    async def second(ctx: Context[Thing], thing: Thing, out: Outputs) -> Next:
        await pause(ctx)
        ctx.status.number = thing.spec.number
        ctx.condition("Numbered", True, "Done", f"{thing.spec.number}")
        await pause(ctx)
        return Done()

    return fsm.controller(owns=[ConfigMap])


def generating() -> object:
    @generates(Thing, kinds=[ConfigMap], condition="Generated")
    async def children(ctx: Context[Thing], thing: Thing, status: ThingStatus) -> AsyncIterator[Resource]:
        await pause(ctx)
        status.number = thing.spec.number
        await pause(ctx)
        ctx.condition("Numbered", True, "Done", f"{thing.spec.number}")
        yield child_of(thing)
        await pause(ctx)

    return children


def chain() -> object:
    handlers = Chain(Thing, name="chain")

    @handlers.on_change("first")
    async def first(ctx: HandlerContext[Thing], thing: Thing) -> None:
        await pause(ctx)
        ctx.status.number = thing.spec.number
        await pause(ctx)

    @handlers.on_change("second", after=["first"])
    async def second(ctx: HandlerContext[Thing], thing: Thing) -> None:
        await pause(ctx)
        assert ctx.status.number == thing.spec.number
        ctx.condition("Numbered", True, "Done", f"{thing.spec.number}")
        await pause(ctx)

    return handlers


def thing() -> Thing:
    return Thing(metadata=ObjectMeta(name="a", namespace="default"), spec=ThingSpec(number=1))


def change(found: Thing) -> None:
    found.spec.number += 1


async def versions(world: testing.World) -> list[Thing]:
    """Returns the object at every revision."""
    found: dict[str, Thing] = {}
    newest = await world.client.get(Thing, "a", "default")
    for revision in range(1, int(newest.metadata.resource_version) + 1):
        try:
            seen = await world.client.get(Thing, "a", "default", at=revision)
        except APIError:
            continue
        found[seen.metadata.resource_version] = seen
    assert len(found) > 3
    return list(found.values())


def check(found: Thing) -> None:
    """Asserts that a status is of the generation that it claims."""
    assert found.metadata.generation == found.spec.number
    if found.status is None:
        return
    assert found.status.observed_generation in (0, found.status.number)
    for condition in found.status.conditions:
        if condition["type"] == "Numbered":
            assert condition["observedGeneration"] == int(condition["message"])


@pytest.mark.parametrize("make", [function, machine, generating, chain])
@pytest.mark.parametrize("step", range(STEPS + 1))
async def test_a_status_claims_the_generation_that_was_read(make: Callable[[], object], step: int) -> None:
    async with testing.world(crds=[Thing], objects=[thing()]) as world:
        await world.run(make())
        await world.advance(step + 0.5)
        await world.client.edit(Thing, "a", "default", change)
        await world.advance(60)
        for found in await versions(world):
            check(found)
        assert found.status is not None
        assert (found.spec.number, found.status.number, found.status.observed_generation) == (2, 2, 2)


@pytest.mark.world(crds=[Thing], objects=[thing()])
async def test_a_status_is_written_once_after_own_changes_of_the_object(world: testing.World) -> None:
    runs: list[ReconcileRecord] = []

    @controller(Thing)
    async def labels(ctx: Context[Thing], request: Request) -> None:
        found: Thing | None = await ctx.object()
        if found is None or found.metadata.labels:
            return
        runs.append(ctx.run)
        edited = found.edit()
        edited.metadata.labels["a"] = "b"
        await ctx.client.update(edited)
        await ctx.finalize(FINALIZER, lambda: pause(ctx))
        ctx.status.number = found.spec.number

    await world.run(labels)
    await world.settle()
    (run,) = runs
    written = [(write.verb, write.subresource) for write in run.writes]
    assert written == [("update", ""), ("patch", ""), ("patch", "status")]
    assert not [read for read in run.reads if read.from_server]  # no conflict


@pytest.mark.world(crds=[Thing], objects=[thing()])
async def test_a_daemon_claims_the_generation_that_it_read_last(world: testing.World) -> None:
    @daemon(Thing)
    async def patrol(ctx: DaemonContext[Thing], request: Request) -> None:
        while not ctx.stopped:
            found: Thing | None = await ctx.object()
            if found is None:
                return
            await pause(ctx)
            ctx.status.number = found.spec.number
            ctx.condition("Numbered", True, "Done", f"{found.spec.number}")
            await ctx.save_status()

    await world.run(patrol)
    for _ in range(3):
        await world.advance(0.7)
        await world.client.edit(Thing, "a", "default", change)
    await world.advance(5)
    for found in await versions(world):
        check(found)
    assert found.status is not None
    assert found.status.number == 4


@pytest.mark.world(crds=[Thing], objects=[thing()])
async def test_a_daemon_keeps_no_record_of_its_former_writes(world: testing.World) -> None:
    kept: list[int] = []

    @daemon(Thing)
    async def patrol(ctx: DaemonContext[Thing], request: Request) -> None:
        for turn in range(6):
            found: Thing | None = await ctx.object()
            if found is None:
                return
            if turn % 2:
                ctx.status.number = turn
            edited = found.edit()
            edited.metadata.labels["turn"] = str(turn)
            await ctx.client.update(edited)
            kept.append(len(ctx.own_writes))
            await ctx.save_status()
            await pause(ctx)

    await world.run(patrol)
    await world.advance(8)
    assert kept == [0, 1, 0, 1, 0, 1]
