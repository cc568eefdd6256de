"""A manager names the line that blocks its event loop, unless it runs in a pod or in virtual time."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest
from tests.controller.manager.worlds import CONFIG_MAP, START, config_map, running, until

from setpoint.client.client import Client
from setpoint.controller import loop_monitor
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.manager import Manager
from setpoint.controller.request import Request
from setpoint.objects.clock import ManualClock
from setpoint.plane import ControlPlane

REMEDY = "define the function with `def` instead of `async def`, or use `await ctx.in_thread(…)` there"


def has_monitor() -> bool:
    return any(thread.name == "setpoint-loop-monitor" for thread in threading.enumerate())


async def is_watched(manager: Manager) -> bool:
    """Whether the loop is watched while a manager runs, and not afterwards."""
    async with running(manager):
        await asyncio.sleep(0)
        found = has_monitor()
    await until(lambda: not has_monitor())
    return found


async def test_the_line_that_blocks_is_logged_with_the_remedy(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_monitor, "LOOK_SECONDS", 0.01)
    logged: Callable[[], bool] = lambda: bool(caplog.records)  # noqa: E731

    async def reconcile(ctx: Context, request: Request) -> None:
        limit = time.monotonic() + 60
        while not logged() and time.monotonic() < limit:
            time.sleep(0.001)

    await client.create(config_map("m"))
    controller = Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"])
    with caplog.at_level(logging.WARNING, loop_monitor.__name__):
        async with running(Manager(client, controllers=[controller], watchdog=True)):
            await until(lambda: bool(controller.runs))
    first = reconcile.__code__.co_firstlineno
    message = caplog.records[0].getMessage()
    begin, _, end = message.partition(" at ")
    assert begin.startswith("maps default/m blocks the event loop for ")
    place, _, remedy = end.partition(": ")
    assert place in [f"tests/controller/manager/test_watchdog.py:{first + offset}" for offset in (2, 3)] + [
        f"tests/controller/manager/test_watchdog.py:{logged.__code__.co_firstlineno}"
    ]
    assert remedy == REMEDY


async def test_the_loop_is_watched_outside_pods_unless_told_otherwise(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert await is_watched(Manager(client))
    assert not await is_watched(Manager(client, watchdog=False))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert not await is_watched(Manager(client))
    assert await is_watched(Manager(client, watchdog=True))


async def test_virtual_time_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    async with ControlPlane(system=False, clock=ManualClock(START)) as plane, plane.client() as client:
        assert not await is_watched(Manager(client))
