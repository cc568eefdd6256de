"""What a row of `setpoint controllers` says of a controller."""

from typing import Any

import pytest

import setpoint as sp
from setpoint import testing
from setpoint.controller.overview import overview, percentile


class CounterStatus(sp.Model):
    """What was counted."""

    count: int = 0


class Counter(sp.Resource, group="example.com", version="v1"):
    """A counter."""

    status: CounterStatus | None = None


def counter(name: str) -> Counter:
    return Counter(metadata=sp.ObjectMeta(name=name, namespace="default"))


@pytest.mark.world(crds=[Counter], objects=[counter("one")])
async def test_one_that_brings_itself_back_is_named_with_the_field(world: testing.World) -> None:
    @sp.controller(Counter, own_status_triggers=True)
    async def count(ctx: sp.Context, request: sp.Request) -> None:
        found = await ctx.object()
        ctx.status["count"] = (found.status.count if found.status else 0) + 1

    with world.expect(testing.ReconcileLoop, match=r"status\.count"):
        manager = await world.run(count)
        [controller] = manager.controllers
        await world.eventually(lambda: controller.hot_loops())
    row = overview(controller)
    assert row.note == "hot loop: default/one keeps changing status.count (10× in a row); slowed down"
    assert (row.name, row.kind, row.state) == ("counter", "Counter.example.com", "Running")


@pytest.mark.world(crds=[Counter], objects=[counter(f"number-{index}") for index in range(10)])
async def test_rates_errors_and_times_are_those_of_the_last_reconciles(world: testing.World) -> None:
    @sp.controller(Counter)
    async def count(ctx: sp.Context, request: sp.Request) -> None:
        await ctx.clock.sleep(2)
        if request.name in ("number-0", "number-1"):
            raise sp.TerminalError("not this one")

    manager = await world.run(count)
    [controller] = manager.controllers
    with world.expect(sp.TerminalError) as expected:
        await world.eventually(lambda: len(controller.runs) == 5)
        row = overview(controller)
        assert (row.queue, row.lag_seconds) == (4, 10.0)
        await world.eventually(lambda: len(controller.runs) == 10)
    assert [problem.object for problem in expected.problems] == ["default/number-0", "default/number-1"]
    row = overview(controller)
    assert (row.queue, row.lag_seconds) == (0, 0.0)
    assert row.note == "default/number-1 fails, with 1 more: TerminalError: not this one"
    assert (row.rate_per_minute, row.error_percent) == (10.0, 20.0)
    assert (row.p50_seconds, row.p99_seconds) == (2.0, 2.0)
    await world.advance(60)
    assert overview(controller).rate_per_minute == 0.0


@pytest.mark.world(crds=[Counter], objects=[counter(f"number-{index}") for index in range(10)])
async def test_where_few_are_remembered_the_rate_is_how_fast_those_came(world: testing.World) -> None:
    @sp.controller(Counter, keep_runs=4)
    async def count(ctx: sp.Context, request: sp.Request) -> None:
        await ctx.clock.sleep(1)

    manager = await world.run(count)
    [controller] = manager.controllers
    await world.eventually(lambda: len(controller.queue) == 0 and not controller.queue.working())
    assert overview(controller).rate_per_minute == 60.0


async def _paused(world: testing.World) -> Any:
    @sp.controller("v1/ConfigMap")
    async def look(ctx: sp.Context, request: sp.Request) -> None: ...

    manager = await world.run(look)
    return manager.controllers[0]


@pytest.mark.world
async def test_its_state_is_a_word(world: testing.World) -> None:
    controller = await _paused(world)
    assert overview(controller).state == "Running"
    controller.pause()
    assert overview(controller).state == "Paused"
    controller.resume()
    await world.stop()
    assert overview(controller).state == "Stopped"


def test_a_percentile_of_few_is_one_of_them() -> None:
    assert percentile([], 0.5) == 0.0
    assert percentile([1.0], 0.99) == 1.0
    assert percentile([1.0, 2.0, 3.0], 0.5) == 2.0
    assert percentile(list(map(float, range(100))), 0.99) == 99.0
