"""Requests that run in circles are noticed, explained and slowed down."""

import asyncio
import logging
from datetime import UTC, datetime

import pytest
from tests.controller.core.worlds import (
    WIDGET,
    Widget,
    World,
    named,
    new_world,
    settle,
    until,
    widget,
    with_widgets,
)

from setpoint.client.patches import merge
from setpoint.controller import pace
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.pace import HOT_RUNS, Pace
from setpoint.controller.request import Request, Trigger
from setpoint.controller.run_record import ReconcileRecord, Write
from setpoint.objects.clock import ManualClock
from setpoint.objects.gvk import GroupVersionKind

START = datetime(2026, 1, 1, tzinfo=UTC)
WRITE = Write("patch", GroupVersionKind("", "v1", "ConfigMap"), "default/a")


def ended(clock: ManualClock, *writes: Write, why: tuple[Trigger, ...] = ()) -> ReconcileRecord:
    return ReconcileRecord(
        "id", "c", named("a"), why, 0, 0, 0, 0.0, clock.now(), clock.monotonic(), writes=list(writes)
    )


async def test_a_controller_that_is_brought_back_by_its_own_writes_is_told_which_field_and_slowed_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with new_world() as world:
        await with_widgets(world)
        heard: list[tuple[str, str]] = []

        class Recorder:
            def warning(self, regarding: object, reason: str, note: str) -> None:
                heard.append((reason, note))

        async def reconcile(ctx: Context, request: Request) -> None:
            obj = await ctx.object()
            count = int(obj.metadata.annotations.get("count", "0")) + 1
            change = {"metadata": {"annotations": {"count": str(count)}}}
            await ctx.client.patch(WIDGET, merge(change), request.name, request.namespace)

        controller = Controller("widget", reconcile, kind=Widget)
        controller.recorder = Recorder()
        await world.run(controller)
        await world.client.create(widget("w"))
        await until(lambda: bool(controller.hot_loops()))
        hot = controller.hot_loops()[0]
        assert hot.fields[0].startswith("metadata.annotations")
        assert "widget: default/w is in a hot loop (10 times in 10 s): each run changes" in caplog.text
        assert "metadata.annotations.count" in caplog.text
        assert heard == [("HotLoop", str(hot))]
        ran = len(controller.runs)
        await asyncio.sleep(0.1)
        assert len(controller.runs) == ran  # it waits a second now
        assert controller.queue.delayed == 1
        await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "w", "default")


@pytest.mark.parametrize("detection", [True, False])
def test_loops_can_be_tolerated(detection: bool) -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0)
    found.loop_detection = detection
    for _ in range(HOT_RUNS):
        found.record_run(ended(clock, WRITE), 1)
    assert bool(found.hot_loops()) is detection
    assert (found.wait(named("a")) > 0) is detection


def test_many_reconciles_that_write_nothing_are_no_loop() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    for _ in range(100):
        assert found.record_run(ended(clock), 1) is None
    skipped = WRITE._replace(skipped=True)
    for _ in range(100):
        assert found.record_run(ended(clock, skipped), 1) is None
    assert not found.hot_loops()


@pytest.mark.parametrize("event", ["requested", "timer"])
@pytest.mark.parametrize("min_interval", [0.0, 0.001])
def test_what_something_outside_asks_for_is_no_loop_however_often(event: str, min_interval: float) -> None:
    clock = ManualClock(START)
    found = Pace(clock, min_interval)
    for _ in range(100):
        # Its own write brings it back in between, as everybody's does.
        assert found.record_run(ended(clock, WRITE, why=(Trigger(event, "processes"),)), 1) is None
        assert found.record_run(ended(clock, why=(Trigger("updated"),)), 1) is None
    assert not found.hot_loops()


CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def test_what_others_do_to_objects_that_were_only_made_is_no_loop() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    own, child = Trigger("updated", "", CONFIG_MAP, "default/a"), Trigger("updated", "", CONFIG_MAP, "default/child")
    made = WRITE._replace(verb="create", object="default/child")
    assert found.record_run(ended(clock, WRITE, made, why=(own,)), 1) is None
    for _ in range(100):
        assert found.record_run(ended(clock, WRITE, why=(child, own)), 1) is None
    assert not found.hot_loops()


def test_who_keeps_changing_what_another_changes_back_runs_in_circles() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    child = Trigger("updated", "", CONFIG_MAP, "default/child")
    fought = WRITE._replace(object="default/child")
    noticed = [found.record_run(ended(clock, fought, why=(child,)), 1) for _ in range(HOT_RUNS)]
    assert noticed[-1] is not None


def test_writes_that_take_their_time_are_no_loop() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    for _ in range(100):
        clock.advance(2.0)
        assert found.record_run(ended(clock, WRITE), 1) is None
    assert not found.hot_loops()


def test_a_hot_request_waits_longer_each_time_and_is_forgiven_when_its_spec_changes() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    noticed = [found.record_run(ended(clock, WRITE), 1) for _ in range(HOT_RUNS)]
    assert [each is not None for each in noticed] == [False] * (HOT_RUNS - 1) + [True]
    waits = []
    for _ in range(8):
        waits.append(found.wait(named("a")))
        clock.advance(waits[-1])
        assert found.record_run(ended(clock, WRITE), 1) is None
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    clock.advance(60.0)
    assert found.record_run(ended(clock, WRITE), 2) is None
    assert not found.hot_loops()
    assert found.wait(named("a")) == 0.0


def test_a_hot_request_is_forgiven_after_a_quiet_time() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    for _ in range(HOT_RUNS):
        found.record_run(ended(clock, WRITE), 1)
    found.record_run(ended(clock), 1)
    assert found.hot_loops()
    clock.advance(pace.QUIET_SECONDS + 1)
    found.record_run(ended(clock), 1)
    assert not found.hot_loops()


def test_of_requests_that_wrote_once_nothing_is_known_when_that_was_long_ago() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    for second in range(10):
        for number in range(1000):
            run = ended(clock, WRITE)
            run.request = named(f"r{second}-{number}")
            assert found.record_run(run, 1) is None
        clock.advance(pace.HOT_SECONDS + 1)
    assert len(found) <= 2000


def test_a_write_for_another_spec_does_not_count_for_a_loop() -> None:
    clock = ManualClock(START)
    found = Pace(clock, 0.0)
    assert found.record_run(ended(clock, WRITE), 1) is None
    noticed = [found.record_run(ended(clock, WRITE), 2) for _ in range(HOT_RUNS)]
    assert [each is not None for each in noticed] == [False] * (HOT_RUNS - 1) + [True]


async def test_nothing_is_kept_of_requests_that_are_at_rest(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        if await ctx.object() is not None:
            ctx.status["ready"] = True

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget("w"))
    await until(lambda: len(controller.runs) == 1)
    await world.client.delete(WIDGET, "w", "default")
    await until(lambda: len(controller.runs) == 2)
    await settle(controller)
    assert not len(controller._pace)
    assert not controller._expectations[""].uncertain
