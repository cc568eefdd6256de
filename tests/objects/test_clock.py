"""The clocks, the sources of ids, and the provenance of a write."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.objects.clock import Clock, ManualClock, SystemClock, timeout
from setpoint.objects.ids import ALPHABET, Ids, SeededIds, SystemIds
from setpoint.objects.provenance import Actor, Cause

START = datetime(2026, 1, 1, tzinfo=UTC)


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    async def scenario() -> list[str]:
        clock = ManualClock(START)
        woken: list[str] = []

        async def sleeper(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(name)

        async with asyncio.TaskGroup() as group:
            for name, seconds in [("late", 3), ("early", 1), ("early too", 1), ("middle", 2)]:
                group.create_task(sleeper(name, seconds))
            await asyncio.sleep(0)
            assert clock.next_deadline() == 1
            clock.advance(2.5)
            await asyncio.sleep(0)
            assert woken == ["early", "early too", "middle"]
            clock.advance(0.5)
        return woken

    assert (await scenario()) == ["early", "early too", "middle", "late"]


def test_a_manual_clock_stands_still_until_advanced() -> None:
    clock = ManualClock(START.astimezone(timezone(timedelta(hours=5))))
    assert (clock.now(), clock.monotonic()) == (START, 0)
    clock.advance(90)
    assert (clock.now(), clock.monotonic()) == (START + timedelta(seconds=90), 90)
    assert clock.now().tzinfo is UTC
    with pytest.raises(ValueError, match="time does not go back"):
        clock.advance(-1)


@settings(max_examples=25)
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_advancing_to_the_next_deadline_always_wakes_its_sleeper(seconds: list[float]) -> None:
    async def scenario() -> None:
        clock = ManualClock(START)
        sleepers = [asyncio.create_task(clock.sleep(wait)) for wait in seconds]
        await asyncio.sleep(0)
        while (deadline := clock.next_deadline()) is not None:
            clock.advance(deadline - clock.monotonic())
            assert clock.next_deadline() != deadline
        await asyncio.gather(*sleepers)

    asyncio.run(scenario())


def test_a_manual_clock_needs_an_aware_start() -> None:
    with pytest.raises(ValueError, match="aware"):
        ManualClock(datetime(2026, 1, 1))


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = ManualClock(START)
    task = asyncio.create_task(clock.sleep(5))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert clock.next_deadline() is None
    clock.advance(10)
    await clock.sleep(0)


async def test_the_system_clock_is_aware_and_grows() -> None:
    clock: Clock = SystemClock()
    before = clock.monotonic()
    (await clock.sleep(0))
    assert clock.monotonic() >= before
    assert clock.now().utcoffset() == timedelta(0)


@pytest.mark.parametrize("ids", [SystemIds(), SeededIds(7)])
def test_ids_have_the_shape_the_api_promises(ids: Ids) -> None:
    assert uuid.UUID(ids.uid()).version == 4
    suffix = ids.suffix()
    assert len(suffix) == 5
    assert set(suffix) <= set(ALPHABET)
    assert 0 <= ids.random() < 1
    assert ids.uid() != ids.uid()


def test_the_same_seed_gives_the_same_ids() -> None:
    def draw(ids: Ids) -> list[object]:
        return [ids.uid(), ids.suffix(), ids.random(), ids.suffix()]

    assert draw(SeededIds(1)) == draw(SeededIds(1))
    assert draw(SeededIds(1)) != draw(SeededIds(2))


def test_provenance_survives_its_encoding() -> None:
    actor = Actor("jane", ("devs", "system:authenticated"), "u-1", "kubectl")
    assert Actor.decode(actor.encode()) == actor
    for cause in (Cause("r-1"), Cause.reconcile("widgets", "default/a", "c-9")):
        assert Cause.decode(cause.encode()) == cause
    assert [Cause("r").is_reconcile, Cause.reconcile("w", "a", "c").is_reconcile] == [False, True]


def test_provenance_written_before_a_field_existed_stays_readable() -> None:
    # A list of one: what a version that knew only the first field would have written.
    assert Actor.decode(b"\x91\xa4jane") == Actor("jane")
    assert Cause.decode(b"\x91\xa3r-1") == Cause("r-1")


async def test_a_timeout_counts_from_its_beginning_although_the_clock_moves_at_once() -> None:
    clock = ManualClock(START)

    async def work() -> None:
        async with asyncio.timeout(10), timeout(clock, 30.0):
            clock.advance(30.0)  # before any other task has had a turn
            await clock.sleep(3600.0)

    with pytest.raises(TimeoutError, match="more than 30 s"):
        await work()
