"""`def` handlers of a chain run in threads, between `async def` ones."""

import threading

import pytest
from tests.flow.chain.worlds import World, config_map, maps, named, new_world, until

from setpoint.flow.chain import Gone, HandlerContext, SyncHandlerContext
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object

FINALIZER = "example.com/maps"


def in_thread() -> bool:
    return threading.current_thread().name.startswith("configmap_reconcile_")


async def test_handlers_of_both_kinds_pass_the_object_to_each_other_and_share_the_status(world: World) -> None:
    chain, seen = maps(), []

    @chain.on_change("first")
    def first(ctx: SyncHandlerContext, obj: Object) -> Object:
        assert in_thread()
        ctx.requeue_after(600)
        made: Object = thaw(obj)
        made["data"] = {"by": ctx.handler.name}
        ctx.client.apply(config_map("child"))
        return made

    @chain.on_change("second", after=["first"])
    async def second(ctx: HandlerContext, obj: Object) -> None:
        assert not in_thread()
        seen.append(obj["data"])

    await world.run(chain)
    await world.create("a")
    await until(lambda: bool(seen))
    assert seen[0] == {"by": "first"}
    child = await world.get("child")
    assert [entry["manager"] for entry in child["metadata"]["managedFields"]] == ["configmap/first"]
    assert {name: handler.is_blocking for name, handler in zip(("first", "second"), chain.handlers, strict=True)} == {
        "first": True,
        "second": False,
    }
    todo = chain.todo(named("a"))
    assert todo is not None  # the requested next call


async def test_a_def_handler_cleans_up_and_is_told_of_deletions(world: World) -> None:
    chain, calls = maps(finalizer=FINALIZER), []

    @chain.on_remove("release")
    def release(ctx: SyncHandlerContext, obj: Object) -> None:
        assert in_thread()
        calls.append(f"release {ctx.request.name}")

    @chain.on_delete("forget")
    def forget(ctx: SyncHandlerContext, gone: Gone[Object]) -> None:
        assert in_thread()
        calls.append(f"forget {gone.last_known['metadata']['name']}")

    await world.run(chain)
    await world.create("a")
    await world.client.wait_for("v1/ConfigMap", "a", "default", lambda found: bool(found["metadata"].get("finalizers")))
    await world.delete("a")
    await world.is_gone("a")
    await until(lambda: len(calls) == 2)
    assert calls == ["release a", "forget a"]


async def test_a_def_handler_that_waits_too_long_fails_alone_and_is_called_again() -> None:
    async with new_world(turned=True) as world:
        chain, calls = maps(), []

        @chain.on_change("slow", timeout=30)
        def slow(ctx: SyncHandlerContext, obj: Object) -> None:
            calls.append("slow")
            if ctx.attempt == 0:
                ctx.sleep(3600)

        @chain.on_change("other")
        def other(ctx: SyncHandlerContext, obj: Object) -> None:
            calls.append("other")

        assert world.clock is not None
        await world.create("a")
        world.manager.add(chain)
        await until(lambda: calls == ["slow"])
        world.clock.advance(30)
        await until(lambda: calls == ["slow", "other"])
        await world.turn(1, chain)
        assert calls == ["slow", "other", "slow"]
        assert chain.handlers[0].results == {"timeout": 1, "success": 1}


def test_a_lambda_is_refused() -> None:
    with pytest.raises(TypeError, match="`async def` or `def`"):
        maps().on_change("x")(lambda ctx, obj: None)
