"""Flows: a reconcile that finds everything as it should be, and the plan of a big apply set.

A state machine puts out ten objects, all of which are there already; beside it, a plain reconcile that only reads the
same ten from the cache. The set has a thousand objects: first planned by a process that knows nothing of them, then,
unchanged, applied again. Everything is in process; what counts is the time of the processor.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bench.figure import Figure
from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.controller.run_record import ReconcileRecord
from setpoint.flow.apply_set import ApplySet
from setpoint.flow.fsm import FSM, Done, Next, Outputs
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource

OUTPUTS, ROUNDS, TIMES, OBJECTS = 10, 12, 50, 1_000
CONFIG_MAP = "v1/ConfigMap"


class TankStatus(Model):
    """How a tank is."""

    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)
    observed_generation: int = 0


class Tank(Resource, group="bench.example.com", version="v1"):
    """Something with ten outputs."""

    status: TankStatus | None = None


def output(name: str, number: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-{number}", "namespace": "default", "labels": {"app": name}},
        "data": {"number": str(number), "settings": "level: info\nretries: 3\n"},
    }


def machine() -> FSM:
    """Two states, five outputs each."""
    fsm = FSM(Tank)

    @fsm.state("Built")
    async def built(ctx: Context, tank: Tank, out: Outputs) -> Next:
        out.apply(*(output(tank.metadata.name, number) for number in range(0, OUTPUTS, 2)))
        return filled

    @fsm.state("Filled")
    async def filled(ctx: Context, tank: Tank, out: Outputs) -> Next:
        out.apply(*(output(tank.metadata.name, number) for number in range(1, OUTPUTS, 2)))
        return Done()

    return fsm


async def reads(ctx: Context, request: Request) -> None:
    """The plain reconcile beside it."""
    await ctx.object()
    for number in range(OUTPUTS):
        await ctx.client.get(CONFIG_MAP, f"{request.name}-{number}", request.namespace)


class Finished:
    """Is told of every reconcile."""

    def __init__(self) -> None:
        self.last: ReconcileRecord | None = None
        self._waiting: asyncio.Future[ReconcileRecord] | None = None

    def started(self, run: ReconcileRecord) -> None:
        """Nothing to note."""

    def finished(self, run: ReconcileRecord) -> None:
        self.last = run
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(run)

    async def next(self) -> ReconcileRecord:
        self._waiting = asyncio.get_running_loop().create_future()
        return await self._waiting


@asynccontextmanager
async def working(cache: Cache, controller: Controller) -> AsyncIterator[Finished]:
    """A controller that works, and has nothing left to do."""
    finished = Finished()
    controller.observer = finished
    await controller.start(cache)
    controller.work()
    while controller.queue.working() or len(controller.queue) or finished.last is None or finished.last.has_writes:
        await asyncio.sleep(0.01)
        if finished.last is not None and finished.last.has_writes:
            controller.enqueue(Request("tank", "default"))
    yield finished
    await controller.stop()


async def reconciles(controller: Controller, finished: Finished) -> float:
    """The seconds of the processor that a reconcile takes; nothing may be written."""
    spent = time.process_time()
    for _ in range(TIMES):
        controller.enqueue(Request("tank", "default"))
        run = await finished.next()
        assert not run.has_writes, run.writes
    return (time.process_time() - spent) / TIMES


async def settled(client: Client) -> tuple[float, float]:
    """Of the machine and of the plain reads: the best round of each."""
    await client.install(Tank)
    await client.create(Tank(metadata=ObjectMeta(name="tank", namespace="default")))
    async with Cache(client) as cache:
        fsm = machine().controller(owns=[CONFIG_MAP])
        plain = Controller("plain", reads, kind=Tank, reads=[CONFIG_MAP])
        best = [float("inf")] * 2
        async with working(cache, fsm) as one, working(cache, plain) as other:
            gc.collect()
            gc.disable()
            for _ in range(ROUNDS):
                best[0] = min(best[0], await reconciles(fsm, one))
                best[1] = min(best[1], await reconciles(plain, other))
            gc.enable()
        return best[0], best[1]


async def big_set(client: Client) -> tuple[float, float, int]:
    """Of a set of a thousand: the plan of a process that knows nothing, an apply that changes nothing, and how many
    objects that wrote."""
    wanted = [output("big", number) for number in range(OBJECTS)]
    async with Cache(client) as cache, cache.use(CONFIG_MAP):
        found: dict[str, Any] = {}
        rounds = 0

        async def reconcile(ctx: Context, request: Request) -> None:
            nonlocal rounds
            owner = await ctx.object()
            members = ApplySet.of(
                ctx, "members", owner.to_json() | {"apiVersion": "bench.example.com/v1", "kind": "Tank"}
            )
            members.add(*wanted)
            start = time.process_time()
            plan = await members.plan()
            found["plan"] = min(found.get("plan", 9.0), time.process_time() - start) if plan.is_empty else 9.0
            start = time.process_time()
            result = await members.apply()
            found["apply"], found["written"] = time.process_time() - start, len(result.written)
            rounds += 1

        for _ in range(2):
            found.clear()
            rounds = 0
            controller = Controller("big", reconcile, kind=Tank, owns=[CONFIG_MAP])
            async with working(cache, controller):
                pass
        return found["plan"], found["apply"], found["written"]


def figures() -> Iterable[Figure]:
    async def small() -> tuple[float, float]:
        async with ControlPlane(system=False) as plane, plane.client() as client:
            return await settled(client)

    async def big() -> tuple[float, float, int]:
        async with ControlPlane(system=False) as plane, plane.client() as client:
            await client.install(Tank)
            await client.create(Tank(metadata=ObjectMeta(name="tank", namespace="default")))
            return await big_set(client)

    walk, plain = (seconds * 1e6 for seconds in asyncio.run(small()))
    yield Figure(
        f"flow: no-change FSM reconcile, {OUTPUTS} outputs",
        walk,
        "us",
        f"plain reconcile, {OUTPUTS} cached gets",
        plain,
        "< 300",
        walk < 300,
    )
    plan, apply, written = asyncio.run(big())
    yield Figure(
        f"flow: plan of {OBJECTS:,} objects, nothing remembered", plan * 1e3, "ms", aim="< 150", met=plan < 0.15
    )
    yield Figure(f"flow: {OBJECTS:,} objects applied again, {written} written", apply * 1e3, "ms")
