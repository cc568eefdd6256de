"""A control plane that is killed at any moment leaves nothing running that should not be, loses nothing that should
stay, and comes back to the same state."""

import asyncio
import random
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path

import pytest
from tests.workload.chaos.crew import Crew
from tests.workload.chaos.fleet import Fleet
from tests.workload.chaos.hold import Hold
from tests.workload.chaos.served import Served
from tests.workload.podman import Service, connected

pytestmark = pytest.mark.slow


@pytest.mark.timeout(7200)  # with --long
async def test_a_control_plane_that_is_killed_again_and_again_keeps_what_is_to_stay_and_nothing_else(
    tmp_path: Path, request: pytest.FixtureRequest, podman: Service
) -> None:
    chance = random.Random(9)
    async with connected(podman) as engine:
        crews = Fleet(chance), Hold(engine, chance)
        rounds = 100 if request.config.getoption("--long") else 3
        await _killed_again_and_again(Served(tmp_path, podman.address), crews, rounds, chance)


async def test_so_it_is_with_processes_where_there_are_no_containers(tmp_path: Path) -> None:
    chance = random.Random(10)
    await _killed_again_and_again(Served(tmp_path), [Fleet(chance)], 4, chance)


async def _killed_again_and_again(served: Served, crews: Sequence[Crew], rounds: int, chance: random.Random) -> None:
    try:
        for number in range(rounds):
            await asyncio.to_thread(served.start)
            async with served.client() as client:
                await _all(crew.apply(client) for crew in crews)
                if number % 2:
                    await _all(crew.converge(client) for crew in crews)
                    await _all(crew.disturb(client) for crew in crews)
                await asyncio.sleep(chance.uniform(0, 0.5))
            await asyncio.to_thread(served.kill)
            await _all(crew.check() for crew in crews)
        await asyncio.to_thread(served.start)
        async with served.client() as client:
            await _all(crew.apply(client) for crew in crews)
            await _all(crew.converge(client) for crew in crews)
            await _all(crew.retire(client) for crew in crews)
        assert await asyncio.to_thread(served.stop) == 0
        assert [await crew.left() for crew in crews] == [[] for _ in crews]
        assert served.left_behind() == []
    finally:
        await asyncio.to_thread(served.end)
        await _all(crew.clear() for crew in crews)


async def _all(these: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*these)
