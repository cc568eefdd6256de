"""The wakeups and writes of an idle app in twenty minutes of virtual time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.workload.app import GROUP, App

import setpoint as sp
from setpoint.objects.clock import ManualClock
from setpoint.workload.workloads import WorkloadSettings

MINUTES = 20
# Bookmarks and checks of the watches of all controllers; none of them writes.
WAKEUPS_PER_MINUTE = 55
SERVICES = 3
PROBE_SECONDS = 10


class CountingClock(ManualClock):
    """Counts the sleeps, by the function that sleeps."""

    def __init__(self) -> None:
        super().__init__(datetime(2026, 1, 31, 12, tzinfo=UTC))
        self.sleeps: Counter[str] = Counter()

    async def sleep(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.sleeps[getattr(task.get_coro(), "__qualname__", "")] += 1
        await super().sleep(seconds)


@asynccontextmanager
async def idle(directory: Path) -> AsyncIterator[tuple[App, CountingClock]]:
    """A control plane whose services are ready. Their probes look for a line of the log, which needs no network."""
    clock = CountingClock()
    settings = WorkloadSettings(directory / "run", working_directory=directory, workload_id=str(directory))
    async with sp.ControlPlane(workloads=settings, clock=clock) as plane, plane.client() as client:
        world = App(plane, client)
        probe = {
            "name": "ready",
            "type": "Log",
            "role": "Readiness",
            "logProbe": {"pattern": "up"},
            "schedule": {"kind": "Continuous", "interval": f"{PROBE_SECONDS}s"},
        }
        for number in range(SERVICES):
            code = "import time; print('up', flush=True); time.sleep(600)"
            await world.python(f"s{number}", code, healthProbes=[probe])
        for number in range(SERVICES):
            ready = asyncio.ensure_future(world.ready("Executable", f"s{number}"))
            while not ready.done():
                clock.advance(0.1)
                await asyncio.sleep(0.001)  # the program takes real time to print its line
        await plane.settle()
        yield world, clock


async def test_an_idle_app_wakes_up_for_its_probes_and_writes_rarely(tmp_path: Path) -> None:
    async with asyncio.timeout(60), idle(tmp_path) as (world, clock):
        before = int((await world.client.list(f"{GROUP}/Executable")).resource_version)
        clock.sleeps.clear()
        end = clock.monotonic() + 60 * MINUTES
        while (due := clock.next_deadline()) is not None and due <= end:
            clock.advance(due - clock.monotonic())
            for _ in range(20):
                await asyncio.sleep(0)
        await world.plane.settle()
        probes = clock.sleeps.pop("Probing._repeat")
        assert abs(probes - SERVICES * 60 * MINUTES / PROBE_SECONDS) <= SERVICES
        assert clock.sleeps.total() <= WAKEUPS_PER_MINUTE * MINUTES, clock.sleeps
        # After 1, 3, 7 and 15 minutes; counted from the last change, which may be earlier.
        writes = int((await world.client.list(f"{GROUP}/Executable")).resource_version) - before
        assert writes <= 5 * SERVICES
