"""Forks of the store in memory: a store that continues from a snapshot, or from an earlier revision."""

import asyncio

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, TooEarly, TooLate
from setpoint.store.memory import MemoryStore

from .conftest import START

ACTOR = Actor("alice")


async def filled(clock: ManualClock) -> MemoryStore:
    """A store with creations, changes, deletions, a recreation, and a key that expires."""
    store = MemoryStore(clock=clock)
    for key, value in (("a", b"1"), ("b", b"1"), ("a", b"2"), ("b", None), ("c", b"1"), ("b", b"2"), ("a", None)):
        await store.commit(key, value, ANY, ACTOR)
    await store.commit("c", b"2", ANY, ACTOR, ttl=60)
    return store


@pytest.mark.parametrize("at", [None, *range(9)])
async def test_a_fork_has_the_state_and_the_past_of_its_revision(at: int | None) -> None:
    clock = ManualClock(START)
    store = await filled(clock)
    last = await store.revision()
    until = last if at is None else at
    fork = MemoryStore.fork(await store.snapshot(), at=at, clock=clock)
    assert (await fork.revision(), await fork.oldest()) == (until, await store.oldest())
    assert (await fork.range("")).items == (await store.range("", at=until)).items
    assert await fork.count("") == await store.count("", at=until)
    assert list(await fork.log()) == [entry for entry in await store.log() if entry.revision <= until]
    for key in "abc":
        assert await fork.get(key) == await store.get(key, at=until)
        past = [entry for entry in await store.history(key) if entry.revision <= until]
        assert list(await fork.history(key)) == past
    for revision in range(until + 1):
        assert (await fork.range("", at=revision)).items == (await store.range("", at=revision)).items
    with pytest.raises(TooEarly):
        await fork.range("", at=until + 1)
    await fork.close()
    assert await store.revision() == last
    await store.close()


async def test_a_fork_and_its_origin_continue_separately() -> None:
    clock = ManualClock(START)
    store = await filled(clock)
    before = (await store.range("")).items
    fork = MemoryStore.fork(await store.snapshot(), at=3, clock=clock)
    assert await fork.commit("a", b"other", ANY, ACTOR) == 4
    assert await fork.commit("d", b"new", ANY, ACTOR) == 5
    assert await fork.commit("b", None, ANY, ACTOR) == 6
    assert [(item.key, item.value) for item in (await fork.range("")).items] == [("a", b"other"), ("d", b"new")]
    assert [entry.revision for entry in await fork.history("a")] == [4, 3, 1]
    assert (await store.range("")).items == before
    assert await store.commit("e", b"1", ANY, ACTOR) == 9
    assert await fork.get("e") is None
    await fork.close()
    await store.close()


async def test_a_deadline_belongs_to_the_value_that_was_written_with_it() -> None:
    clock = ManualClock(START)
    store = await filled(clock)
    now = MemoryStore.fork(await store.snapshot(), at=8, clock=clock)
    earlier = MemoryStore.fork(await store.snapshot(), at=7, clock=clock)
    clock.advance(61)
    for _ in range(20):  # the task that removes expired keys
        await asyncio.sleep(0)
    assert await now.get("c") is None
    found = await earlier.get("c")
    assert found is not None
    assert found.value == b"1"
    for each in (store, now, earlier):
        await each.close()


async def test_a_revision_that_cannot_be_read_cannot_be_forked() -> None:
    store = await filled(ManualClock(START))
    with pytest.raises(TooEarly):
        MemoryStore.fork(await store.snapshot(), at=9)
    await store.compact(5)
    with pytest.raises(TooLate):
        MemoryStore.fork(await store.snapshot(), at=4)
    fork = MemoryStore.fork(await store.snapshot(), at=5)
    assert [item.key for item in (await fork.range("")).items] == [
        item.key for item in (await store.range("", at=5)).items
    ]
    await fork.close()
    await store.close()


async def test_a_fork_has_the_gaps_of_restores_up_to_its_revision() -> None:
    store = await filled(ManualClock(START))
    early = await store.snapshot()
    await store.commit("d", b"1", ANY, ACTOR)
    await store.restore(early)  # revision 10, with a gap after 8
    await store.commit("d", b"2", ANY, ACTOR)
    after = MemoryStore.fork(await store.snapshot(), at=10)
    with pytest.raises(TooLate):
        await after.range("", at=9)
    before = MemoryStore.fork(await store.snapshot(), at=8)
    assert await before.commit("d", b"3", ANY, ACTOR) == 9
    assert [item.value for item in (await before.range("d", at=9)).items] == [b"3"], "no gap is left"
    for each in (store, after, before):
        await each.close()
