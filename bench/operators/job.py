"""The job: many objects are created, and it is done when each has its child and its status."""

import asyncio
import time
from itertools import count
from typing import NamedTuple

from bench.operators.tank import Tank, TankSpec
from setpoint.client.client import Client
from setpoint.schema.types import ObjectMeta

# How many creations are under way at once.
CREATORS = 16


class Job(NamedTuple):
    """What it took."""

    # From the first creation to the last status.
    seconds: float
    # Seconds of CPU of whoever did it.
    cpu: float
    # What it grew by for each object, in kilobytes.
    memory: float
    # Seconds of CPU of the server, where that is another process.
    server: float = 0.0


async def do(client: Client, objects: int, prefix: str = "tank") -> float:
    """Creates objects, waits until all are settled, and returns how long that took."""
    settled: set[str] = set()
    ready = asyncio.Event()
    watching = asyncio.create_task(_watch(client, settled, ready, objects, prefix))
    await ready.wait()
    start = time.perf_counter()
    numbers = count()

    async def create() -> None:
        while (number := next(numbers)) < objects:
            metadata = ObjectMeta(name=f"{prefix}-{number}", namespace="default")
            await client.create(Tank(metadata=metadata, spec=TankSpec(capacity=number + 1, unit="l")))

    await asyncio.gather(*(create() for _ in range(CREATORS)))
    await watching
    seconds = time.perf_counter() - start
    children = (await client.list("v1/ConfigMap", "default")).items
    made = {child["metadata"]["name"]: child for child in children}
    for number in range(objects):
        child = made[f"{prefix}-{number}"]
        if child["data"] != {"label": f"{number + 1}l"} or not child["metadata"].get("ownerReferences"):
            raise RuntimeError(f"{prefix}-{number} was not done: {child}")
    return seconds


async def _watch(client: Client, settled: set[str], ready: asyncio.Event, objects: int, prefix: str) -> None:
    """Follows the objects until all have their status."""
    start = (await client.list(Tank, "default")).resource_version
    async with client.watch(
        "operator.setpoint.example/v1/Tank", "default", resource_version=start, bookmarks=False
    ) as events:
        ready.set()
        async for event in events:
            tree = event.object
            name = tree["metadata"]["name"]
            if name.startswith(prefix) and tree.get("status", {}).get("label"):
                settled.add(name)
                if len(settled) == objects:
                    return
