"""The store on a file beyond the contract: recent events in memory, retention by itself, upkeep, and the lock."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, ANY, Purge, Retention, Selection, TooEarly, Write
from setpoint.store.sqlite import SqliteStore
from setpoint.store.sqlite import store as module
from setpoint.store.sqlite import writer as writer_module

from .conftest import START, Trace

ACTOR = Actor("alice")


@asynccontextmanager
async def opened(path: Path, **how: Any) -> AsyncIterator[SqliteStore]:
    how.setdefault("durability", "off")
    how.setdefault("retention", Retention())
    store = await SqliteStore.open(path / "store.db", **how)
    try:
        yield store
    finally:
        await store.close()


async def write(store: SqliteStore, *values: bytes, key: str = "a") -> None:
    for value in values:
        await store.commit(key, value, ANY, ACTOR)


def in_memory(store: SqliteStore) -> list[int]:
    sizes = [len(event.entry.value or b"") + len(event.previous_value or b"") for event in store._recent]
    assert store._recent_size == sum(sizes)
    return [event.entry.revision for event in store._recent]


async def test_recent_events_are_bounded_by_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RECENT_EVENTS", 3)
    monkeypatch.setattr(module, "_EXCESS", 1.0)
    async with opened(tmp_path) as store:
        kept = []
        for number in range(1, 9):
            await write(store, b"%d" % number)
            kept.append(in_memory(store))
        assert kept == [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5], [*range(1, 7)], [5, 6, 7], [5, 6, 7, 8]]
        assert store.recent(3) is None, "watches read older events from the file"
        assert [event.entry.revision for event in store.recent(4) or ()] == [5, 6, 7, 8]
        assert [event.entry.revision for event in store.recent(7) or ()] == [8]
        assert list(store.recent(8) or ()) == []
        assert [event.entry.revision for event in await store.older(3)] == [4, 5, 6, 7, 8]


async def test_recent_events_are_bounded_by_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RECENT_SIZE", 100)
    async with opened(tmp_path) as store:
        for number in range(3):
            await write(store, b"1" * 40, key=f"{number}")
        assert in_memory(store) == [1, 2, 3], "the limit is exceeded by less than a quarter"
        await write(store, b"1" * 40, key="3")
        assert in_memory(store) == [3, 4]
        await write(store, b"1" * 20, b"2", key="4")
        assert in_memory(store) == [3, 4, 5, 6]
        await write(store, b"y" * 500, key="5")
        assert in_memory(store) == [7]


async def test_recent_events_are_bounded_by_the_bytes_of_the_replaced_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RECENT_SIZE", 100)
    async with opened(tmp_path) as store:
        for number in range(10):
            await write(store, b"1" * 40, key=f"{number}")
        for number in range(10):
            await store.commit(f"{number}", None, ANY, ACTOR)
        assert in_memory(store) == [19, 20]


async def test_the_events_of_one_revision_stay_together_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RECENT_EVENTS", 3)
    async with opened(tmp_path) as store:
        await write(store, b"1")
        await store.transact([Write(key, b"1") for key in "bcdefgh"], ACTOR)
        assert in_memory(store) == []
        await write(store, b"2")
        assert in_memory(store) == [3]


async def test_a_purge_and_a_restore_drop_events_from_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await write(store, b"1", b"2", b"3")
        await store.purge(Selection("a", through=1), Purge("root", 0.0, "leaked"))
        assert in_memory(store) == [3]
        assert store.recent(1) is None
        snapshot = await store.snapshot()
        await write(store, b"4")
        await store.restore(snapshot)
        assert (in_memory(store), store.restored, store.current) == ([], 5, 5)
        assert store.recent(4) is None
        assert list(store.recent(5) or ()) == []


@pytest.mark.parametrize(("revisions", "oldest"), [(4, [0, 0, 0, 0, 0, 2, 2, 4, 4, 6]), (8, [0] * 10)])
async def test_the_past_is_compacted_when_it_exceeds_its_revisions_by_a_quarter(
    tmp_path: Path, revisions: int, oldest: list[int]
) -> None:
    async with opened(tmp_path, retention=Retention(revisions=revisions)) as store:
        found = []
        for number in range(10):
            await write(store, b"%d" % number)
            await store.compact(0)  # waits for the writer
            found.append(await store.oldest())
        assert found == oldest


async def test_maintaining_compacts_to_the_exact_number_of_revisions(tmp_path: Path) -> None:
    async with opened(tmp_path, retention=Retention(revisions=8)) as store:
        await write(store, *(b"%d" % number for number in range(9)))
        assert await store.oldest() == 0
        await store.maintain()
        assert (await store.oldest(), len(await store.log())) == (1, 9)


async def test_the_past_is_compacted_when_it_exceeds_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_STRIDE", 10)
    random = Random(1)
    async with opened(tmp_path, retention=Retention(size=200_000)) as store:
        for number in range(120):
            await write(store, random.randbytes(3000), key=f"k{number % 3}")
        await store.compact(0)  # waits for the writer
        journal = store._writer._journal
        assert 200_000 < journal.size <= 250_000
        await store.maintain()
        assert 150_000 < journal.size <= 200_000, "not much more than needed"
        assert await store.count("k") == 3
        oldest = await store.oldest()
        await store.maintain()
        assert await store.oldest() == oldest


async def test_the_past_is_compacted_by_age_when_its_time_has_come(tmp_path: Path) -> None:
    clock = ManualClock(START)
    async with opened(tmp_path, clock=clock, retention=Retention(age=100.0)) as store:
        await write(store, b"1")
        clock.advance(50)
        await write(store, b"2")
        assert store._due() == START.timestamp() + 125
        clock.advance(70)
        await store.maintain()
        assert await store.oldest() == 1
        assert store._due() == START.timestamp() + 50 + 125
        await store.commit("b", b"1", ANY, ACTOR, ttl=10)
        assert store._due() == START.timestamp() + 130
    async with opened(tmp_path, clock=clock) as store:
        assert store._due() == START.timestamp() + 130, "without a limit of the age"
        await store.commit("b", None, ANY, ACTOR)
        assert store._due() is None


async def test_a_transaction_has_a_bounded_number_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FORGOTTEN", 5)
    async with opened(tmp_path) as store:
        writes = [Write(f"k{number}", b"1") for number in range(6)]
        with pytest.raises(ValueError, match="at most 5 keys; this one writes 6"):
            await store.transact(writes, ACTOR)
        assert await store.transact(writes[:-1], ACTOR) == 1
        assert await store.count("") == 5


async def test_a_compaction_to_the_future_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await write(store, b"1", b"2")
        with pytest.raises(TooEarly):
            await store.compact(3)
        await store.compact(2)
        assert await store.oldest() == 2


async def test_many_keys_are_purged_in_pages(tmp_path: Path) -> None:
    purge = Purge("root", 0.0, "leaked")
    async with opened(tmp_path) as store:
        for key in "abc":
            await write(store, b"1", b"2", key=f"s/{key}")
        first = await store.purge(Selection("s/", is_prefix=True), purge, limit=2)
        assert (list(first.removed), first.after) == ([("s/a", 1), ("s/b", 1)], "s/b")
        second = await store.purge(Selection("s/", is_prefix=True), purge, after="s/b", limit=2)
        assert (list(second.removed), second.after) == ([("s/c", 1)], None)
        alone = await store.purge(Selection("s/a"), purge, limit=1)
        assert (list(alone.removed), alone.after) == ([], None)


async def test_only_a_full_durability_marks_the_acknowledged_revision(tmp_path: Path) -> None:
    for durability, acknowledged in (("full", 2), ("normal", 0)):
        folder = tmp_path / durability
        folder.mkdir()
        async with opened(folder, durability=durability) as store:
            await write(store, b"1", b"2")
            mark = (folder / "store.db.lock").read_text().split("\n")[0]
            assert int(mark) == acknowledged
        assert not (folder / "store.db.lock").exists()


async def test_jobs_of_one_turn_share_a_transaction_up_to_the_size_of_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trace: Trace
) -> None:
    monkeypatch.setattr(writer_module, "GROUP", 10)
    statements: list[str] = []
    trace(statements.append)
    async with opened(tmp_path) as store:
        await asyncio.gather(*(store.commit(f"k{number}", b"1", ANY, ACTOR) for number in range(7)))
        assert statements.count("COMMIT") == 1
        assert await store.revision() == 7


async def test_a_finished_compaction_is_waited_for_no_longer(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await write(store, b"1", b"2", b"3")
        await asyncio.gather(store.compact(1), store.compact(3), store.compact(2))
        await store.commit("b", b"1", ANY, ACTOR)
        assert store._writer._sweeping == []
        assert (await store.oldest(), store._writer._journal.swept) == (3, 3)


async def test_without_threads_all_work_is_done_inline(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    store = await SqliteStore.open(tmp_path / "db", clock=ManualClock(START), threaded=False)
    try:
        watch = store.watch("a/", after=0)
        for number in range(3):
            await store.commit(f"a/{number}", b"x", ABSENT, ACTOR)
        assert [item.key for item in (await store.range("a/")).items] == ["a/0", "a/1", "a/2"]
        assert [event.entry.key for event in await watch.next()] == ["a/0", "a/1", "a/2"]
        # One turn of the loop for the jobs of this turn, and one for their outcomes.
        committed = asyncio.ensure_future(store.commit("a/0", b"y", ANY, ACTOR))
        for _ in range(4):
            await asyncio.sleep(0)
        assert committed.done()
        await store.compact(3)
        assert await store.oldest() == 3
        snapshot = await store.snapshot()
        await store.restore(snapshot)
        assert set(threading.enumerate()) == before
    finally:
        await store.close()
    again = await SqliteStore.open(tmp_path / "db", clock=ManualClock(START), threaded=False)
    assert await again.count("a/") == 3
    await again.close()
