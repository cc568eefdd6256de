"""What else brings a parent back: what its function looked up, what it names, what concerns all, other clusters."""

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.flow.generate.worlds import (
    CONFIG_MAP,
    PATIENCE,
    App,
    AppStatus,
    World,
    app,
    config_map,
    rendering,
    until,
)

from setpoint.api.core.v1 import ConfigMap, Secret
from setpoint.controller.context import Context
from setpoint.controller.handler import mapped
from setpoint.controller.manager import Manager
from setpoint.controller.related_sources import Everyone, UsedBy
from setpoint.controller.request import Request
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.timers import Channel
from setpoint.controller.watch import Watch
from setpoint.flow.fsm.results import Wait
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import ObjectMeta


def looks(ctx: SyncContext, parent: App, status: AppStatus) -> Iterator[Object]:
    """A plain generator, which cannot wait."""
    used = ctx.lookup(Secret, parent.spec.uses, "default")
    if used is None:
        raise Wait(600, "SecretMissing", f"secret {parent.spec.uses} not found")
    yield config_map("a", used.metadata.labels.get("colour", ""))


async def asks(ctx: Context, parent: App, status: AppStatus) -> AsyncIterator[Object]:
    used = await ctx.client.find(Secret, parent.spec.uses, "default")
    if used is None:
        raise Wait(600, "SecretMissing", f"secret {parent.spec.uses} not found")
    yield config_map("a", used.metadata.labels.get("colour", ""))


def secret(name: str, colour: str) -> Secret:
    return Secret(metadata=ObjectMeta(name=name, namespace="default", labels={"colour": colour}))


@pytest.mark.feature("E18")
@pytest.mark.parametrize("function", [looks, asks])
async def test_what_a_function_looked_up_brings_its_parent_back(world: World, function: object) -> None:
    world.run(rendering(function, reads=[Secret]))  # type: ignore[arg-type]
    await world.client.create(app(uses="paint"))
    await world.is_so("False/SecretMissing")
    await world.client.create(secret("paint", "red"))
    await world.client.wait_for(CONFIG_MAP, "a", "default", "jsonpath={.data.text}=red")
    await world.client.edit(Secret, "paint", "default", lambda found: found.metadata.labels.update(colour="blue"))
    await world.client.wait_for(CONFIG_MAP, "a", "default", "jsonpath={.data.text}=blue")
    await world.client.delete(Secret, "paint", "default")
    await world.is_so("False/SecretMissing")
    assert await world.names() == {"a"}


async def test_looking_up_a_kind_that_is_not_declared_says_what_to_do(world: World) -> None:
    world.run(rendering(looks))
    await world.client.create(app(uses="paint"))
    told = (await world.is_so("False/Error"))["message"]
    assert told == "v1/Secret is not cached: add it to the controller's `reads`"


@pytest.mark.feature("E16", "E17")
async def test_an_index_finds_who_names_what_has_changed_and_nobody_else(world: World) -> None:
    seen: list[str] = []

    def renders(parent: App, status: AppStatus) -> Iterator[Object]:
        seen.append(parent.metadata.name)
        yield config_map(f"of-{parent.metadata.name}")

    used = UsedBy(Secret, names=lambda found: [found.spec.uses])
    controller = world.run(rendering(renders, watches=[used]))
    await world.client.create(secret("paint", "red"))
    for name, uses in (("one", "paint"), ("two", "default/paint"), ("three", "other"), ("four", "")):
        await world.client.create(app(name=name, uses=uses))
    await world.settle(controller)
    seen.clear()
    await world.client.edit(Secret, "paint", "default", lambda found: found.metadata.labels.update(colour="blue"))
    await until(lambda: {*seen} == {"one", "two"})
    # The index follows the parents.
    await world.change(lambda found: setattr(found.spec, "uses", "paint"), "three")
    await world.change(lambda found: setattr(found.spec, "uses", "other"), "one")
    await world.settle(controller)
    seen.clear()
    await world.client.delete(Secret, "paint", "default")
    await until(lambda: {*seen} == {"two", "three"})


@pytest.mark.feature("E17")
async def test_an_index_is_added_while_the_controller_works(world: World) -> None:
    controller = world.run(rendering(lambda parent, status: []))
    await world.client.create(app(uses="paint"))
    await world.settle(controller)
    await controller.watch(UsedBy(Secret, names=lambda found: [found.spec.uses]))
    before = len(controller.runs)
    await world.client.create(secret("paint", "red"))
    await until(lambda: len(controller.runs) > before)
    assert str(controller.runs[-1].why[0]).startswith("Secret default/paint")


@pytest.mark.feature("E16")
async def test_a_resolver_sees_old_and_new_and_the_last_of_what_was_deleted_and_is_asked_again_when_it_fails(
    world: World,
) -> None:
    asked: list[str] = []
    failures = 2

    def resolve(found: Secret) -> list[str]:
        nonlocal failures
        colour = found.metadata.labels["colour"]
        asked.append(colour)
        if failures:
            failures -= 1
            raise ConnectionError("not now")
        return [colour]

    done: list[str] = []

    def renders(parent: App, status: AppStatus) -> list[Object]:
        done.append(parent.metadata.name)
        return []

    controller = world.run(rendering(renders, watches=[Watch(Secret, mapped(resolve))]))
    for name in ("red", "blue"):
        await world.client.create(app(name=name))
    await world.settle(controller)
    done.clear()
    await world.client.create(secret("paint", "red"))
    await until(lambda: done == ["red"])
    assert (asked, failures) == (["red", "red", "red"], 0)
    await world.client.edit(Secret, "paint", "default", lambda found: found.metadata.labels.update(colour="blue"))
    await until(lambda: {*done} == {"red", "blue"})
    await world.settle(controller)
    done.clear()
    await world.client.delete(Secret, "paint", "default")
    await until(lambda: done == ["blue"])


@pytest.mark.feature("E19")
async def test_what_concerns_all_has_each_parent_rendered_once_however_much_is_said(world: World) -> None:
    trigger = Channel("trigger")
    done: list[str] = []

    def renders(parent: App, status: AppStatus) -> list[Object]:
        done.append(parent.metadata.name)
        return []

    defaults = Everyone(Watch(ConfigMap, labels={"role": "defaults"}))
    controller = world.run(rendering(renders, kinds=[Secret], watches=[Everyone(trigger), defaults]))
    for name in ("one", "two", "three"):
        await world.client.create(app(name=name))
    await world.settle(controller)
    done.clear()
    for number in range(100):
        trigger.send(Request(f"burst-{number}"))
    await until(lambda: len(done) == 3)
    await world.settle(controller)
    assert sorted(done) == ["one", "three", "two"]
    done.clear()
    await world.client.create(config_map("default/defaults", labels={"role": "defaults"}))
    await until(lambda: len(done) == 3)


@pytest.mark.feature("E20", "E18")
async def test_what_is_looked_up_in_another_cluster_brings_a_parent_of_this_one_back(world: World) -> None:
    def renders(ctx: SyncContext, parent: App, status: AppStatus) -> Iterator[Object]:
        found = ctx.lookup(CONFIG_MAP, "paint", "default", cluster="north")
        yield config_map("a", found["data"]["text"] if found else "none")

    async with ControlPlane(system=False) as plane, plane.client() as north:
        handler = rendering(renders, kinds=[ConfigMap], reads=[Watch(CONFIG_MAP, cluster="north")])
        async with Manager(world.client, controllers=[handler], clusters={"north": north}):
            await world.client.create(app())
            await world.client.wait_for(CONFIG_MAP, "a", "default", "jsonpath={.data.text}=none")
            await north.create(config_map("default/paint", "red"))
            await world.client.wait_for(CONFIG_MAP, "a", "default", "jsonpath={.data.text}=red")


@pytest.mark.feature("E20")
async def test_parents_of_another_cluster_have_their_children_there(world: World) -> None:
    trigger = Channel("trigger")
    done: list[str] = []

    def renders(parent: App, status: AppStatus) -> Iterator[Object]:
        done.append(parent.metadata.name)
        yield config_map("a")

    async with ControlPlane(system=False) as plane, plane.client() as north:
        await north.install(App)
        everyone = Everyone(trigger, cluster="north")
        used = UsedBy(Secret, cluster="north", names=lambda found: [found.spec.uses])
        handler = rendering(renders, kind=Watch(App, cluster="north"), watches=[everyone, used])
        async with Manager(world.client, controllers=[handler], clusters={"north": north}):
            await north.create(app(uses="paint"))
            await north.wait_for(CONFIG_MAP, "a", "default", "create", timeout=PATIENCE)
            await north.delete(CONFIG_MAP, "a", "default")
            await north.wait_for(CONFIG_MAP, "a", "default", "create", timeout=PATIENCE)
            before = len(done)
            trigger.send(Request("all"))
            await until(lambda: len(done) > before)
            before = len(done)
            await north.create(secret("paint", "red"))
            await until(lambda: len(done) > before)
        assert await world.names() == set()
