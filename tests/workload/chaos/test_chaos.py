"""A control plane that is killed at any moment leaves nothing running that should not be, loses nothing that should
stay, and comes back to the same state."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest
from tests.workload.chaos.fleet import EXECUTABLE, Fleet, Served

from setpoint.client.patches import merge


@pytest.mark.timeout(3600)  # with --long
async def test_a_control_plane_that_is_killed_again_and_again_keeps_what_is_to_stay_and_nothing_else(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rounds = 100 if request.config.getoption("--long") else 8
    chance = random.Random(9)
    served, fleet = Served(tmp_path), Fleet(chance)
    try:
        for number in range(rounds):
            await asyncio.to_thread(served.start)
            async with served.client() as client:
                await fleet.apply(client)
                if number % 2:
                    await fleet.converge(client)
                    await fleet.disturb(client)
                await asyncio.sleep(chance.uniform(0, 0.4))
            await asyncio.to_thread(served.kill)
            fleet.check()
            fleet.check_single()
        await asyncio.to_thread(served.start)
        async with served.client() as client:
            await fleet.apply(client)
            await fleet.converge(client)
            for name in fleet.kept_naps:
                await client.patch(EXECUTABLE, merge({"spec": {"stop": True}}), name)
                await client.wait_for(EXECUTABLE, name, until=_finished, timeout=30)
        assert await asyncio.to_thread(served.stop) == 0
        assert fleet.left() == []
        assert served.left_behind() == []
    finally:
        await asyncio.to_thread(served.end)
        for pid in fleet.left():
            os.kill(pid, signal.SIGKILL)


def _finished(tree: object) -> bool:
    return isinstance(tree, dict) and tree["status"]["state"] == "Finished"
