"""The revision at a time, whatever the clock did in between."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import setpoint as sp
from setpoint.client.client import Client
from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.watch.revision_times import Moments
from setpoint.store.memory import MemoryStore

from .reader import MAPS, START, reading

REVISIONS = "/apis/setpoint.dev/v1/revisions"


class JumpingClock(ManualClock):
    """A clock whose wall time is set to anything."""

    offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self.offset


async def written(store: MemoryStore, clock: JumpingClock, times: list[int]) -> None:
    for number, time in enumerate(times):
        clock.offset = timedelta(seconds=time)
        await store.commit(f"/a/b/{number}-{await store.revision()}", b"{}", 0, Actor("u"))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.integers(-1, 31), st.integers(0, 24))
def test_it_is_the_last_revision_whose_time_is_not_later(times: list[int], asked: int, first: int) -> None:
    async def main() -> None:
        clock = JumpingClock(START)
        store = MemoryStore(clock=clock)
        moments = Moments(store)
        start = START.timestamp()
        await written(store, clock, times[:first])
        await moments.at(start)
        await written(store, clock, times[first:])
        # By the definition, from the log itself.
        log = await store.log()
        expected = max((entry.revision for entry in log if entry.time <= start + asked), default=None)
        assert await moments.at(start + asked) == expected
        earlier = await moments.at(start + asked - 1)
        assert earlier is None or (expected is not None and earlier <= expected)

    asyncio.run(main())


async def test_what_was_read_once_is_not_read_again() -> None:
    class Counting(MemoryStore):
        read = 0

        async def times(self, after: int, limit: int) -> list[tuple[int, float]]:
            found = list(await super().times(after, limit))
            self.read += len(found)
            return found

    clock = JumpingClock(START)
    store = Counting(clock=clock)
    moments = Moments(store)
    await written(store, clock, list(range(100)))
    for second in range(100):
        assert await moments.at(START.timestamp() + second) == second + 1
    assert store.read == 100


@pytest.mark.parametrize("where", ["memory", "sqlite:{}/a.db"])
async def test_a_clock_that_jumped_hides_nothing(where: str, tmp_path: Path) -> None:
    clock = JumpingClock(START)
    spec = where.format(tmp_path)

    async def at(client: Client, seconds: float) -> str:
        time = (START + timedelta(seconds=seconds)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        answer = await client.raw("GET", REVISIONS, query=[("time", time)])
        found: str = json.loads(answer.body)["metadata"]["at"]
        return found

    made: dict[str, str] = {}

    async def create(client: Client, name: str, second: float) -> None:
        clock.offset = timedelta(seconds=second)
        tree: Object = await client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        )
        made[name] = tree["metadata"]["resourceVersion"]

    async with sp.ControlPlane(spec, clock=clock, system=False) as plane, plane.client() as client:
        await create(client, "before", 10)
        await create(client, "ahead", 3600)
        await create(client, "corrected", 20)
        await create(client, "later", 30)
        for _ in range(2):
            assert await at(client, 15) == made["before"]
            assert await at(client, 25) == made["corrected"]
            assert await at(client, 30) == made["later"]
            assert int(await at(client, 4000)) >= int(made["later"])
        await create(client, "back", 12)
        assert await at(client, 15) == made["back"]
    if where != "memory":
        async with sp.ControlPlane(spec, clock=clock, system=False) as plane, plane.client() as client:
            assert await at(client, 11) == made["before"]
            assert int(await at(client, 15)) >= int(made["back"])


async def test_a_time_before_everything_is_told_to_be() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "a")
        status = await reader.json(REVISIONS, status=410, time="2020-01-01T00:00:00Z")
        assert "the oldest retained entry is from 2026-01-01" in status["message"]
