"""Views of the objects of a resource: the first read loads them, once for all concurrent readers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.server.app import Server
from setpoint.store.contract import Page, StoreError
from setpoint.store.memory import MemoryStore


class StuckStore(MemoryStore):
    """A store whose reads wait while `reading` is set, and then fail."""

    reading: asyncio.Event | None = None

    async def range(self, *arguments: Any, **options: Any) -> Page:
        if self.reading is not None:
            await self.reading.wait()
            raise StoreError("the disk is full")
        return await super().range(*arguments, **options)


@pytest.fixture
async def store() -> AsyncIterator[StuckStore]:
    store = StuckStore()
    yield store
    await store.close()


async def test_a_failed_load_whose_callers_were_cancelled_is_not_reported_to_the_next_caller(store: StuckStore) -> None:
    server = Server(store, clock=SystemClock(), ids=SystemIds())
    view = server.services.views.of("", "v1", "configmaps", lambda tree: tree)
    view._store = store  # below the cache of the current state
    store.reading = asyncio.Event()
    caller = asyncio.create_task(view.current())
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    store.reading.set()
    for _ in range(5):
        await asyncio.sleep(0)
    store.reading = None
    assert await view.current() == {}
    server.close()
