"""What has gone wrong with shutdowns elsewhere, tried on a whole control plane."""

import asyncio
from pathlib import Path

from tests.workload.controllers.ship import made, scripted, ship


async def test_a_shutdown_in_the_middle_of_a_long_pull_waits_for_nothing(tmp_path: Path) -> None:
    engine = scripted()
    engine.offer("far:1")
    engine.delay("images.pull", 3600)
    async with asyncio.timeout(30):
        async with ship(tmp_path, engine) as world:
            await made(world, "late", image="far:1")
            await world.state("Container", "late", "Starting", "Pending")
            while not any(operation.startswith("images.pull") for operation, _ in engine.calls):
                await asyncio.sleep(0.01)
    assert not engine.containers
