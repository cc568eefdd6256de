"""Objects that go: held until they were cleaned up after, and told of when they are gone."""

import asyncio
from typing import Any

import pytest
from tests.controller.core.worlds import Widget, widget
from tests.flow.chain.worlds import CONFIG_MAP, World, maps, named, new_world, settle, until

from setpoint.client.patches import merge
from setpoint.controller.request import Requeue, TerminalError
from setpoint.flow.chain import Chain, Gone, HandlerContext, RegistrationError, Skip
from setpoint.objects.tree import Object

ONE, TWO, OLD = "example.com/one", "example.com/two", "example.com/old"


async def finalizers(world: World, name: str = "a") -> list[str]:
    return list((await world.get(name))["metadata"].get("finalizers", []))


@pytest.mark.feature("E65")
async def test_finalizers_are_put_on_in_one_write_before_any_handler_is_called(world: World) -> None:
    chain, seen = maps(finalizer=ONE), list[Any]()

    @chain.on_change("side-effect")
    async def effect(ctx: HandlerContext, obj: Object) -> None:
        seen.append((obj["metadata"]["finalizers"], await finalizers(world)))

    for name, finalizer in (("a", ""), ("b", TWO), ("c", "")):

        @chain.on_remove(name, finalizer=finalizer)
        async def clean_up(ctx: HandlerContext, obj: Object) -> None: ...

    await world.create()
    await world.run(chain)
    assert seen[0] == ([ONE, TWO], [ONE, TWO])
    assert [str(write) for write in chain.runs[0].writes] == ["patch ConfigMap default/a"]


@pytest.mark.feature("E65", "G24")
async def test_several_who_clean_up_are_each_called_once_and_let_the_object_go(world: World) -> None:
    chain, calls = maps(), list[str]()
    for number in range(5):

        @chain.on_remove(f"clean-{number}", finalizer=f"example.com/clean-{number}")
        async def clean_up(ctx: HandlerContext, obj: Object, number: int = number) -> None:
            calls.append(f"{number} of {len(obj['metadata']['finalizers'])}")
            if number == 2:  # somebody else writes, behind the back of what the cache shows
                await world.client.patch(CONFIG_MAP, merge({"data": {"x": "1"}}), "a", "default")

    await world.create()
    await world.run(chain)
    await world.delete()
    await world.is_gone()
    await settle(chain)
    assert calls == ["0 of 5", "1 of 4", "2 of 3", "3 of 2", "4 of 1"]
    assert not [run for run in chain.runs if run.error is not None]
    assert chain.todo(named("a")) is None


@pytest.mark.feature("E65")
async def test_a_finalizer_that_is_shared_stays_until_the_last_has_ended_well() -> None:
    async with new_world(turned=True) as world:
        chain, calls, ready = maps(finalizer=ONE), list[str](), False

        @chain.on_remove("first")
        async def first(ctx: HandlerContext, obj: Object) -> None:
            calls.append("first")

        @chain.on_remove("second", after=["first"])
        async def second(ctx: HandlerContext, obj: Object) -> None:
            calls.append("second")
            if not ready:
                raise Requeue(30, "still draining")

        await world.create()
        await world.run(chain)
        await world.delete()
        await settle(chain)
        assert await finalizers(world) == [ONE]
        await world.turn(30, chain)
        ready = True
        await world.turn(30, chain)
        await world.is_gone()
        assert calls == ["first", "second", "second", "second"]


@pytest.mark.feature("E65", "G3")
@pytest.mark.parametrize("how", ["fails", "terminal", "skips", "asks for another time"])
async def test_whoever_has_not_cleaned_up_keeps_the_object(how: str) -> None:
    async with new_world(turned=True) as world:
        chain, calls = maps(), list[str]()

        @chain.on_remove("clean", finalizer=ONE)
        async def clean_up(ctx: HandlerContext, obj: Object) -> None:
            calls.append(how)
            if len(calls) > 1:
                return
            if how == "asks for another time":
                ctx.requeue_after(60)
                return
            raise {"fails": RuntimeError("no"), "terminal": TerminalError("no"), "skips": Skip()}[how]

        await world.create()
        await world.run(chain)
        await world.delete()
        await until(lambda: bool(calls))
        assert await finalizers(world) == [ONE]
        await world.turn(60, chain)
        if how in ("terminal", "skips"):
            assert await finalizers(world) == [ONE]
            await world.change(x="1")  # only a change has it tried again
        await world.is_gone()
        assert len(calls) == 2


@pytest.mark.feature("E65")
async def test_a_handler_can_be_renamed_and_retired_without_stranding_its_finalizer(world: World) -> None:
    before, calls = maps(name="before"), list[str]()

    @before.on_remove("old-name", finalizer=ONE)
    async def clean_up(ctx: HandlerContext, obj: Object) -> None:
        calls.append("old")

    @before.on_remove("given-up", finalizer=OLD)
    async def given_up(ctx: HandlerContext, obj: Object) -> None:
        calls.append("given up")

    await world.create()
    await world.create("b")
    await world.run(before)
    await world.manager.remove(before)
    await world.delete("b")
    after = maps(name="after", retired=[OLD])

    @after.on_remove("new-name", finalizer=ONE)
    async def clean_up_too(ctx: HandlerContext, obj: Object) -> None:
        calls.append("new")

    await world.run(after)
    assert await finalizers(world) == [ONE]
    await world.is_gone("b")
    assert calls == ["new"]


def test_who_cleans_up_needs_a_finalizer_that_servers_take() -> None:
    chain = maps()
    with pytest.raises(RegistrationError, match=r"finalizer='example.com/clean'"):
        chain.on_remove("clean")
    for bad in ("no-domain", "example.com/", "exa mple.com/x"):
        with pytest.raises(RegistrationError, match="DOMAIN/NAME"):
            chain.on_remove("clean", finalizer=bad)
        with pytest.raises(RegistrationError, match="DOMAIN/NAME"):
            maps(retired=[bad])


async def test_objects_that_are_being_deleted_are_only_for_those_that_say_so(world: World) -> None:
    chain, calls = maps(), list[str]()

    @chain.on_change("lives")
    async def lives(ctx: HandlerContext, obj: Object) -> None:
        calls.append("lives")

    @chain.on_change("also", deleting=True)
    async def also(ctx: HandlerContext, obj: Object) -> None:
        calls.append(f"also {'deletionTimestamp' in obj['metadata']}")

    await world.create(finalizers=[TWO])
    await world.run(chain)
    await world.delete()
    await settle(chain)
    assert calls == ["lives", "also False", "also True"]
    await world.client.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), "a", "default")
    await settle(chain)
    assert len(calls) == 3


@pytest.mark.feature("E67")
async def test_what_is_gone_is_told_as_it_was_last(world: World) -> None:
    chain, gone = maps(), list[Gone[Object]]()

    @chain.on_delete("forget")
    async def forget(ctx: HandlerContext, found: Gone[Object]) -> None:
        gone.append(found)

    await world.create()
    await world.run(chain)
    await world.change(last="yes")
    await settle(chain)
    assert gone == []
    await world.delete()
    await until(lambda: bool(gone))
    assert gone[0].last_known["data"] == {"last": "yes"}
    assert not gone[0].unseen
    assert chain.todo(named("a")) is None


@pytest.mark.feature("E67")
async def test_typed_objects_that_are_gone_are_typed(world: World) -> None:
    await world.client.install(Widget)
    chain, sizes = Chain(Widget), list[int]()

    @chain.on_change("look")
    async def look(ctx: HandlerContext, found: Widget) -> Widget:
        changed = found.edit()
        changed.spec.size += 1
        return await ctx.client.update(changed) if found.spec.size < 3 else found

    @chain.on_delete("forget")
    async def forget(ctx: HandlerContext, found: Gone[Widget]) -> None:
        sizes.append(found.last_known.spec.size)

    await world.client.create(widget(size=1))
    await world.run(chain)
    await world.client.delete(Widget, "w", "default")
    await until(lambda: sizes == [3])


@pytest.mark.feature("E67", "G19")
async def test_who_fails_at_what_is_gone_is_told_again_and_the_others_are_not() -> None:
    async with new_world(turned=True) as world:
        chain, calls = maps(), list[str]()

        @chain.on_delete("fails")
        async def fails(ctx: HandlerContext, found: Gone[Object]) -> None:
            calls.append(f"fails {found.last_known['metadata']['name']}")
            if calls.count("fails a") < 3:
                raise Requeue(10)

        @chain.on_delete("builds-on-it", after=["fails"])
        async def after(ctx: HandlerContext, found: Gone[Object]) -> None:
            calls.append("builds on it")

        @chain.on_delete("apart")
        async def apart(ctx: HandlerContext, found: Gone[Object]) -> None:
            calls.append("apart")

        @chain.on_delete("gives-up")
        async def gives_up(ctx: HandlerContext, found: Gone[Object]) -> None:
            calls.append("gives up")
            raise TerminalError("never")

        await world.create()
        await world.run(chain)
        await world.delete()
        await settle(chain)
        await world.turn(10, chain)
        await world.turn(10, chain)
        assert calls == ["fails a", "apart", "gives up", "fails a", "fails a", "builds on it"]
        assert chain.todo(named("a")) is None


@pytest.mark.feature("E67")
async def test_one_that_was_made_anew_under_the_same_name_is_told_of_after_the_old_one(world: World) -> None:
    chain, calls, first = maps(), list[str](), asyncio.Event()

    @chain.on_change("sees")
    async def sees(ctx: HandlerContext, obj: Object) -> None:
        calls.append(f"sees {obj['data']['n']}")
        if not first.is_set():
            await first.wait()

    @chain.on_delete("forget")
    async def forget(ctx: HandlerContext, found: Gone[Object]) -> None:
        calls.append(f"forget {found.last_known['data']['n']}")

    async def make(number: int) -> None:
        await world.client.create({**(await world_map()), "data": {"n": str(number)}})

    async def world_map() -> Object:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}

    world.manager.add(chain)
    await make(1)
    await until(lambda: calls == ["sees 1"])
    await world.delete()
    await make(2)
    await world.delete()
    await make(3)
    await until(lambda: world.manager.cache.informer(CONFIG_MAP).get("default/a")["data"]["n"] == "3")  # type: ignore[index]
    first.set()
    await until(lambda: calls[-1] == "sees 3")
    assert calls == ["sees 1", "forget 1", "forget 2", "sees 3"]


@pytest.mark.feature("E32")
async def test_what_was_let_go_is_not_brought_back_by_a_cache_that_still_has_it(world: World) -> None:
    chain, calls = maps(), list[str]()

    @chain.on_remove("clean", finalizer=ONE)
    async def clean_up(ctx: HandlerContext, obj: Object) -> None:
        calls.append("clean")
        chain.enqueue_object("a", "default")  # there is more to do at once, before the cache has heard of it

    @chain.on_change("sees", deleting=True)
    async def sees(ctx: HandlerContext, obj: Object) -> None:
        calls.append(f"sees {obj['metadata'].get('finalizers')}")

    await world.create()
    await world.run(chain)
    await world.delete()
    await world.is_gone()
    await settle(chain)
    assert calls[-2:] == [f"sees ['{ONE}']", "clean"]
    assert not [run for run in chain.runs if run.error is not None]
