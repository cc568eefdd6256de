"""What blocks runs in threads of the controller, and keeps nobody else waiting."""

import asyncio
import threading

import pytest
from tests.controller.core.worlds import CONFIG_MAP, World, until

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request


@pytest.mark.feature("E24")
async def test_work_that_blocks_goes_to_threads_and_no_more_than_there_are(world: World) -> None:
    most = running = 0
    lock, go = threading.Lock(), threading.Event()

    def block(text: str) -> str:
        nonlocal most, running
        with lock:
            running += 1
            most = max(most, running)
        go.wait(10)
        with lock:
            running -= 1
        return f"{text} in {threading.current_thread().name}"

    said = []

    async def reconcile(ctx: Context, request: Request) -> None:
        said.append(await ctx.in_thread(block, request.name))

    for number in range(5):
        await world.config_map(f"m{number}")
    controller = Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"], concurrency=5, threads=2)
    await world.run(controller)
    await until(lambda: most == 2)
    await asyncio.sleep(0.01)  # others go on
    go.set()
    await until(lambda: len(said) == 5)
    assert most == 2
    assert {text.split(" in ")[1][:5] for text in said} == {"maps_"}


async def test_what_a_function_raises_in_a_thread_is_the_failure_of_its_reconcile(world: World) -> None:
    def fail() -> None:
        raise ValueError("no good")

    async def reconcile(ctx: Context, request: Request) -> None:
        await ctx.in_thread(fail)

    await world.config_map("m")
    controller = await world.run(Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"]))
    await until(lambda: bool(controller.runs))
    assert str(controller.runs[0].error) == "no good"
