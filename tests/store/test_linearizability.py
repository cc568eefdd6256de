"""Concurrent clients see one store: their operations could have happened one at a time."""

import asyncio
from math import inf
from random import Random

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, ANY, Expect

from .conftest import StoreFactory
from .linearizability import Operation, Recorder, explain


def read(start: float, end: float, value: str | None, revision: int = 0) -> Operation:
    return Operation("k", start, end, found=None if value is None else (value.encode(), revision))


def write(start: float, end: float, value: str, revision: int, expect: int | None = ANY) -> Operation:
    return Operation("k", start, end, True, value.encode(), expect, revision)


def failed(start: float, end: float, expect: Expect, value: str, revision: int) -> Operation:
    return Operation("k", start, end, True, b"new", expect, found=(value.encode(), revision))


@pytest.mark.parametrize(
    "history",
    [
        [write(0, 1, "a", 1), read(2, 3, "a", 1)],
        [write(0, 5, "a", 1), read(1, 2, None), read(3, 4, "a", 1)],
        [write(0, 9, "a", 1), write(0, 9, "b", 2), read(1, 2, "a", 1), read(3, 4, "b", 2)],
        [write(0, 1, "a", 1, ABSENT), failed(0, 2, ABSENT, "a", 1)],
        [write(0, 1, "a", 1), Operation("k", 2, inf, True, b"b"), read(3, 4, "a", 1), read(5, 6, "b", 7)],
        [write(0, 1, "a", 1), Operation("k", 2, inf, True, b"b"), read(3, 4, "a", 1)],
    ],
)
def test_a_history_that_could_have_happened_is_accepted(history: list[Operation]) -> None:
    assert explain(history) is None


@pytest.mark.parametrize(
    "history",
    [
        [write(0, 1, "a", 1), read(2, 3, None)],
        [write(0, 1, "a", 1), write(2, 3, "b", 2), read(4, 5, "a", 1)],
        [write(0, 9, "a", 1), read(1, 2, "a", 1), read(3, 4, None)],
        [write(0, 1, "a", 1, ABSENT), write(0, 2, "b", 2, ABSENT)],
        [write(0, 1, "a", 1), failed(2, 3, 1, "a", 1)],
        [write(0, 1, "a", 2), write(2, 3, "b", 1)],
        [write(0, 1, "a", 1), read(2, 3, "a", 5)],
        [write(0, 1, "a", 1), Operation("k", 2, inf, True, b"b"), read(3, 4, "b", 7), read(5, 6, "a", 1)],
    ],
)
def test_a_history_that_could_not_have_happened_is_refused(history: list[Operation]) -> None:
    assert explain(history) is not None


def test_revisions_of_different_keys_follow_time_too() -> None:
    history = [Operation("a", 0, 1, True, b"1", ANY, 2), Operation("b", 2, 3, True, b"1", ANY, 1)]
    assert "no later revision" in (explain(history) or "")


async def act(recorder: Recorder, seed: int, operations: int) -> None:
    """A client: reads, writes blindly, and writes what it expects to be there."""
    random = Random(seed)
    known: dict[str, int] = {}
    for n in range(operations):
        key = random.choice(["x", "y", "z"])
        choice = random.random()
        if choice < 0.4:
            state = await recorder.get(key)
        else:
            value = None if random.random() < 0.1 else f"{seed}-{n}".encode()
            expect = known.get(key, ABSENT) if choice < 0.8 else ANY
            state = await recorder.commit(key, value, expect)
        known[key] = state[1] if state else 0
        if random.random() < 0.3:
            await asyncio.sleep(random.choice([0, 0, 0.001]))


@pytest.mark.parametrize("seed", range(5))
async def test_concurrent_tasks_see_one_store(store_factory: StoreFactory, seed: int) -> None:
    async with store_factory() as store:
        recorders = [Recorder(store, Actor(f"client-{n}")) for n in range(6)]
        await asyncio.gather(*(act(recorder, seed * 100 + n, 60) for n, recorder in enumerate(recorders)))
        history = [operation for recorder in recorders for operation in recorder.history]
        assert len(history) == 360
        assert explain(history) is None
