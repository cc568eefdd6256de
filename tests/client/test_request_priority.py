"""Requests go before reconciles, reconciles have their share, and neither depends on the speed of the machine."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from setpoint.client.request_priority import (
    LONGEST_WAIT_SECONDS,
    LULL_SECONDS,
    REQUESTS_PER_RECONCILE,
    TURN_SECONDS,
    RequestPriority,
    request_priority,
)
from setpoint.objects.clock import ManualClock, SystemClock


class Reconciles:
    """Reconciles that wait for their turns; `started` are the started ones in order, each of which takes `seconds`."""

    def __init__(self, clock: ManualClock) -> None:
        self.priority = RequestPriority(clock)
        self.clock = clock
        self.started: list[int] = []
        self.seconds = 0.0
        self.tasks: list[asyncio.Task[None]] = []

    async def _run(self, number: int) -> None:
        await self.priority.reconcile_turn()
        self.started.append(number)
        if self.seconds:
            self.clock.advance(self.seconds)

    async def add(self, number: int) -> None:
        self.tasks += [asyncio.ensure_future(self._run(len(self.tasks))) for _ in range(number)]
        await turns(3)


async def turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.fixture
async def reconciles() -> AsyncIterator[Reconciles]:
    found = Reconciles(ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    yield found
    for task in found.tasks:
        task.cancel()
    await asyncio.gather(*found.tasks, return_exceptions=True)


async def test_without_requests_reconciles_start_at_once(reconciles: Reconciles) -> None:
    await reconciles.add(50)
    assert len(reconciles.started) == 50


async def test_during_requests_one_reconcile_starts_after_some_answers(reconciles: Reconciles) -> None:
    await reconciles.add(1)
    reconciles.priority.received()
    await reconciles.add(20)
    assert len(reconciles.started) == 1
    for number in range(1, 10 * REQUESTS_PER_RECONCILE + 1):
        reconciles.priority.answered()
        await turns(2)
        assert len(reconciles.started) == 1 + number // REQUESTS_PER_RECONCILE
    assert reconciles.started == sorted(reconciles.started)


async def test_a_lull_lets_all_start(reconciles: Reconciles) -> None:
    await reconciles.add(1)
    reconciles.priority.received()
    await reconciles.add(20)
    reconciles.clock.advance(LULL_SECONDS)
    await asyncio.wait_for(asyncio.gather(*reconciles.tasks), 10)
    assert len(reconciles.started) == 21


async def test_a_reconcile_starts_after_the_longest_wait_although_requests_keep_coming(reconciles: Reconciles) -> None:
    await reconciles.add(1)
    reconciles.priority.received()
    await reconciles.add(2)
    steps = 0
    while len(reconciles.started) < 3:
        steps += 1
        reconciles.clock.advance(LULL_SECONDS / 2)
        reconciles.priority.received()  # never answered, as those that wait for another program
        await asyncio.sleep(LULL_SECONDS)
        assert steps < 1000
    assert steps >= 2 * LONGEST_WAIT_SECONDS / (LULL_SECONDS / 2) - 1


async def test_a_turn_of_the_loop_has_few_long_reconciles(reconciles: Reconciles) -> None:
    reconciles.seconds = TURN_SECONDS
    await reconciles.add(6)
    most, before = 0, len(reconciles.started)
    for _ in range(50):
        await asyncio.sleep(0)
        most = max(most, len(reconciles.started) - before)
        before = len(reconciles.started)
    assert len(reconciles.started) == 6
    assert most <= 1


async def test_the_start_of_a_cancelled_worker_goes_to_the_next(reconciles: Reconciles) -> None:
    await reconciles.add(1)
    reconciles.priority.received()
    await reconciles.add(2)
    for _ in range(REQUESTS_PER_RECONCILE):
        reconciles.priority.answered()
    reconciles.tasks[1].cancel()
    await turns(3)
    assert len(reconciles.started) == 2


def test_virtual_time_has_no_priority() -> None:
    assert request_priority(ManualClock(datetime(2026, 1, 1, tzinfo=UTC))) is None
    assert request_priority(SystemClock()) is not None
