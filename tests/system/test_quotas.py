"""Quotas learn in time of what no client wrote."""

import asyncio
from datetime import UTC, datetime

from tests.system.worlds import World, new_world

from setpoint.objects.clock import ManualClock
from setpoint.system.quotas import EVERY_SECONDS


async def test_what_the_server_keeps_for_itself_is_counted_in_time() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))

    async def used_after(world: World, seconds: float) -> str:
        clock.advance(seconds)
        for _ in range(20):
            await asyncio.sleep(0)
        quota = await world.client.get("v1/ResourceQuota", "q", "default")
        found: str = quota["status"]["used"]["count/endpoints"]
        return found

    async with new_world(clock=clock) as world:
        spec = {"hard": {"count/endpoints": "10"}}
        metadata = {"name": "q", "namespace": "default"}
        await world.client.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec})
        await asyncio.sleep(0)  # who counts has to hear of it
        assert await used_after(world, 1) == "0"
        await world.plane.listen()  # which says where it is
        assert await used_after(world, EVERY_SECONDS) == "1"
