"""Timers: calls at an interval for each object, in virtual time."""

from typing import Any

import pytest
from tests.testing.kinds import Widget, widget

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.daemon import timer
from setpoint.controller.request import Request, Result, TerminalError
from setpoint.controller.sync_context import SyncContext

pytestmark = pytest.mark.world(crds=[Widget])


class Bell:
    """A timer that writes down its calls, and takes `seconds` for each."""

    def __init__(self, seconds: float = 0, **options: Any) -> None:
        self.calls: list[tuple[str, float]] = []
        self.answers: list[Result | Exception] = []

        @timer(Widget, **options)
        async def bell(ctx: Context[Widget], request: Request) -> Result | None:
            self.calls.append((request.name, ctx.clock.monotonic()))
            await ctx.clock.sleep(seconds)
            answer = self.answers.pop(0) if self.answers else None
            if isinstance(answer, Exception):
                raise answer
            return answer

        self.timer = bell

    def times(self, name: str = "a") -> list[float]:
        """The times of the calls after the first one."""
        found = [when for called, when in self.calls if called == name]
        return [when - found[0] for when in found[1:]]


async def change(world: testing.World, size: int, name: str = "a") -> None:
    await world.client.patch(Widget, merge({"spec": {"size": size}}), name, "default")


async def test_a_timer_calls_at_its_interval_for_each_object(world: testing.World) -> None:
    bell = Bell(interval=60)
    await world.create(widget("a"))
    manager = await world.run(bell.timer)
    assert manager.controllers[0].name == "widget-bell"
    await world.advance(30)
    await world.create(widget("b"))
    await world.advance(90)
    assert (bell.times("a"), bell.times("b")) == ([60, 120], [60])
    await world.client.delete(Widget, "a", "default")
    await world.advance(180)
    assert (len(bell.times("a")), len(bell.times("b"))) == (2, 4)


async def test_changes_of_the_object_cause_no_call(world: testing.World) -> None:
    bell = Bell(interval=60)
    await world.create(widget("a"))
    await world.run(bell.timer)
    for size in (2, 3, 4):
        await world.advance(10)
        await change(world, size)
    await world.advance(31)
    assert bell.times() == [60]


async def test_the_first_call_waits_for_the_initial_delay(world: testing.World) -> None:
    bell = Bell(interval=60, initial_delay=25)
    await world.create(widget("a"))
    begun = world.clock.monotonic()
    await world.run(bell.timer)
    await change(world, 2)
    await world.advance(90)
    assert [when - begun for _, when in bell.calls] == [25, 85]


@pytest.mark.parametrize(("sharp", "times"), [(False, [70, 140, 210]), (True, [60, 120, 180])])
async def test_the_interval_counts_from_the_end_or_from_the_start(
    world: testing.World, sharp: bool, times: list[float]
) -> None:
    bell = Bell(seconds=10, interval=60, sharp=sharp)
    await world.create(widget("a"))
    await world.run(bell.timer)
    await world.advance(215)
    assert bell.times() == times


async def test_a_sharp_timer_skips_the_calls_that_it_missed(world: testing.World) -> None:
    bell = Bell(seconds=130, interval=60, sharp=True)
    await world.create(widget("a"))
    await world.run(bell.timer)
    await world.advance(400)
    assert bell.times() == [180, 360]


async def test_a_timer_waits_until_the_object_is_idle(world: testing.World) -> None:
    bell = Bell(interval=60, idle=20)
    await world.create(widget("a"))
    begun = world.clock.monotonic()
    await world.run(bell.timer)
    await world.advance(15)
    await change(world, 2)
    await world.advance(15)
    assert bell.calls == []
    await world.client.patch(Widget, merge({"status": {"size": 2}}), "a", "default", subresource="status")
    await world.advance(5)
    assert [when - begun for _, when in bell.calls] == [35]  # the change of the status does not count
    await world.advance(55)
    await world.client.patch(Widget, merge({"metadata": {"labels": {"a": "b"}}}), "a", "default")
    await world.advance(20)
    assert [when - begun for _, when in bell.calls] == [35, 110]


async def test_a_timer_runs_only_for_objects_that_match(world: testing.World) -> None:
    bell = Bell(interval=60, when=lambda found: found.spec.size > 1)
    await world.create(widget("a"))
    await world.run(bell.timer)
    await world.advance(100)
    assert bell.calls == []
    await change(world, 2)
    await world.advance(70)
    await change(world, 1)
    await world.advance(300)
    assert bell.times() == [60]


async def test_a_failed_call_is_retried_and_a_result_sets_the_next_time(world: testing.World) -> None:
    bell = Bell(interval=60)
    bell.answers = [ValueError("1"), Result(requeue_after=10), TerminalError("no more")]
    await world.create(widget("a"))
    with world.expect((ValueError, TerminalError)) as expected:
        await world.run(bell.timer)
        await world.advance(300)
    assert [type(problem.error) for problem in expected.problems] == [ValueError, TerminalError]
    assert bell.times() == [0.005, 10.005]
    await change(world, 2)
    await world.advance(60)
    assert len(bell.calls) == 5


async def test_a_suspended_object_is_not_called(world: testing.World) -> None:
    bell = Bell(interval=60, suspend=lambda found: "too small" if found.spec.size == 0 else "")
    await world.create(widget("a"))
    await world.run(bell.timer)
    await change(world, 0)
    await world.advance(200)
    assert bell.times() == []
    await change(world, 1)
    await world.advance(30)
    assert bell.times() == [200]
    assert not (await world.find(Widget, "a")).status


async def test_a_def_timer_runs_in_a_thread_and_writes_its_status(world: testing.World) -> None:
    calls = []

    @timer(Widget, interval=60)
    def bell(ctx: SyncContext[Widget], request: Request) -> None:
        ctx.sleep(1)
        calls.append(ctx.clock.monotonic())
        ctx.status.size = len(calls)

    await world.create(widget("a"))
    await world.run(bell)
    await world.advance(130)
    found = await world.find(Widget, "a")
    assert (calls[1] - calls[0], found.status.size) == (61, 3)
    assert found.status.observed_generation == 0  # belongs to the reconciler


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 0}, "interval must be greater than 0"),
        ({"interval": 1, "idle": -1}, "must not be negative"),
        ({"interval": 1, "predicates": ()}, "a timer has no predicates"),
    ],
)
async def test_invalid_options_are_refused(world: testing.World, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        timer(Widget, **options)
