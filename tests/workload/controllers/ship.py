"""A control plane with an engine that does as a test says."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.workload.app import App, app
from tests.workload.engine.scripted.engine import ScriptedEngine
from tests.workload.engine.scripted.state import ScriptedContainer

from setpoint.objects.clock import SystemClock
from setpoint.objects.tree import Object

IMAGE = "shop:1"
RESTART = "setpoint.dev/restart-requested-at"


def scripted() -> ScriptedEngine:
    """An engine with one image."""
    engine = ScriptedEngine(SystemClock())
    engine.add_image(IMAGE)
    return engine


@asynccontextmanager
async def ship(directory: Path, engine: ScriptedEngine, **settings: Any) -> AsyncIterator[App]:
    """A control plane that uses an engine."""
    async with app(directory, connect=engine.connect, **settings) as world:
        yield world


async def made(world: App, name: str = "web", **spec: Any) -> Object:
    """Creates a Container."""
    return await world.make("Container", name, {"image": IMAGE, **spec})


async def running(world: App, name: str = "web", **spec: Any) -> Object:
    """The status of a Container that was made, and runs."""
    await made(world, name, **spec)
    status: Object = (await world.ready("Container", name))["status"]
    return status


def only(engine: ScriptedEngine) -> ScriptedContainer:
    """The one container that there is."""
    (found,) = engine.containers.values()
    return found


def asked(engine: ScriptedEngine, *operations: str) -> list[str]:
    """Those of these operations that were asked for, in order."""
    return [operation for operation, _ in engine.calls if operation in operations]


async def until(holds: Callable[[], Any], seconds: float = 10.0) -> None:
    """Returns when something holds."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


async def logged(world: App, name: str, text: str, kind: str = "containers") -> None:
    """Returns when a log is this."""
    said = ""
    try:
        async with asyncio.timeout(10):
            while (said := await world.log(name, kind)) != text:
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"the log is {said!r}") from None
