"""Test worlds: the CPU time of a new world with a known kind, and of a snapshot and a fork with a hundred objects."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

from bench.controller import Job, JobSpec
from bench.figure import Figure
from setpoint import testing
from setpoint.schema.types import ObjectMeta

OBJECTS, ROUNDS = 100, 60
WORLD_AIM, FORK_AIM = 15.0, 2.0


async def _least(operation: Callable[[], Awaitable[float]]) -> float:
    """The milliseconds of the best round."""
    return min([await operation() for _ in range(ROUNDS)]) * 1000


async def measure() -> tuple[float, float, float]:
    async def new_world() -> float:
        start = time.process_time()
        async with testing.world(crds=[Job]):
            return time.process_time() - start

    jobs = [
        Job(metadata=ObjectMeta(name=f"j{number}", namespace="default"), spec=JobSpec()) for number in range(OBJECTS)
    ]
    async with testing.world(crds=[Job], objects=jobs) as world:

        async def fork() -> float:
            start = time.process_time()
            async with snapshot.world():
                return time.process_time() - start

        async def take() -> float:
            start = time.process_time()
            await world.snapshot()
            return time.process_time() - start

        snapshot = await world.snapshot()
        return await _least(new_world), await _least(take), await _least(fork)


def figures() -> Iterable[Figure]:
    made, taken, forked = asyncio.run(measure())
    yield Figure("world: a new world with a known kind", made, "ms", aim=f"< {WORLD_AIM:g}", met=made < WORLD_AIM)
    yield Figure(f"world: snapshot with {OBJECTS} objects", taken, "ms")
    both = taken + forked
    yield Figure(
        f"world: snapshot and fork with {OBJECTS} objects", both, "ms", aim=f"< {FORK_AIM:g}", met=both < FORK_AIM
    )
