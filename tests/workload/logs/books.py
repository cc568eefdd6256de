"""Logs for the tests: captures on a clock that the test moves, and what a reader gets of them."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from setpoint.objects.clock import ManualClock
from setpoint.workload.logs.capture import DEFAULT_LIMITS, Capture, Limits
from setpoint.workload.logs.log_reader import read
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.logs.track import Track

NOON = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)


class Book:
    """The logs of one object."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(NOON)
        self.done = asyncio.Event()
        self.tracks: dict[str, Track] = {}

    def capture(self, name: str = "stdout", limits: Limits = DEFAULT_LIMITS) -> Capture:
        capture = Capture(self.folder, name, self.clock, limits)
        self.tracks[name] = capture
        return capture

    async def read(self, **options: Any) -> bytes:
        wanted = LogOptions(**options).validated()
        return b"".join([data async for data in read(self.tracks, wanted, self.done, self.clock)])

    def follow(self, **options: Any) -> "asyncio.Task[bytes]":
        return asyncio.ensure_future(self.read(follow=True, **options))


async def turns(number: int = 20) -> None:
    """Lets everybody who can run do so."""
    for _ in range(number):
        await asyncio.sleep(0)
