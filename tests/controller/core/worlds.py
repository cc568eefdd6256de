"""A control plane, a cache and controllers in one process, and patience that ends: what most tests here begin with."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource

CONFIG_MAP = "v1/ConfigMap"
# What no test here takes, unless it fails.
PATIENCE = 60.0


class WidgetSpec(Model):
    """What a widget should be."""

    size: int = 1
    color: str = "red"


class WidgetStatus(Model):
    """What a widget is."""

    ready: bool = False
    size: int = 0
    count: int = 0
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class Widget(Resource, group="example.com", version="v1"):
    """A widget."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


WIDGET = "example.com/v1/Widget"


class World:
    """What a test has in its hands."""

    def __init__(self, plane: ControlPlane, client: Client, cache: Cache) -> None:
        self.plane = plane
        self.client = client
        self.cache = cache
        self._controllers: list[Controller] = []

    async def run(self, controller: Controller) -> Controller:
        """Has a controller work until the test ends."""
        self._controllers.append(controller)
        await controller.start(self.cache)
        controller.work()
        return controller

    async def end(self) -> None:
        for controller in self._controllers:
            await controller.stop()

    async def config_map(self, name: str, **metadata: Any) -> Object:
        return await self.client.create(config_map(name, **metadata))


def widget(name: str = "w", size: int = 1) -> Widget:
    return Widget(metadata=ObjectMeta(name=name, namespace="default"), spec=WidgetSpec(size=size))


async def with_widgets(world: World) -> None:
    """Has the server know widgets."""
    await world.client.create(Widget.crd())
    await world.client.wait_for(
        "apiextensions.k8s.io/v1/CustomResourceDefinition", "widgets.example.com", "", "condition=Established"
    )


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "data": data or {},
    }


@asynccontextmanager
async def new_world() -> AsyncIterator[World]:
    """Provides a world without controllers."""
    async with (
        asyncio.timeout(PATIENCE * 3),
        ControlPlane(system=False) as plane,
        plane.client() as client,
        Cache(client) as cache,
    ):
        found = World(plane, client, cache)
        try:
            yield found
        finally:
            await found.end()


async def until(holds: Callable[[], bool], what: str = "") -> None:
    """Waits until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.001)


async def settle(controller: Controller, seconds: float = 0.02) -> None:
    """Waits until a controller has had nothing to do for a moment."""
    async with asyncio.timeout(PATIENCE):
        quiet = 0.0
        while quiet < seconds:
            busy = len(controller.queue) or controller.queue.working()
            quiet = 0.0 if busy else quiet + 0.002
            await asyncio.sleep(0.002)


def named(name: str) -> Request:
    return Request(name, "default")
