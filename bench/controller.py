"""Controllers: the queue, the way from a write to a reconcile, and the job that every operator does.

The job: a thousand custom resources, each with one child and a status, from the first creation until all are settled;
in process, with the work of the server in it.
"""

import asyncio
import time
from collections.abc import Iterable
from statistics import median
from typing import Any

import msgspec

from bench.figure import Figure
from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.queue import Queue
from setpoint.controller.request import Request
from setpoint.objects.owners import controller_reference
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource

KEYS, ROUNDS, OBJECTS, WRITES = 20_000, 7, 1_000, 500
CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"


class JobSpec(Model):
    """What a job should be."""

    size: int = 1


class JobStatus(Model):
    """What a job is."""

    child: str = ""
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)
    observed_generation: int = 0


class Job(Resource, group="bench.example.com", version="v1"):
    """A custom resource with a child."""

    spec: JobSpec
    status: JobStatus | None = None


async def reconcile(ctx: Context, request: Request) -> None:
    job = await ctx.object()
    if job is None:
        return
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": request.name,
            "namespace": request.namespace,
            "ownerReferences": [controller_reference(job.to_json())],
        },
        "data": {"size": str(job.spec.size)},
    }
    found = await ctx.client.find("v1/ConfigMap", request.name, request.namespace)
    if found is None:
        await ctx.client.create(child)
    elif found["data"] != child["data"]:
        await ctx.client.apply(child, force=True)
    ctx.status["child"] = request.name
    ctx.status.condition("Ready", True, "Settled")


async def install(client: Client) -> None:
    await client.create(Job.crd())
    await client.wait_for(CRD, "jobs.bench.example.com", "", "condition=Established")


async def settle(client: Client, count: int) -> tuple[float, float]:
    """Makes jobs and waits for all to be settled: seconds on the wall and of the processor."""
    async with Cache(client) as cache:
        controller = Controller("job", reconcile, kind=Job, owns=["v1/ConfigMap"], concurrency=4)
        await controller.start(cache)
        controller.work()
        done = asyncio.Event()
        settled: set[str] = set()

        def hear(change: Any) -> None:
            new = change.new
            if new is not None and new.object.status is not None and new.object.status.child:
                settled.add(new.meta.name)
                if len(settled) == count:
                    done.set()

        cache.informer(Job).add_handler(hear)
        wall, cpu = time.perf_counter(), time.process_time()
        for number in range(count):
            await client.create(Job(metadata=ObjectMeta(name=f"job-{number}", namespace="default"), spec=JobSpec()))
        await done.wait()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        await controller.stop()
        return wall, cpu


async def latencies(client: Client) -> list[float]:
    """Seconds from before a write until its reconcile begins, less what the write itself takes to return."""
    async with Cache(client) as cache:
        began: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        async def note(ctx: Context, request: Request) -> None:
            if not began.done():
                began.set_result(time.perf_counter())

        controller = Controller("note", note, kind="v1/ConfigMap", namespaces=["default"])
        await controller.start(cache)
        controller.work()
        found = []
        for number in range(WRITES):
            await asyncio.sleep(0)
            began = asyncio.get_running_loop().create_future()
            start = time.perf_counter()
            tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}", "namespace": "default"}}
            await client.create(tree)
            found.append(await began - start)
        await controller.stop()
        return found


def add_get_done() -> float:
    """The seconds of the processor that a key's way through the queue takes."""

    async def main() -> float:
        queue: Queue[Request] = Queue()
        keys = [Request(f"name-{number}", f"namespace-{number % 50}") for number in range(KEYS)]
        start = time.process_time()
        for key in keys:
            queue.add(key)
        for _ in keys:
            queue.done((await queue.get()).key)
        spent = time.process_time() - start
        queue.shut_down()
        return spent / KEYS

    return asyncio.run(main())


async def in_process() -> tuple[tuple[float, float], list[float]]:
    async with ControlPlane() as plane, plane.client() as client:
        await install(client)
        job = await settle(client, OBJECTS)
    async with ControlPlane() as plane, plane.client() as client:
        return job, await latencies(client)


def figures() -> Iterable[Figure]:
    rate = 1.0 / min(add_get_done() for _ in range(ROUNDS))
    yield Figure("controller: queue, add-get-done", rate, "/s", aim=">= 300,000", met=rate >= 300_000)
    (wall, cpu), waits = asyncio.run(in_process())
    middle = median(waits) * 1e6
    yield Figure("controller: write to reconcile start, median", middle, "us", aim="< 1,000", met=middle < 1_000)
    yield Figure(f"controller: {OBJECTS:,} resources with a child and a status, by CPU", OBJECTS / cpu, "/s")
    yield Figure(f"controller: {OBJECTS:,} resources with a child and a status, on the wall", OBJECTS / wall, "/s")
