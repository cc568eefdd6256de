"""Machines on a real server in one process: what the tests of this room begin with."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
from tests.controller.core.worlds import PATIENCE, config_map, settle, until

from setpoint.client.client import Client
from setpoint.controller.controller import Controller
from setpoint.controller.manager import GRACEFUL_SECONDS, Manager
from setpoint.flow.fsm import FSM
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource

__all__ = ["PATIENCE", "config_map", "settle", "until"]

FINALIZER = "storage.example.com/bucket"
START = datetime(2030, 1, 1, tzinfo=UTC)


class BucketSpec(Model):
    """What a bucket should be."""

    region: str = "north"
    wait: bool = False
    suspend: bool = False


class BucketStatus(Model):
    """What a bucket is."""

    url: str = ""
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class Bucket(Resource, group="storage.example.com", version="v1"):
    """A bucket."""

    spec: BucketSpec
    status: BucketStatus | None = None


def bucket(name: str = "b", **spec: Any) -> Bucket:
    return Bucket(metadata=ObjectMeta(name=name, namespace="default"), spec=BucketSpec(**spec))


class World:
    """What a test has in its hands."""

    def __init__(self, client: Client, manager: Manager, clock: ManualClock | None) -> None:
        self.client = client
        self.manager = manager
        self.clock = clock

    def run(self, fsm: FSM, **settings: Any) -> Controller:
        """Has a machine work until the test ends."""
        settings.setdefault("owns", ["v1/ConfigMap"])
        return self.manager.add(fsm.controller(**settings))

    async def create(self, name: str = "b", **spec: Any) -> Bucket:
        return await self.client.create(bucket(name, **spec))

    async def change(self, what: Callable[[Bucket], Any], name: str = "b") -> Bucket:
        return await self.client.edit(Bucket, name, "default", what)

    async def is_so(self, *wanted: str, name: str = "b") -> dict[str, Object]:
        """Waits until conditions read `Type=Status/Reason`, all about the generation there is, and returns all."""

        def holds(found: Any) -> bool:
            if found is None or found.status is None:
                return False
            told = {
                f"{each['type']}={each['status']}/{each['reason']}"
                for each in found.status.conditions
                if each.get("observedGeneration") == found.metadata.generation
            }
            return told >= {*wanted}

        found = await self.client.wait_for(Bucket, name, "default", holds, timeout=None)
        assert found is not None
        assert found.status is not None
        return {each["type"]: each for each in found.status.conditions}

    async def conditions(self, name: str = "b") -> dict[str, str]:
        found = await self.client.get(Bucket, name, "default")
        status = found.status or BucketStatus()
        return {each["type"]: f"{each['status']}/{each['reason']}" for each in status.conditions}

    async def has(self, name: str) -> bool:
        """Whether there is a ConfigMap of that name."""
        found = await self.client.list("v1/ConfigMap", "default", fields={"metadata.name": name})
        return bool(found.items)

    async def turn(self, seconds: float, controller: Controller) -> None:
        """Lets time pass, step by step, so that whoever waits for each step has its turn."""
        assert self.clock is not None
        self.clock.advance(seconds)
        await settle(controller, 0.01)


@asynccontextmanager
async def new_world(*, manual: bool = False) -> AsyncIterator[World]:
    """Provides a world; `manual` has the test turn the time itself."""
    clock = ManualClock(START) if manual else None
    how: dict[str, Any] = {"clock": clock} if clock else {}
    async with asyncio.timeout(PATIENCE), ControlPlane(system=False, **how) as plane, plane.client() as client:
        await client.install(Bucket)
        # A manager that waits for running reconciles would wait for the manual clock, which no task turns any more.
        async with Manager(client, graceful=0 if manual else GRACEFUL_SECONDS) as manager:
            yield World(client, manager, clock)
