"""`def` reconcilers in virtual time: threads run one at a time, time stands still, and a seed repeats a run."""

import asyncio
import logging
import random
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from tests.testing.kinds import CONFIG_MAP, Widget, config_map, widget

from setpoint import testing
from setpoint.controller import threads
from setpoint.controller.declare import controller
from setpoint.controller.request import Request, Result
from setpoint.controller.sync_context import SyncContext

STEPS = 3
WIDGETS = ("a", "b", "c", "d")


class Traced:
    """A controller of widgets that writes down each of its steps, with the time and the number of threads that run."""

    def __init__(self) -> None:
        self.trace: list[tuple[float, str, int, str]] = []
        self._running = 0
        self.most = 0

    def controller(self) -> Any:
        @controller(Widget, owns=[CONFIG_MAP], concurrency=3)
        def widgets(ctx: SyncContext, request: Request) -> Result | None:
            found = ctx.object()
            if found is None:
                return None
            for step in range(STEPS):
                self._step(ctx, request, step)
                ctx.client.apply(ctx.own(config_map(f"{request.name}-{step}", size=str(found.spec.size))))
            ctx.sleep(2)
            self._step(ctx, request, STEPS)
            ctx.status.condition("Ready", True, "Made")
            return Result(requeue_after=60)

        return widgets

    def _step(self, ctx: SyncContext, request: Request, step: int) -> None:
        """Works for a random time, in which other threads would run if they could."""
        assert threading.current_thread() is not threading.main_thread()
        self._running += 1
        self.most = max(self.most, self._running)
        before = ctx.clock.monotonic()
        time.sleep(random.uniform(0.0, 0.002))
        assert ctx.clock.monotonic() == before
        self._running -= 1
        self.trace.append((before, request.name, step, ctx.id))


async def traced(seed: int) -> tuple[list[Any], list[Any], list[Any]]:
    """One run: the steps in the threads, the requests, and the reconciles."""
    found = Traced()
    async with testing.world(crds=[Widget], objects=[widget(name) for name in WIDGETS], seed=seed) as world:
        manager = await world.run(found.controller())
        await world.advance(150)
        runs = [(run.id, str(run.request), run.result, run.began) for run in manager.controllers[0].runs]
        requests = [str(seen) for seen in world.faults.seen]
    assert found.most == 1
    assert len(found.trace) >= 3 * len(WIDGETS) * (STEPS + 1)
    return found.trace, requests, runs


async def test_the_same_seed_gives_the_same_run() -> None:
    first, second = await traced(7), await traced(7)
    assert first == second
    # Several reconciles were under way at the same time, between their steps.
    names = [name for _, name, _, _ in first[0]]
    assert names[:STEPS] != [names[0]] * STEPS
    assert await traced(8) != first


@pytest.mark.world(crds=[Widget])
async def test_a_wait_in_a_thread_is_a_wait_in_virtual_time(world: testing.World) -> None:
    times = []

    @controller(Widget, timeout=100)
    def widgets(ctx: SyncContext, request: Request) -> None:
        times.append(ctx.clock.monotonic())
        try:
            ctx.sleep(50 if request.name == "short" else 3600)
        finally:
            times.append(ctx.clock.monotonic())

    await world.create(widget("short"))
    manager = await world.run(widgets)
    await world.advance(60)
    [run] = manager.controllers[0].runs
    assert (run.result, run.seconds, times[1] - times[0]) == ("success", 50, 50)
    await world.create(widget("long"))
    await world.advance(99)
    assert len(manager.controllers[0].runs) == 1
    with world.expect(TimeoutError, match="took longer than 100 s"):
        await world.advance(1)
    assert manager.controllers[0].runs[-1].result == "timeout"
    assert times[-1] - times[-2] == 100


@pytest.mark.world(crds=[Widget])
async def test_a_stop_in_virtual_time_ends_the_thread(world: testing.World) -> None:
    ended = []

    @controller(Widget)
    def widgets(ctx: SyncContext, request: Request) -> None:
        try:
            ctx.sleep(3600)
        except asyncio.CancelledError:
            ended.append(threading.current_thread().name)
            with suppress(asyncio.CancelledError):
                ctx.object()
            raise

    await world.create(widget())
    manager = await world.run(widgets)
    await world.stop(manager)
    assert ended == ["widget_reconcile_1"]


async def test_every_crash_can_be_tried_with_a_def_reconciler() -> None:
    @controller(Widget, owns=[CONFIG_MAP])
    def widgets(ctx: SyncContext, request: Request) -> None:
        if ctx.object() is not None:
            ctx.client.apply(ctx.own(config_map("one")))
            ctx.client.apply(ctx.own(config_map("two")))
            ctx.status.condition("Ready", True, "Made")

    tried = 0
    async for crash in testing.every_crash(crds=[Widget], objects=[widget()]):
        await crash.run(widgets, until=partial(_is_made, crash.world))
        tried += crash.happened
    assert tried == 6  # after each of three writes, done and not done


async def _is_made(world: testing.World) -> bool:
    found = await world.find(Widget, "w")
    return found.status is not None and bool(found.status.conditions) and len(await world.names(CONFIG_MAP)) >= 2


@pytest.mark.world(crds=[Widget])
async def test_a_function_that_keeps_the_world_waiting_is_named(
    world: testing.World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, the function begins later than the thread.
    monkeypatch.setattr(threads, "PATIENCE_SECONDS", 1.0)
    limit = 60.0

    @controller(Widget)
    def widgets(ctx: SyncContext, request: Request) -> None:
        end = time.monotonic() + limit
        while not caplog.records and time.monotonic() < end:
            time.sleep(0.001)

    with caplog.at_level(logging.WARNING, threads.__name__):
        await world.run_once(widgets, widget())
    assert "widget_reconcile: a function runs at tests/testing/test_blocking_worlds.py:" in caplog.text
    assert "in the thread widget_reconcile_1" in caplog.text
