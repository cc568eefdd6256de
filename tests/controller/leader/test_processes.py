"""Replicas as real processes: one is killed, one is paused and wakes up again. Never do two of them act."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.controller.leader.replica import ELECTION, JOB

from setpoint.client.client import Client
from setpoint.controller.leader import LEASE
from setpoint.objects.errors import NotFound
from setpoint.objects.times import parse_micro_time
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PATIENCE = 60.0


class World:
    """A server, and replicas that are processes of their own."""

    def __init__(self, client: Client, url: str, token: str) -> None:
        self.client = client
        self._arguments = (url, token)
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    async def start(self, name: str) -> None:
        self._processes[name] = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.controller.leader.replica", *self._arguments, name, cwd=ROOT
        )

    def signal(self, name: str, number: int) -> None:
        self._processes[name].send_signal(number)

    async def ended(self, name: str) -> int:
        return await self._processes.pop(name).wait()

    async def end(self) -> None:
        for process in self._processes.values():
            process.kill()
            await process.wait()

    async def acts(self) -> list[Object]:
        """All that was done, in the order in which the server took it."""
        found = (await self.client.list("v1/ConfigMap", "default")).items
        acts = [one["metadata"] for one in found if one["metadata"]["name"].startswith("act-")]
        return sorted(acts, key=lambda metadata: int(metadata["resourceVersion"]))

    async def actors(self) -> list[str]:
        return [metadata["annotations"]["by"] for metadata in await self.acts()]

    async def until_acts(self, name: str, more: int = 5) -> None:
        """Waits until a replica has done some more."""
        before = (await self.actors()).count(name)
        async with asyncio.timeout(PATIENCE):
            while (await self.actors()).count(name) < before + more:
                await asyncio.sleep(0.05)

    async def leader(self) -> str:
        """Who leads, once somebody does."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    lease = await self.client.get(LEASE, ELECTION.name, "default")
                    if lease["spec"].get("holderIdentity"):
                        return str(lease["spec"]["holderIdentity"])
                except NotFound:
                    pass
                await asyncio.sleep(0.05)

    async def check_that_only_leaders_acted(self) -> None:
        """Whoever did something held the lease at that revision: the server keeps what was."""
        for metadata in await self.acts():
            lease = await self.client.get(LEASE, ELECTION.name, "default", at=int(metadata["resourceVersion"]))
            assert lease["spec"]["holderIdentity"] == metadata["annotations"]["by"], metadata


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with ControlPlane(token="secret", system=False) as plane, plane.client() as client:
        url = await plane.listen(tls=False)
        await client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": JOB, "namespace": "default"}}
        )
        world = World(client, url, "secret")
        try:
            yield world
            await world.check_that_only_leaders_acted()
        finally:
            await world.end()


def other(name: str) -> str:
    return "b" if name == "a" else "a"


async def test_when_the_leader_is_killed_another_acts_after_its_lease_has_run_out(world: World) -> None:
    await asyncio.gather(world.start("a"), world.start("b"))
    leader = await world.leader()
    await world.until_acts(leader)
    world.signal(leader, signal.SIGKILL)
    await world.ended(leader)
    last = (await world.client.get(LEASE, ELECTION.name, "default"))["spec"]["renewTime"]
    await world.until_acts(other(leader))
    lease = (await world.client.get(LEASE, ELECTION.name, "default"))["spec"]
    assert lease["holderIdentity"] == other(leader)
    assert lease["leaseTransitions"] == 1
    waited = parse_micro_time(lease["acquireTime"]) - parse_micro_time(last)
    # Nobody takes the lease of a leader before it has run out.
    assert waited.total_seconds() >= ELECTION.lease_seconds


async def test_a_paused_leader_does_nothing_when_it_wakes_but_stand_by_and_can_lead_again(world: World) -> None:
    await asyncio.gather(world.start("a"), world.start("b"))
    paused = await world.leader()
    await world.until_acts(paused)
    world.signal(paused, signal.SIGSTOP)
    await world.until_acts(other(paused))
    world.signal(paused, signal.SIGCONT)
    await world.until_acts(other(paused), 40)
    actors = await world.actors()
    assert paused not in actors[actors.index(other(paused)) :]
    # It still runs: when the leader ends in good order, it is the next.
    world.signal(other(paused), signal.SIGTERM)
    assert await world.ended(other(paused)) == 0
    await world.until_acts(paused)
