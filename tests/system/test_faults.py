"""The system controllers when things go wrong: what they are for happens all the same, and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random

import pytest
from tests.system.worlds import CONFIG_MAP, PATIENCE, World, reference

from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.client.transport import Answer, Call, Stream, TransportError
from setpoint.objects.errors import NotFound
from setpoint.plane import ControlPlane
from setpoint.server.edge.in_process import LocalTransport
from setpoint.system.controller_names import NAMES
from setpoint.system.system import System
from setpoint.system.system_environment import ServerInterface

# Every point of a run is disturbed once: 16 s.
pytestmark = pytest.mark.slow


class Faulty:
    """A transport that loses some requests on their way, and some answers on theirs; its watches break off."""

    def __init__(self, transport: LocalTransport, chance: Random, rate: float) -> None:
        self._transport = transport
        self._chance = chance
        self._rate = rate

    async def send(self, call: Call) -> Answer:
        fate = self._chance.random()
        if fate < self._rate:
            raise TransportError("lost on the way", sent=True)
        answer = await self._transport.send(call)
        if fate > 1 - self._rate:
            raise TransportError("the answer was lost", sent=True)
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        async with self._transport.stream(call) as stream:
            yield _Breaking(stream, self._chance, self._rate)

    async def close(self) -> None:
        await self._transport.close()


class _Breaking:
    def __init__(self, stream: Stream, chance: Random, rate: float) -> None:
        self.answer = stream.answer
        self._stream = stream
        self._chance = chance
        self._rate = rate

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            if self._chance.random() < self._rate:
                raise TransportError("the watch was cut off", sent=True)
            yield piece

    def cut(self, why: str) -> None:
        self._stream.cut(why)


class FaultyHome(ServerInterface):
    def __init__(self, plane: ControlPlane, seed: int, rate: float) -> None:
        super().__init__(plane._started)
        self._plane = plane
        self._chance = Random(seed)
        self._rate = rate

    def client_of(self, user: str, groups: Sequence[str] = ()) -> Client:
        transport = LocalTransport(self._plane._started, {}, user, groups)
        return Client(Faulty(transport, self._chance, self._rate), clock=self.clock)


@asynccontextmanager
async def new_faulty(seed: int = 0, rate: float = 0.1) -> AsyncIterator[tuple[World, System]]:
    """Provides system controllers, a share of whose requests fails."""
    async with asyncio.timeout(PATIENCE), ControlPlane(system=False) as plane, plane.client() as client:
        system = System(FaultyHome(plane, seed, rate), NAMES)
        await system.start()
        try:
            yield World(plane, client), system
        finally:
            await system.stop()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():
        await asyncio.sleep(0.005)


async def family(world: World) -> None:
    """Two trees of owners that share a leaf; one of them is to go."""
    for root in ("gone", "kept"):
        owner = await world.make(root)
        for at in range(4):
            child = await world.make(f"{root}-{at}", reference(owner, blocks=True))
            await world.make(f"{root}-{at}-leaf", reference(child, blocks=True))
    gone, kept = [await world.client.get(CONFIG_MAP, name, "default") for name in ("gone", "kept")]
    await world.make("shared", reference(gone, blocks=True), reference(kept, blocks=True))


async def left(world: World) -> set[str]:
    return {item["metadata"]["name"] for item in (await world.client.list(CONFIG_MAP, "default")).items}


KEPT = {"kept", "shared", *(f"kept-{at}" for at in range(4)), *(f"kept-{at}-leaf" for at in range(4))}


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
@pytest.mark.parametrize("seed", range(4))
async def test_what_is_lost_on_the_way_is_done_again(seed: int, propagation: str) -> None:
    async with new_faulty(seed) as (world, _):
        await family(world)
        await world.delete("gone", propagation)

        async def is_done() -> bool:
            shared = await world.client.get(CONFIG_MAP, "shared", "default")
            owners = [each["name"] for each in shared["metadata"]["ownerReferences"]]
            return await left(world) == KEPT and owners == ["kept"]

        await until(is_done)


@pytest.mark.parametrize("seed", range(2))
async def test_a_namespace_goes_though_much_is_lost(seed: int) -> None:
    async with new_faulty(seed, rate=0.01) as (world, _):
        await world.namespace("n")
        await world.make("a", namespace="n")
        await world.client.delete("v1/Namespace", "n")

        async def is_gone() -> bool:
            return not await world.is_there("v1/Namespace", "n")

        await until(is_gone)


@pytest.mark.parametrize("turns", [0, 1, 5, 20, 60])
async def test_controllers_that_are_started_anew_go_on(turns: int) -> None:
    async with asyncio.timeout(PATIENCE), ControlPlane(system=False) as plane, plane.client() as client:
        world = World(plane, client)
        await family(world)
        await world.namespace("n")
        await world.make("a", namespace="n")
        await world.delete("gone", "Foreground")
        await client.delete("v1/Namespace", "n")
        for _ in range(3):
            system = System(ServerInterface(plane._started), NAMES)
            await system.start()
            for _ in range(turns):
                await asyncio.sleep(0)
            await system.stop()
        plane.start_system()
        await plane.settle()
        assert await left(world) == KEPT
        assert not await world.is_there("v1/Namespace", "n")


async def test_an_object_that_changes_all_the_time_goes_all_the_same() -> None:
    async with new_faulty(rate=0) as (world, _):
        owner = await world.make("owner")
        await world.make("child", reference(owner))

        async def write() -> None:
            for at in range(1000):
                try:
                    await world.client.patch(CONFIG_MAP, merge({"data": {"at": str(at)}}), "child", "default")
                except NotFound:
                    return
                await asyncio.sleep(0)

        writing = asyncio.ensure_future(write())
        await world.delete("owner")
        await writing

        async def is_gone() -> bool:
            return not await left(world)

        await until(is_gone)


async def test_owners_that_went_while_nobody_looked_are_missed() -> None:
    async with asyncio.timeout(PATIENCE), ControlPlane() as plane, plane.client() as client:
        world = World(plane, client)
        await family(world)
        await plane.settle()
        # The log forgets what happened while the feed was away: it has to begin anew.
        assert plane._runner is not None
        await plane._stop_system()
        await world.delete("gone")
        store = plane._started.services.store
        await store.compact(await store.revision())
        plane.start_system()
        await plane.settle()
        assert await left(world) == KEPT
