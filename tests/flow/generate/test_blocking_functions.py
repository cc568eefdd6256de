"""`def` functions of generating handlers run in threads, generators included; others run in the event loop."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from tests.flow.generate.worlds import App, AppStatus, World, app, config_map, rendering

from setpoint.controller.context import Context
from setpoint.controller.sync_context import SyncContext
from setpoint.flow.generate import status_of
from setpoint.objects.tree import Object


def in_thread() -> bool:
    return "_reconcile_" in threading.current_thread().name


def listed(parent: App, status: AppStatus) -> list[Object]:
    status.seen = f"thread {in_thread()}"
    return [config_map("a")]


def yielded(ctx: SyncContext, parent: App, status: AppStatus) -> Iterator[Object]:
    status.seen = f"thread {in_thread()}"
    assert ctx.client.find(App, "nowhere", "default") is None
    yield config_map("a")


def expressed(parent: App, status: AppStatus) -> Iterator[Object]:
    def child(name: str) -> Object:
        status.seen = f"thread {in_thread()}"
        return config_map(name)

    return map(child, ["a"])


async def awaited(ctx: Context, parent: App, status: AppStatus) -> AsyncIterator[Object]:
    status.seen = f"thread {in_thread()}"
    yield config_map("a")


@pytest.mark.parametrize(
    ("function", "threaded"), [(listed, True), (yielded, True), (expressed, True), (awaited, False)]
)
async def test_a_def_function_runs_in_a_thread_to_its_end(
    world: World, function: Callable[..., Any], threaded: bool
) -> None:
    world.run(rendering(function))
    await world.client.create(app())
    await world.client.wait_for(App, "shop", "default", f"jsonpath={{.status.seen}}=thread {threaded}")
    await world.client.wait_for("v1/ConfigMap", "a", "default", lambda found: found is not None)


async def test_the_status_of_a_def_function_is_reported(world: World) -> None:
    def counted(ctx: SyncContext, parent: App, status: AppStatus) -> None:
        assert in_thread()
        status.count = len(ctx.api.list("v1/Namespace").items)

    world.run(status_of(App)(counted))
    await world.client.create(app())
    found = await world.client.wait_for(
        App, "shop", "default", lambda found: found.status is not None and found.status.count > 0
    )
    assert found is not None
