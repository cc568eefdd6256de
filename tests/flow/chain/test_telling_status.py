"""What handlers report is one status; and what a chain says of itself when it is started again, or hangs."""

import asyncio
from typing import Any

import pytest
from tests.controller.core.worlds import Widget, widget
from tests.flow.chain.worlds import World, maps, new_world, settle, until

from setpoint.client.transport import Answer, Call
from setpoint.controller.request import Requeue
from setpoint.flow.chain import Chain, HandlerContext
from setpoint.objects.tree import Object


@pytest.mark.feature("E7", "E73")
async def test_all_handlers_report_into_one_status_that_is_written_once() -> None:
    async with new_world(turned=True) as world:
        await world.client.install(Widget)
        chain, broken = Chain(Widget), True

        @chain.on_change("size")
        async def size(ctx: HandlerContext, found: Widget) -> None:
            ctx.status["size"] = found.spec.size

        @chain.on_change("count")
        async def count(ctx: HandlerContext, found: Widget) -> None:
            (await ctx.load_status())["count"] = 7
            if broken:
                raise Requeue(10)

        await world.client.create(widget(size=3))
        await world.run(chain)
        found = await world.client.get(Widget, "w", "default")
        assert found.status is not None
        # What was found out is reported, but not that all of it was.
        assert (found.status.size, found.status.count, found.status.observed_generation) == (3, 7, 0)
        assert [str(write) for write in chain.runs[0].writes] == ["patch Widget/status default/w"]
        broken = False
        await world.turn(10, chain)
        found = await world.client.get(Widget, "w", "default")
        assert found.status is not None
        assert (found.status.size, found.status.observed_generation) == (3, 1)
        assert len(chain.runs) == 2  # our own report brings nobody back


async def test_a_status_that_could_not_be_written_is_found_out_again(world: World) -> None:
    await world.client.install(Widget)
    chain, calls = Chain(Widget), list[str]()
    refused = 0

    @chain.on_change("size")
    async def size(ctx: HandlerContext, found: Widget) -> None:
        calls.append("size")
        ctx.status["size"] = found.spec.size

    transport: Any = world.manager.cache.client.transport
    send = transport.send

    async def sometimes(call: Call) -> Answer:
        nonlocal refused
        if call.path.endswith("/status") and refused < 2:
            refused += 1
            return Answer(500, {"content-type": "application/json"}, b'{"kind":"Status","code":500,"message":"no"}')
        answer: Answer = await send(call)
        return answer

    transport.send = sometimes
    await world.client.create(widget(size=3))
    await world.run(chain)
    await until(lambda: len(calls) == 3)
    await world.client.wait_for(Widget, "w", "default", "jsonpath={.status.size}=3")
    await settle(chain)
    assert (len(calls), refused) == (3, 2)


async def test_a_chain_that_is_started_again_begins_anew_with_the_same_handlers(world: World) -> None:
    chain, attempts = maps(), list[int]()

    @chain.on_change("fails", timeout=60)
    async def fails(ctx: HandlerContext, obj: Object) -> None:
        attempts.append(ctx.attempt)
        raise Requeue

    await world.create()
    for _ in range(2):
        attempts.clear()
        await chain.start(world.manager.cache)
        chain.work()
        await until(lambda: len(attempts) > 2)
        assert attempts[:3] == [0, 1, 2]
        await chain.stop(0)


@pytest.mark.feature("E29")
async def test_a_handler_that_does_not_end_when_it_is_told_to_counts_as_stuck() -> None:
    async with new_world(turned=True) as world:
        chain, begun, end = maps(), asyncio.Event(), asyncio.Event()

        @chain.on_change("stubborn", timeout=5)
        async def stubborn(ctx: HandlerContext, obj: Object) -> None:
            begun.set()
            while not end.is_set():
                try:
                    await end.wait()
                except asyncio.CancelledError:
                    continue

        await world.create()
        world.manager.add(chain)
        await begun.wait()
        assert world.clock is not None
        world.clock.advance(5)
        await asyncio.sleep(0.005)
        world.clock.advance(11)
        await until(lambda: bool(chain.stuck()))
        assert [found.run.controller for found in chain.stuck()] == ["configmap/stubborn"]
        end.set()
        await until(lambda: not chain.stuck())
        await settle(chain)
        assert chain.working
