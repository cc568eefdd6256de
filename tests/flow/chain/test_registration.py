"""Handlers that come and go while the chain works."""

import asyncio

import pytest
from tests.flow.chain.worlds import World, config_map, maps, named, settle, until

from setpoint.controller.request import Requeue, TerminalError
from setpoint.flow.chain import Chain, Gone, HandlerContext, RegistrationError, registration
from setpoint.objects.tree import Object


def add(chain: Chain[Object], calls: list[str], name: str, after: tuple[str, ...] = ()) -> object:
    @chain.on_change(name, after=after)
    async def handler(ctx: HandlerContext, obj: Object) -> None:
        calls.append(f"{name} {obj['metadata']['name']}")

    return handler


@pytest.mark.feature("E8")
async def test_one_that_comes_later_is_told_of_everything_and_it_alone(world: World) -> None:
    chain, calls = maps(), list[str]()
    add(chain, calls, "first")
    for name in "abc":
        await world.create(name)
    await world.run(chain)
    calls.clear()
    add(chain, calls, "second", after=("first",))
    await settle(chain)
    assert calls == ["second a", "second b", "second c"]
    assert chain.todo(named("a")) is None
    calls.clear()
    await world.change("b", x="1")
    await settle(chain)
    assert calls == ["first b", "second b"]


@pytest.mark.feature("E8")
async def test_one_that_leaves_is_not_called_any_more_and_its_name_is_free(world: World) -> None:
    chain, calls = maps(), list[str]()
    await world.create()
    await world.run(chain)

    @chain.on_change("guest")
    async def guest(ctx: HandlerContext, obj: Object) -> None:
        calls.append("guest")

    async with guest:
        await until(lambda: calls == ["guest"])
        with pytest.raises(RegistrationError, match="guest is already a handler of configmap"):
            add(chain, calls, "guest")
    await guest.remove()  # again is the same
    await world.change(x="1")
    await settle(chain)
    assert (calls, chain.handlers) == (["guest"], ())
    add(chain, calls, "guest")
    await settle(chain)
    assert calls == ["guest", "guest a"]


@pytest.mark.feature("E8", "G22")
async def test_removal_waits_for_the_calls_that_run_and_skips_nobody_else(world: World) -> None:
    chain, calls, go = maps(concurrency=3), list[str](), asyncio.Event()

    @chain.on_change("slow")
    async def slow(ctx: HandlerContext, obj: Object) -> None:
        calls.append("begins")
        await go.wait()
        calls.append("ends")

    for number in range(4):
        add(chain, calls, f"n{number}")
    for name in "abc":
        await world.create(name)
    world.manager.add(chain)
    await until(lambda: calls == ["begins"] * 3)
    removing = asyncio.ensure_future(slow.remove())
    others = [handler for handler in chain.handlers if handler.name in ("n0", "n2")]
    gone = [asyncio.ensure_future(other.remove()) for other in others]
    await asyncio.sleep(0.01)
    assert not removing.done()
    go.set()
    await asyncio.gather(removing, *gone)
    assert calls.count("ends") == 3
    await settle(chain)
    # While the list of handlers changed under three workers: nobody who stays was missed, nobody who left called.
    assert sorted(call for call in calls if call[0] == "n") == sorted(
        f"{number} {name}" for name in "abc" for number in ("n1", "n3")
    )


@pytest.mark.feature("E8", "G22")
async def test_a_handler_may_remove_itself_and_add_another(world: World) -> None:
    chain, calls = maps(), list[str]()

    @chain.on_change("once")
    async def once(ctx: HandlerContext, obj: Object) -> None:
        calls.append("once")
        add(chain, calls, "next")
        await once.remove()
        raise Requeue(0.001)  # nobody is there to come again

    await world.create()
    await world.run(chain)
    await world.change(x="1")
    await settle(chain)
    assert (calls[0], calls.count("once"), calls.count("next a")) == ("once", 1, 2)
    assert chain.todo(named("a")) is None


@pytest.mark.feature("E8", "G22")
async def test_a_handler_of_removals_may_remove_itself(world: World) -> None:
    chain, calls = maps(finalizer="example.com/maps"), list[str]()

    @chain.on_remove("last")
    async def last(ctx: HandlerContext, obj: Object) -> None:
        calls.append(obj["metadata"]["name"])
        await last.remove()

    await world.create()
    await world.run(chain)
    await world.delete()
    await world.is_gone()
    assert calls == ["a"]


@pytest.mark.feature("E8")
async def test_when_what_others_wait_for_leaves_they_go_on(world: World) -> None:
    chain, calls = maps(), list[str]()

    @chain.on_change("broken")
    async def broken(ctx: HandlerContext, obj: Object) -> None:
        raise TerminalError("never")

    add(chain, calls, "waits", after=("broken",))
    await world.create()
    await world.run(chain)
    assert calls == []
    await broken.remove()
    await settle(chain)
    assert calls == ["waits a"]


@pytest.mark.feature("E9")
async def test_what_is_registered_together_is_called_when_the_block_ended_well(world: World) -> None:
    configs, secrets, calls = maps(), Chain("v1/Secret"), list[str]()
    await world.create()
    await world.client.create({**config_map("s"), "kind": "Secret"})
    await world.run(configs)
    await world.run(secrets)
    async with registration(configs, secrets) as (new_configs, new_secrets):

        @new_configs.on_change("one", after=["two"])
        async def one(ctx: HandlerContext, obj: Object) -> None:
            calls.append("one")

        @new_configs.on_change("two")
        async def two(ctx: HandlerContext, obj: Object) -> None:
            calls.append("two")

        @new_secrets.on_change("three")
        async def three(ctx: HandlerContext, obj: Object) -> None:
            calls.append("three")

        await world.change(x="1")
        await settle(configs)
        await settle(secrets)
        assert calls == []
    await until(lambda: len(calls) == 3)
    assert [call for call in calls if call != "three"] == ["two", "one"]


@pytest.mark.feature("E9")
async def test_a_handler_of_a_block_has_the_finalizer_of_its_chain_and_can_be_removed(world: World) -> None:
    chain, calls = maps(finalizer="example.com/maps"), list[str]()
    await world.create()
    await world.run(chain)
    async with chain.registration() as new:

        @new.on_remove("clean-up")
        async def clean_up(ctx: HandlerContext, obj: Object) -> None:
            calls.append("clean-up")

        @new.on_change("count")
        async def count(ctx: HandlerContext, obj: Object) -> None:
            calls.append("count")

    await until(lambda: "count" in calls)
    assert (await world.get())["metadata"]["finalizers"] == ["example.com/maps"]
    await count.remove()
    assert [each.name for each in chain.handlers] == ["clean-up"]
    await world.delete()
    await world.is_gone()
    assert [call for call in calls if call != "count"] == ["clean-up"]


@pytest.mark.feature("E9")
@pytest.mark.parametrize("fails", ["in the block", "at its end"])
async def test_nothing_is_left_of_a_registration_that_failed(world: World, fails: str) -> None:
    configs, secrets, calls = maps(), Chain("v1/Secret"), list[str]()
    await world.create()
    await world.run(configs)
    await world.run(secrets)

    async def register() -> None:
        async with registration(configs, secrets) as (new_configs, new_secrets):

            @new_configs.on_change("good")
            async def good(ctx: HandlerContext, obj: Object) -> None:
                calls.append("good")

            @new_secrets.on_change("bad", after=["good"] if fails == "at its end" else [])
            async def bad(ctx: HandlerContext, obj: Object) -> None:
                calls.append("bad")

            if fails == "in the block":
                raise RegistrationError("something else went wrong")

    with pytest.raises(RegistrationError):
        await register()
    await world.change(x="1")
    await settle(configs)
    assert (calls, configs.handlers, secrets.handlers) == ([], (), ())


def test_objects_that_are_gone_and_others_are_two_orders() -> None:
    chain = maps()

    @chain.on_delete("gone")
    async def gone(ctx: HandlerContext, found: Gone[Object]) -> None: ...

    with pytest.raises(RegistrationError, match="cannot come after gone"):
        add(chain, [], "there", after=("gone",))


@pytest.mark.feature("E8", "G22")
async def test_nothing_is_kept_for_one_that_left_while_it_had_something_to_do(world: World) -> None:
    chain, calls = maps(), list[str]()

    @chain.on_delete("forget")
    async def forget(ctx: HandlerContext, found: Gone[Object]) -> None:
        raise Requeue(3600)

    @chain.on_delete("then", after=["forget"])
    async def then(ctx: HandlerContext, found: Gone[Object]) -> None:
        calls.append(found.last_known["metadata"]["name"])

    @chain.on_change("waits")
    async def waits(ctx: HandlerContext, obj: Object) -> None:
        raise Requeue(3600)

    await world.create("a")
    await world.create("b")
    await world.run(chain)
    await world.delete("a")
    await settle(chain)
    assert calls == []
    await forget.remove()
    await until(lambda: calls == ["a"])
    await waits.remove()
    await settle(chain)
    assert (chain.todo(named("a")), chain.todo(named("b"))) == (None, None)


@pytest.mark.parametrize(("timeout", "is_valid"), [(None, True), (0.001, True), (1, True), (0, False), (-1, False)])
def test_every_timeout_above_zero_is_valid(timeout: float | None, is_valid: bool) -> None:
    chain = maps()

    async def handler(ctx: HandlerContext, obj: Object) -> None:
        """Is never called."""

    if is_valid:
        assert chain.on_change("first", timeout=timeout)(handler).settings.timeout == timeout
    else:
        with pytest.raises(RegistrationError, match="first: timeout must be greater than 0"):
            chain.on_change("first", timeout=timeout)(handler)
