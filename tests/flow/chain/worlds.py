"""Chains on a real server in one process, with the time in the test's hands: what the tests of this room begin with."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from tests.controller.core.worlds import PATIENCE, config_map, named, settle, until

from setpoint.client.client import Client
from setpoint.controller.manager import Manager
from setpoint.flow.chain import Chain
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

__all__ = ["PATIENCE", "config_map", "named", "settle", "until"]

CONFIG_MAP = "v1/ConfigMap"
START = datetime(2030, 1, 1, tzinfo=UTC)


class World:
    """What a test has in its hands."""

    def __init__(self, client: Client, manager: Manager, clock: ManualClock | None) -> None:
        self.client = client
        self.manager = manager
        self.clock = clock

    async def run(self, chain: Chain[Any]) -> None:
        """Has a chain work until the test ends, and waits until it has handled what is there."""
        self.manager.add(chain)
        await until(lambda: chain.working)
        await settle(chain)

    async def create(self, name: str = "a", **metadata: Any) -> Object:
        return await self.client.create(config_map(name, **metadata))

    async def change(self, name: str = "a", **data: str) -> Object:
        return await self.client.edit(
            CONFIG_MAP, name, "default", lambda found: found.setdefault("data", {}).update(data)
        )

    async def get(self, name: str = "a") -> Object:
        return await self.client.get(CONFIG_MAP, name, "default")

    async def delete(self, name: str = "a") -> None:
        await self.client.delete(CONFIG_MAP, name, "default")

    async def is_gone(self, name: str = "a") -> None:
        await self.client.wait_for(CONFIG_MAP, name, "default", "delete")

    async def turn(self, seconds: float, chain: Chain[Any]) -> None:
        """Lets time pass."""
        assert self.clock is not None
        await settle(chain)
        self.clock.advance(seconds)
        await asyncio.sleep(0)
        await settle(chain)


def maps(**how: Any) -> Chain[Object]:
    """A chain for ConfigMaps."""
    return Chain(CONFIG_MAP, **how)


@asynccontextmanager
async def new_world(*, turned: bool = False) -> AsyncIterator[World]:
    """Provides a world; `turned` has the test say how late it is."""
    clock = ManualClock(START) if turned else None
    async with (
        asyncio.timeout(PATIENCE * 3),
        ControlPlane(system=False, clock=clock) as plane,
        plane.client() as client,
        Manager(client, graceful=0, preflight=False) as manager,
    ):
        yield World(client, manager, clock)
