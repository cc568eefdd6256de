"""Several handlers of one kind: in order, each with what the one before made, each for itself when it fails."""

import asyncio
import logging
from typing import Any

import pytest
from tests.flow.chain.worlds import CONFIG_MAP, World, maps, named, new_world, settle, until

from setpoint.client.patches import merge
from setpoint.controller.ratelimit import FastSlow
from setpoint.controller.request import Requeue, TerminalError
from setpoint.controller.suspension import SUSPEND
from setpoint.flow.chain import HandlerContext, RegistrationError, Skip
from setpoint.flow.chain.register import Registrar
from setpoint.objects.errors import Conflict
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupResource
from setpoint.objects.metrics import exposition
from setpoint.objects.tree import Object


def noting(chain: Registrar[Object], calls: list[str], *names: str, **how: Any) -> None:
    """Handlers that say that they were called."""
    for name in names:

        async def handler(ctx: HandlerContext, obj: Object, name: str = name) -> None:
            calls.append(f"{name} {obj['metadata']['name']}")

        chain.on_change(name, **how)(handler)


@pytest.mark.feature("E7")
async def test_handlers_are_called_as_registered_unless_one_says_what_it_comes_after(world: World) -> None:
    chain, calls = maps(), list[str]()
    async with chain.registration() as new:
        noting(new, calls, "last", after=["first"])
        noting(new, calls, "middle", "first")
    noting(chain, calls, "end")
    assert [handler.name for handler in chain.handlers] == ["middle", "first", "last", "end"]
    await world.create()
    await world.run(chain)
    assert calls == ["middle a", "first a", "last a", "end a"]


@pytest.mark.feature("E7", "E33")
async def test_all_handlers_share_one_informer_and_one_queue(world: World) -> None:
    chain, calls = maps(), list[str]()
    noting(chain, calls, "one", "two", "three")
    await world.run(chain)
    assert len(world.manager.cache.informers) == 1
    await world.create()
    await until(lambda: len(calls) == 3)
    assert len(chain.runs) == 1


@pytest.mark.feature("E7")
@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"a": ["b"]}, "unknown handlers"),
        ({"a": ["b"], "b": ["a"]}, "a after b after a"),
        ({"a": ["a"]}, "a after a"),
        ({"a": ["c"], "b": ["a"], "c": ["b"]}, "form a cycle"),
    ],
)
async def test_orders_that_cannot_be_are_found_when_handlers_are_registered(
    world: World, after: dict[str, list[str]], said: str
) -> None:
    chain = maps()

    async def register() -> None:
        async with chain.registration() as new:
            for name, others in after.items():
                noting(new, [], name, after=others)

    with pytest.raises(RegistrationError, match=said):
        await register()
    assert chain.handlers == ()


def test_what_cannot_be_a_handler_is_refused_with_the_remedy() -> None:
    chain = maps()
    noting(chain, [], "taken")
    with pytest.raises(RegistrationError, match="taken is already a handler of configmap"):
        noting(chain, [], "taken")
    with pytest.raises(RegistrationError, match="known handlers: taken"):
        noting(chain, [], "x", after=["token"])
    with pytest.raises(RegistrationError, match="needs a name"):
        noting(chain, [], "")
    with pytest.raises(RegistrationError, match="timeout must be greater than 0"):
        noting(chain, [], "x", timeout=0)
    with pytest.raises(TypeError, match="async def"):
        chain.on_change("plain")(lambda ctx, obj: None)
    with pytest.raises(ValueError, match="backoff="):
        maps(limiter=lambda: FastSlow(1, 2, 3))
    with pytest.raises(ValueError, match="timeout="):
        maps(timeout=5)
    assert [handler.name for handler in chain.handlers] == ["taken"]


@pytest.mark.feature("E7", "E32")
async def test_a_handler_gets_what_the_one_before_returned_or_wrote(world: World) -> None:
    chain, seen = maps(), list[dict[str, str]]()

    @chain.on_change("returns")
    async def returns(ctx: HandlerContext, obj: Object) -> Object:
        return await ctx.client.patch(CONFIG_MAP, merge({"data": {"one": "1"}}), "a", "default")  # type: ignore[no-any-return]

    @chain.on_change("writes")
    async def writes(ctx: HandlerContext, obj: Object) -> None:
        seen.append(dict(obj["data"]))
        await ctx.client.patch(CONFIG_MAP, merge({"data": {"two": "2"}}), "a", "default")

    @chain.on_change("only-says")
    async def says(ctx: HandlerContext, obj: Object) -> Object:
        seen.append(dict(obj["data"]))
        return {**thaw(obj), "data": {"said": "yes"}}

    @chain.on_change("fails-after-a-write")
    async def fails(ctx: HandlerContext, obj: Object) -> None:
        seen.append(dict(obj["data"]))
        await ctx.client.patch(CONFIG_MAP, merge({"data": {"three": "3"}}), "a", "default")
        raise TerminalError("no more")

    @chain.on_change("looks")
    async def looks(ctx: HandlerContext, obj: Object) -> None:
        seen.append(dict(obj["data"]))
        with pytest.raises(TypeError):
            obj["data"]["x"] = "what is shared cannot be changed"

    await world.create()
    await world.run(chain)
    assert seen[:4] == [
        {"one": "1"},
        {"one": "1", "two": "2"},
        {"said": "yes"},
        {"one": "1", "two": "2", "three": "3"},
    ]


async def test_a_handler_that_returns_something_else_is_told_so(world: World) -> None:
    chain = maps()

    @chain.on_change("other")
    async def other(ctx: HandlerContext, obj: Object) -> Object:
        return {**thaw(obj), "metadata": {"name": "b", "namespace": "default"}}

    @chain.on_change("text")
    async def text(ctx: HandlerContext, obj: Object) -> Any:
        return "done"

    await world.create()
    await world.run(chain)
    assert (other.results["terminal"], text.results["terminal"]) == (1, 1)
    assert "not default/b" in str(chain.runs[0].error)


@pytest.mark.feature("E7", "E25", "G19")
async def test_the_failure_of_one_handler_repeats_that_one_and_what_builds_on_it_and_nobody_else() -> None:
    async with new_world(turned=True) as world:
        chain, calls, broken = maps(), list[str](), True
        noting(chain, calls, "before")

        @chain.on_change("fails", backoff=lambda: FastSlow(10, 60, 2))
        async def fails(ctx: HandlerContext, obj: Object) -> None:
            calls.append(f"fails {ctx.attempt}")
            if broken:
                raise RuntimeError("no")

        noting(chain, calls, "builds-on-it", after=["fails"])
        noting(chain, calls, "builds-on-that", after=["builds-on-it"])
        noting(chain, calls, "apart")
        await world.create()
        await world.run(chain)
        assert calls == ["before a", "fails 0", "apart a"]
        calls.clear()
        await world.turn(9, chain)
        assert calls == []
        await world.turn(1, chain)
        assert calls == ["fails 1"]
        # A change is for everybody, at once, and nobody waits for the backoff of another.
        calls.clear()
        await world.change(x="1")
        await settle(chain)
        assert calls == ["before a", "fails 2", "apart a"]
        calls.clear()
        broken = False
        await world.turn(60, chain)
        assert calls == ["fails 3", "builds-on-it a", "builds-on-that a"]
        calls.clear()
        broken = True
        await world.change(x="2")
        await settle(chain)
        await world.turn(10, chain)  # the first failure after a success waits as little as the first of all
        assert calls.count("fails 1") == 1


@pytest.mark.feature("E7", "E29", "G25")
async def test_a_handler_that_panics_or_hangs_ends_nothing_but_its_own_call(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with new_world(turned=True) as world:
            chain, calls = maps(), list[str]()

            @chain.on_change("hangs", timeout=30)
            async def hangs(ctx: HandlerContext, obj: Object) -> None:
                calls.append(f"hangs, for at most {ctx.seconds_left}")
                await asyncio.Event().wait()

            @chain.on_change("panics", timeout=5)
            async def panics(ctx: HandlerContext, obj: Object) -> None:
                calls.append(f"panics within {ctx.seconds_left}")
                raise AssertionError("impossible")

            @chain.on_change("waits-for-what-was-cancelled")
            async def waits(ctx: HandlerContext, obj: Object) -> None:
                gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                gone.cancel()
                await gone

            noting(chain, calls, "well")
            await world.create()
            world.manager.add(chain)
            await until(lambda: len(calls) == 1)
            assert world.clock is not None
            world.clock.advance(30)
            await until(lambda: len(calls) == 3)
            assert calls == ["hangs, for at most 30.0", "panics within 5.0", "well a"]
            assert hangs.results["timeout"] == 1
            await until(lambda: panics.results["error"] == 1 and waits.results["error"] == 1 and len(chain.runs) == 1)
            assert "in the handler panics of configmap" in caplog.text
            assert "configmap/hangs default/a: the reconcile exceeded its timeout of 30 s" in caplog.text


@pytest.mark.feature("E30")
async def test_a_terminal_error_waits_for_the_next_change_while_others_are_tried_again() -> None:
    async with new_world(turned=True) as world:
        chain, calls = maps(), list[str]()

        @chain.on_change("terminal")
        async def terminal(ctx: HandlerContext, obj: Object) -> None:
            calls.append("terminal")
            raise TerminalError("never")

        noting(chain, calls, "builds-on-it", after=["terminal"])

        @chain.on_change("again")
        async def again(ctx: HandlerContext, obj: Object) -> None:
            calls.append("again")
            raise Requeue(5)

        await world.create()
        await world.run(chain)
        await world.turn(5, chain)
        assert calls == ["terminal", "again", "again"]
        await world.change(x="1")
        await settle(chain)
        assert calls.count("terminal") == 2
        assert chain.runs[0].result == "terminal"


@pytest.mark.feature("E31")
async def test_a_conflict_is_tried_again_and_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with new_world() as world:
            chain, tries = maps(), list[int]()

            @chain.on_change("late")
            async def late(ctx: HandlerContext, obj: Object) -> None:
                tries.append(ctx.attempt)
                if len(tries) < 3:
                    raise Conflict.modified(GroupResource("", "configmaps"), "a")

            await world.create()
            await world.run(chain)
            await until(lambda: len(tries) == 3)
            assert (late.results["conflict"], late.results["success"]) == (2, 1)
            assert [run.result for run in chain.runs][:2] == ["conflict", "conflict"]
    assert "configmap" not in caplog.text


@pytest.mark.feature("E26", "G20")
async def test_what_is_enqueued_comes_at_once_and_what_is_for_later_at_the_earliest_of_its_times() -> None:
    async with new_world(turned=True) as world:
        chain, calls = maps(), list[str]()
        noting(chain, calls, "counts")
        await world.create()
        await world.run(chain)
        for _ in range(3):  # however often: nothing is held back as if it had failed
            chain.enqueue_object("a", "default")
            await settle(chain)
        assert len(calls) == 4
        chain.enqueue_after("a", "default", seconds=60)
        chain.enqueue_after("a", "default", seconds=20)
        chain.enqueue_after("a", "default", seconds=40)
        await world.change(x="1")  # what happens meanwhile does not take the other time's place
        await settle(chain)
        assert len(calls) == 5
        await world.turn(19, chain)
        assert len(calls) == 5
        await world.turn(1, chain)
        assert len(calls) == 6
        await world.turn(60, chain)
        assert len(calls) == 6
        assert chain.todo(named("a")) is None


@pytest.mark.feature("E7", "E26")
async def test_a_handler_asks_for_another_time_for_itself() -> None:
    async with new_world(turned=True) as world:
        chain, calls = maps(), list[str]()

        @chain.on_change("polls")
        async def polls(ctx: HandlerContext, obj: Object) -> None:
            calls.append("polls")
            ctx.requeue_after(60)
            ctx.requeue_after(30)

        noting(chain, calls, "builds-on-it", after=["polls"])
        noting(chain, calls, "apart")
        await world.create()
        await world.run(chain)
        calls.clear()
        await world.turn(29, chain)
        assert calls == []
        await world.turn(1, chain)
        assert calls == ["polls", "builds-on-it a"]


async def test_a_handler_that_skips_is_at_rest_until_the_next_change(world: World) -> None:
    chain, calls = maps(), list[str]()

    @chain.on_change("skips")
    async def skips(ctx: HandlerContext, obj: Object) -> Object:
        raise Skip("nothing to do here")

    noting(chain, calls, "builds-on-it", after=["skips"])
    await world.create()
    await world.run(chain)
    assert (calls, skips.results["skipped"], chain.runs[0].result) == (["builds-on-it a"], 1, "success")


@pytest.mark.feature("E7")
async def test_handlers_that_apply_do_not_take_each_others_fields_away(world: World) -> None:
    chain = maps()
    for name in ("one", "two"):

        async def applies(ctx: HandlerContext, obj: Object, name: str = name) -> Object:
            tree = {"apiVersion": "v1", "kind": "ConfigMap", "data": {name: "1"}}
            return await ctx.client.apply({**tree, "metadata": {"name": "a", "namespace": "default"}})

        chain.on_change(name)(applies)
    await world.create()
    await world.run(chain)
    assert (await world.get())["data"] == {"one": "1", "two": "1"}


async def test_what_one_handler_looked_up_is_remembered_while_another_is_tried_again() -> None:
    async with new_world(turned=True) as world:
        chain, calls = maps(reads=["v1/Secret"]), list[str]()

        @chain.on_change("looks")
        async def looks(ctx: HandlerContext, obj: Object) -> None:
            calls.append("looks")
            await ctx.client.find("v1/Secret", "key", "default")

        @chain.on_change("polls")
        async def polls(ctx: HandlerContext, obj: Object) -> None:
            ctx.requeue_after(10)

        await world.create()
        await world.run(chain)
        await world.turn(10, chain)
        assert calls == ["looks"]
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "default"}}
        await world.client.create(secret)
        await until(lambda: calls == ["looks", "looks"])


@pytest.mark.feature("E75")
async def test_each_handler_has_measurements_of_its_own(world: World) -> None:
    chain = maps()
    noting(chain, [], "well")

    @chain.on_change("fails")
    async def fails(ctx: HandlerContext, obj: Object) -> None:
        raise Requeue(1000, "not yet")

    await world.create()
    await world.run(chain)
    page = list(exposition(world.manager.metrics.families()))
    assert 'setpoint_handler_total{controller="configmap",handler="well",result="success"} 1' in page
    assert 'setpoint_handler_total{controller="configmap",handler="fails",result="requeue"} 1' in page
    assert 'setpoint_handler_duration_seconds_count{controller="configmap",handler="well"} 1' in page
    assert 'setpoint_handler_failing{controller="configmap",handler="fails"} 1' in page


async def test_an_object_that_asks_for_it_is_left_alone_by_all_handlers(world: World) -> None:
    chain, calls = maps(), list[str]()
    noting(chain, calls, "one")
    await world.create(annotations={SUSPEND: "true"})
    await world.run(chain)
    await world.change(x="1")
    await settle(chain)
    assert calls == []


async def test_the_log_lines_of_a_handler_name_the_handler(world: World, caplog: pytest.LogCaptureFixture) -> None:
    chain = maps(name="maps")

    @chain.on_change("label")
    async def label(ctx: HandlerContext, obj: Object) -> None:
        ctx.log.warning("no zone")

    await world.create()
    await world.run(chain)
    [record] = [each for each in caplog.records if "no zone" in each.getMessage()]
    assert vars(record)["controller"] == "maps/label"
    assert vars(record)["handler"] == "label"
    assert vars(record)["key"] == "default/a"
