"""Replicas of a program on one server, in one process, in time that the test moves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime

from setpoint.client.client import Client
from setpoint.client.options import Options
from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError
from setpoint.controller.fence import FencedTransport, NotLeading
from setpoint.controller.leader import LEASE, Elector, LeaderElection
from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

START = datetime(2026, 1, 1, tzinfo=UTC)
ELECTION = LeaderElection("operator", "default")


class Cut:
    """A way to the server that can be cut."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.is_cut = False
        self.requests: list[str] = []

    async def send(self, call: Call) -> Answer:
        self.requests.append(f"{call.method} {call.path}")
        if self.is_cut:
            raise TransportError("the network is down", sent=True)
        return await self.transport.send(call)

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self.transport.stream(call)

    async def close(self) -> None:
        await self.transport.close()


class Replica:
    """One replica: every half second that it leads it makes a ConfigMap."""

    def __init__(self, plane: ControlPlane, clock: ManualClock, name: str, config: LeaderElection) -> None:
        self.name = name
        self.clock = clock
        self.way = Cut(plane.client().transport)
        client = Client(self.way, clock=clock, options=Options(field_manager=name))
        self.changes: list[bool] = []
        self.elector = Elector(
            client, config._replace(identity=name), ids=SeededIds(hash(name) % 7), on_change=self.changes.append
        )
        fenced = FencedTransport(plane.client().transport, self.elector.fence)
        self.client = Client(fenced, clock=clock, options=Options(field_manager=name))
        self.refused = 0
        self.stubborn = False
        self.finish = asyncio.Event()
        self.running = 0
        self.task = asyncio.ensure_future(self.elector.run(self.work))

    async def work(self) -> None:
        self.running += 1
        try:
            while not self.finish.is_set():
                try:
                    await self.act()
                    await self.clock.sleep(0.5)
                except asyncio.CancelledError:
                    if not self.stubborn:
                        raise
        finally:
            self.running -= 1

    async def act(self) -> None:
        try:
            await self.client.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "act-", "namespace": "default"}}
            )
        except NotLeading:
            self.refused += 1

    async def stop(self) -> None:
        self.stubborn = False
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class World:
    """A server, its time, and replicas that are ended with the test."""

    def __init__(self, plane: ControlPlane, clock: ManualClock) -> None:
        self.plane = plane
        self.clock = clock
        self.client = plane.client()
        self.replicas: list[Replica] = []

    def replica(self, name: str, config: LeaderElection = ELECTION) -> Replica:
        replica = Replica(self.plane, self.clock, name, config)
        self.replicas.append(replica)
        return replica

    async def settle(self) -> None:
        """Lets everybody do what they can at this moment."""
        for _ in range(60):
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        """Moves time, from one waking to the next."""
        until = self.clock.monotonic() + seconds
        while True:
            await self.settle()
            due = self.clock.next_deadline()
            if due is None or due > until:
                break
            self.clock.advance(due - self.clock.monotonic())
        self.clock.advance(until - self.clock.monotonic())
        await self.settle()

    async def lease(self) -> Object:
        lease = await self.client.get(LEASE, ELECTION.name, "default")
        spec: Object = lease["spec"]
        return spec

    async def actors(self) -> list[str]:
        """Who made the ConfigMaps, in the order of their revisions."""
        found = (await self.client.list("v1/ConfigMap", "default", labels="")).items
        made = [one for one in found if one["metadata"]["name"].startswith("act-")]
        made.sort(key=lambda one: int(one["metadata"]["resourceVersion"]))
        return [one["metadata"]["managedFields"][0]["manager"] for one in made]

    @property
    def leaders(self) -> list[str]:
        return [replica.name for replica in self.replicas if replica.elector.is_leader]


@asynccontextmanager
async def new_world() -> AsyncIterator[World]:
    """Provides a server whose time the test moves, and sees that no task of the replicas outlives the test."""
    clock = ManualClock(START)
    async with ControlPlane(clock=clock, system=False) as plane:
        before = asyncio.all_tasks()
        world = World(plane, clock)
        try:
            yield world
        finally:
            for replica in world.replicas:
                await replica.stop()
        await world.settle()
        assert asyncio.all_tasks() == before


def runs(names: list[str]) -> list[str]:
    """A sequence with what repeats taken once."""
    return [name for index, name in enumerate(names) if not index or names[index - 1] != name]
