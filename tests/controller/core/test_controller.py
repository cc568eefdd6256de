"""The controller: from a change to a reconcile, whatever the reconcile does."""

import asyncio
import logging
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise

import pytest
from tests.controller.core.worlds import CONFIG_MAP, WIDGET, World, config_map, named, settle, until

from setpoint.cache.shared_watch import NotSynced
from setpoint.controller import predicate
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.queue import LOW_PRIORITY
from setpoint.controller.request import Request, Requeue, Result, TerminalError
from setpoint.controller.suspension import SUSPEND
from setpoint.controller.timers import Channel
from setpoint.objects.clock import ManualClock

START = datetime(2026, 1, 1, tzinfo=UTC)


async def ran(controller: Controller, times: int) -> None:
    """Waits until so many reconciles are over."""
    await until(lambda: len(controller.runs) == times and not controller.queue.working())


@pytest.mark.feature("E1")
async def test_every_object_is_reconciled_at_the_start_and_whenever_it_changes(world: World) -> None:
    await world.config_map("early")
    seen: list[tuple[str, list[str]]] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append((request.key, [trigger.event for trigger in ctx.why]))

    controller = await world.run(Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"]))
    await until(lambda: len(seen) >= 1)
    await world.config_map("late")
    await until(lambda: len(seen) >= 2)
    await world.client.update(config_map("late", {"a": "1"}))
    await until(lambda: len(seen) >= 3)
    await world.client.delete(CONFIG_MAP, "late", "default")
    await until(lambda: len(seen) >= 4)
    assert seen == [
        ("default/early", ["initial"]),
        ("default/late", ["created"]),
        ("default/late", ["updated"]),
        ("default/late", ["deleted"]),
    ]
    assert [run.result for run in controller.runs] == ["success"] * 4


@pytest.mark.feature("E22")
async def test_a_reconcile_knows_which_fields_brought_it(world: World) -> None:
    await world.config_map("a", data={"x": "1"})
    why: list[str] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        why.append("; ".join(map(str, ctx.why)))

    await world.run(Controller("maps", reconcile, kind=CONFIG_MAP))
    await until(lambda: any("a initial" in text for text in why))
    await world.client.update(config_map("a", {"x": "2"}, labels={"l": "1"}))
    await until(lambda: any("updated" in text for text in why))
    assert why[-1] == "ConfigMap default/a updated (metadata.labels, data.x)"


async def test_an_error_is_contained_and_tried_again_with_growing_waits(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    clock, channel = ManualClock(START), Channel()
    attempts: list[int] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        attempts.append(ctx.attempt)
        if ctx.attempt < 4:
            raise RuntimeError("not yet")

    controller = await world.run(Controller("c", reconcile, watches=[channel], clock=clock))
    channel.send(named("a"))
    waits = []
    for failures in range(1, 5):
        await ran(controller, failures)
        waits.append(round(next(iter(controller.queue.waiting()))[1], 3))
        clock.advance(waits[-1])
    await until(lambda: len(attempts) == 5 and not controller.queue.working())
    assert waits == [0.005, 0.01, 0.02, 0.04]
    assert attempts == [0, 1, 2, 3, 4]
    assert [run.result for run in controller.runs] == ["error"] * 4 + ["success"]
    assert controller.queue.retries(named("a")) == 0
    assert "c default/a: RuntimeError: not yet; retrying in 0.005 s" in caplog.text


async def test_a_terminal_error_waits_for_the_next_change(world: World) -> None:
    channel, runs = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        runs.append(request)
        raise TerminalError("this name will never do")

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    channel.send(named("a"))
    await until(lambda: len(controller.runs) == 1)
    assert controller.runs[0].result == "terminal"
    assert named("a") not in controller.queue
    channel.send(named("a"))
    await until(lambda: len(runs) == 2)


async def test_a_result_asks_for_another_time_and_a_priority(world: World) -> None:
    clock, channel, seen = ManualClock(START), Channel(), []

    async def reconcile(ctx: Context, request: Request) -> Result | None:
        seen.append((ctx.run.priority, [trigger.event for trigger in ctx.why]))
        return Result(requeue_after=60.0, priority=7) if len(seen) == 1 else None

    controller = await world.run(Controller("c", reconcile, watches=[channel], clock=clock))
    channel.send(named("a"))
    await until(lambda: controller.queue.delayed == 1)
    clock.advance(59.0)
    await settle(controller)
    assert len(seen) == 1
    clock.advance(1.0)
    await until(lambda: len(seen) == 2)
    assert seen == [(0, ["requested"]), (7, ["requeue"])]


async def test_requeue_ends_a_reconcile_at_once_and_is_no_error(world: World, caplog: pytest.LogCaptureFixture) -> None:
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(ctx.attempt)
        if len(seen) == 1:
            raise Requeue(0.001, "the disk is not there yet")
        if len(seen) == 2:
            raise Requeue

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    channel.send(named("a"))
    await until(lambda: len(seen) == 3)
    assert seen == [0, 0, 1]
    assert [run.result for run in controller.runs][:2] == ["requeue_after", "requeue"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_reconcile_that_takes_too_long_is_ended_and_the_place_where_it_hangs_is_named(
    world: World,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, channel, runs = ManualClock(START), Channel(), []

    async def wait_for_the_moon() -> None:
        await asyncio.Event().wait()

    async def reconcile(ctx: Context, request: Request) -> None:
        runs.append(ctx.seconds_left)
        if len(runs) == 1:
            await wait_for_the_moon()

    controller = await world.run(Controller("c", reconcile, watches=[channel], timeout=5.0, clock=clock))
    channel.send(named("a"))
    await until(lambda: len(runs) == 1)
    await asyncio.sleep(0.01)
    clock.advance(5.0)
    await until(lambda: len(controller.runs) == 1)
    assert controller.runs[0].result == "timeout"
    assert "exceeded its timeout of 5 s" in caplog.text
    assert "reconcile (test_controller.py:" in caplog.text
    assert "> wait_for_the_moon (test_controller.py:" in caplog.text
    clock.advance(1.0)
    await until(lambda: len(runs) == 2)  # the worker lives, and the request comes again
    assert runs == [5.0, 5.0]


async def test_a_reconcile_that_does_not_end_when_it_is_told_to_counts_as_stuck(world: World) -> None:
    clock, channel, begun, release = ManualClock(START), Channel(), asyncio.Event(), asyncio.Event()

    async def reconcile(ctx: Context, request: Request) -> None:
        begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    controller = await world.run(Controller("c", reconcile, watches=[channel], timeout=5.0, clock=clock))
    channel.send(named("a"))
    await begun.wait()
    clock.advance(5.0)
    await asyncio.sleep(0.01)
    assert not controller.stuck()
    clock.advance(11.0)
    assert [found.run.request for found in controller.stuck()] == [named("a")]
    release.set()
    await until(lambda: len(controller.runs) == 1)
    assert not controller.stuck()


async def test_waiting_for_something_that_was_cancelled_is_an_error_and_not_the_end_of_a_worker(world: World) -> None:
    channel, runs = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        runs.append(request)
        if len(runs) == 1:
            raise asyncio.CancelledError

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    channel.send(named("a"))
    await until(lambda: len(runs) == 2)
    assert controller.runs[0].result == "error"


@pytest.mark.feature("E23", "E24")
async def test_a_request_is_never_reconciled_twice_at_once_but_others_are(world: World) -> None:
    channel, running, most, at_once = Channel(), set[Request](), 0, 0

    async def reconcile(ctx: Context, request: Request) -> None:
        nonlocal most, at_once
        assert request not in running
        running.add(request)
        most = max(most, len(running))
        await asyncio.sleep(0.001)
        running.discard(request)
        at_once += 1

    controller = await world.run(Controller("c", reconcile, watches=[channel], concurrency=4))
    for _ in range(20):
        for name in "abcdef":
            channel.send(named(name))
        await asyncio.sleep(0.001)
    await settle(controller)
    assert most == 4
    assert all(run.result == "success" for run in controller.runs)


@pytest.mark.feature("E27")
async def test_what_really_happens_goes_before_what_was_there_at_the_start(world: World) -> None:
    for number in range(5):
        await world.config_map(f"old-{number}")
    seen: list[tuple[str, int]] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append((request.name, ctx.run.priority))

    controller = Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"])
    await controller.start(world.cache)
    await world.config_map("new")
    await until(lambda: named("new") in controller.queue)
    controller.work()
    await until(lambda: len(seen) == 6)
    await controller.stop()
    assert seen[0] == ("new", 0)
    assert {priority for _, priority in seen[1:]} == {LOW_PRIORITY}


@pytest.mark.feature("E22")
async def test_what_happens_within_the_debounce_is_one_reconcile(world: World) -> None:
    clock, channel, seen = ManualClock(START), Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(request)

    controller = await world.run(Controller("c", reconcile, watches=[channel], debounce=1.0, clock=clock))
    for _ in range(5):
        channel.send(named("a"))
        clock.advance(0.1)
        await settle(controller, 0.004)
    assert not seen
    clock.advance(0.5)
    await until(lambda: len(seen) == 1)
    await settle(controller)
    assert len(seen) == 1


async def test_two_reconciles_of_a_request_begin_no_sooner_than_the_least_interval(world: World) -> None:
    clock, channel, seen = ManualClock(START), Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append((request.name, clock.monotonic()))

    controller = await world.run(Controller("c", reconcile, watches=[channel], min_interval=10.0, clock=clock))
    channel.send(named("a"))
    await until(lambda: len(seen) == 1)
    channel.send(named("a"))
    channel.send(named("b"))
    await until(lambda: len(seen) == 2 and controller.queue.delayed == 1)
    clock.advance(10.0)
    await until(lambda: len(seen) == 3)
    assert seen == [("a", 0.0), ("b", 0.0), ("a", 10.0)]


async def test_a_controller_that_is_paused_goes_on_with_everything_that_happened(world: World) -> None:
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(request.name)

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    controller.pause()
    channel.send(named("a"))
    channel.send(named("b"))
    await asyncio.sleep(0.02)
    assert not seen
    assert controller.paused
    controller.resume()
    await until(lambda: sorted(seen) == ["a", "b"])


async def test_an_object_with_the_annotation_is_left_alone_until_it_goes(world: World) -> None:
    seen: list[str] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(request.name)

    await world.config_map("a", annotations={SUSPEND: "true"})
    options = {"kind": CONFIG_MAP, "namespaces": ["default"], "predicates": [predicate.labels]}
    controller = await world.run(Controller("maps", reconcile, **options))  # type: ignore[arg-type]
    await world.config_map("b")
    await until(lambda: seen == ["b"])
    await settle(controller)
    await world.client.update(config_map("a"))
    await until(lambda: seen == ["b", "a"])


async def test_one_request_can_be_left_alone(world: World) -> None:
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(request.name)

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    controller.pause(named("a"))
    channel.send(named("a"))
    channel.send(named("b"))
    await until(lambda: seen == ["b"])
    controller.resume(named("a"))
    await until(lambda: seen == ["b", "a"])


async def test_a_controller_whose_kind_is_not_there_says_so_when_its_time_is_up(world: World) -> None:
    async def reconcile(ctx: Context, request: Request) -> None: ...

    controller = Controller("widgets", reconcile, kind=WIDGET, sync_timeout=0.05)
    with pytest.raises(NotSynced, match=r"widgets: sources not synced after 0.05 s: .*the server has no kind Widget"):
        await controller.start(world.cache)


async def test_stopping_waits_for_the_reconcile_that_runs_and_takes_no_other(world: World) -> None:
    channel, seen, release = Channel(), [], asyncio.Event()

    async def reconcile(ctx: Context, request: Request) -> None:
        await release.wait()
        seen.append(request.name)

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    channel.send(named("a"))
    channel.send(named("b"))
    await until(lambda: bool(controller.queue.working()))
    stopping = asyncio.ensure_future(controller.stop())
    await asyncio.sleep(0.01)
    assert not stopping.done()
    release.set()
    await stopping
    assert seen == ["a"]


async def test_stopping_ends_a_reconcile_that_takes_too_long(world: World) -> None:
    channel, ended = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.name)

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    channel.send(named("a"))
    await until(lambda: bool(controller.queue.working()))
    await controller.stop(graceful=0.01)
    assert ended == ["a"]
    assert controller.runs[-1].result == "cancelled"


async def test_a_controller_can_be_started_again(world: World) -> None:
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(request.name)

    controller = await world.run(Controller("c", reconcile, watches=[channel]))
    channel.send(named("a"))
    await until(lambda: seen == ["a"])
    await controller.stop()
    channel.send(named("b"))
    await world.run(controller)
    await until(lambda: seen == ["a", "b"])


def test_a_controller_that_hears_of_nothing_is_a_mistake() -> None:
    async def reconcile(ctx: Context, request: Request) -> None: ...

    with pytest.raises(ValueError, match="c has no sources"):
        Controller("c", reconcile)
    with pytest.raises(ValueError, match="concurrency must be at least 1"):
        Controller("c", reconcile, kind=CONFIG_MAP, concurrency=0)


async def test_a_reconcile_that_returns_something_else_is_told_so(world: World) -> None:
    channel = Channel()

    async def reconcile(ctx: Context, request: Request) -> bool:
        return True

    controller = await world.run(Controller("c", reconcile, watches=[channel]))  # type: ignore[arg-type]
    channel.send(named("a"))
    await until(lambda: len(controller.runs) == 1)
    assert str(controller.runs[0].error) == (
        "reconcile must return a Result or None, not bool: return sp.Result(requeue_after=SECONDS)"
    )


async def test_workers_let_others_have_a_turn_though_nothing_makes_them_wait(world: World) -> None:
    channel, turns = Channel(), 0

    async def reconcile(ctx: Context, request: Request) -> None: ...

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    controller = Controller("c", reconcile, watches=[channel])
    await controller.start(world.cache)
    for number in range(400):
        channel.send(named(str(number)))
    busy = asyncio.ensure_future(other())
    controller.work()
    await until(lambda: not len(controller.queue))
    busy.cancel()
    await controller.stop()
    assert turns >= 100


async def test_a_reconcile_without_a_pause_is_slowed_down_and_the_remedy_is_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    clock, channel, seen = ManualClock(START), Channel(), []

    async def reconcile(ctx: Context, request: Request) -> Result | None:
        seen.append((ctx.attempt, clock.monotonic()))
        return Result(requeue_after=0) if len(seen) < 4 else None

    controller = await world.run(Controller("busy", reconcile, watches=[channel], clock=clock))
    channel.send(named("a"))
    for count in (1, 2, 3):
        await until(partial(_waits_after, controller, clock, seen, count))
        clock.advance((clock.next_deadline() or 0.0) - clock.monotonic())
    await until(lambda: len(controller.runs) == 4)
    assert [attempt for attempt, _ in seen] == [0, 1, 2, 3]
    pauses = [after - before for (_, before), (_, after) in pairwise(seen)]
    assert pauses == sorted(pauses)
    assert pauses[0] > 0
    assert [run.result for run in controller.runs] == ["requeue", "requeue", "requeue", "success"]
    assert "Result(requeue_after=0) has no pause" in caplog.text
    assert "raise sp.Requeue()" in caplog.text


def _waits_after(controller: Controller, clock: ManualClock, seen: list[tuple[int, float]], count: int) -> bool:
    """Returns True once the queue waits for the next run: its task sets the timer after the item is delayed."""
    due = clock.next_deadline()
    is_set = due is not None and due - clock.monotonic() < 1.0
    return len(seen) == count and controller.queue.delayed == 1 and is_set
