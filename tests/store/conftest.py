"""Provides every backend to each test in turn."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.store.contract import Retention, Store
from setpoint.store.sqlite.writer import Writer

from .backends import BACKENDS, Backend

# Passes the statements of SQLite's writers to a function, from the next store on.
Trace: TypeAlias = Callable[[Callable[[str], object]], None]
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=[pytest.param(each, id=each.name, marks=each.marks) for each in BACKENDS])
def backend(request: pytest.FixtureRequest) -> Backend:
    chosen: Backend = request.param
    chosen.require()
    return chosen


@dataclass
class StoreFactory:
    """Opens stores of one backend, all on one clock."""

    backend: Backend
    clock: ManualClock

    def __call__(self, retention: Retention = Retention()) -> AbstractAsyncContextManager[Store]:  # noqa: B008
        return self.backend.open(self.clock, retention)

    async def pass_time(self, seconds: float) -> None:
        """Lets that much time pass for the store: at once where it takes our clock, for real where it does not."""
        self.clock.advance(seconds)
        if not self.backend.takes_clock:
            await asyncio.sleep(seconds)


@pytest.fixture
def store_factory(backend: Backend) -> StoreFactory:
    return StoreFactory(backend, ManualClock(START))


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """Provides a function that traces the writers of the stores that are opened later.

    The trace begins before the thread of the writer: `set_trace_callback` waits for SQLite with the interpreter's
    lock, and would wait for ever for a thread that is about to report a statement.
    """
    start = Writer.start

    def begin(report: Callable[[str], object]) -> None:
        def start_traced(writer: Writer) -> None:
            writer._connection.set_trace_callback(report)
            start(writer)

        monkeypatch.setattr(Writer, "start", start_traced)

    return begin


async def eventually(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Waits until something holds, and fails after a generous while."""
    for _ in range(12_000):
        if await holds():
            return
        await asyncio.sleep(0.005)
    pytest.fail(f"never happened: {what}")
