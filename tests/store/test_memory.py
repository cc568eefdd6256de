"""What the store in memory promises beyond the contract."""

import asyncio
import tracemalloc
from datetime import timedelta
from pathlib import Path
from zlib import crc32

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.store.cached import past
from setpoint.store.contract import ANY, Closed, Event, Item, NotHeld, Retention, TooEarly, TooLate, Write
from setpoint.store.dump import BadSnapshot
from setpoint.store.memory import KeptMemoryStore, MemoryStore
from setpoint.store.memory import store as module
from setpoint.store.memory.log_state import State, cost

from .conftest import START

ACTOR = Actor("alice")


async def fill(store: MemoryStore, keys: int) -> None:
    await store.transact([Write(f"k{n:06}", b"%d" % n) for n in range(keys)], ACTOR)


async def test_a_key_is_read_synchronously_until_the_store_is_closed() -> None:
    store = MemoryStore(clock=ManualClock(START))
    await store.commit("a", b"1", ANY, ACTOR)
    assert store.peek("a") == await store.get("a")
    assert store.peek("b") is None
    await store.close()
    with pytest.raises(Closed):
        store.peek("a")
    with pytest.raises(Closed):
        store.scan("", "", 0, None)


@pytest.mark.parametrize(("after", "limit"), [("", 0), ("", 1), ("", 2), ("", 9), ("a", 1), ("b", 0)])
async def test_a_synchronous_scan_reads_what_a_range_reads(after: str, limit: int) -> None:
    store = MemoryStore(clock=ManualClock(START))
    for key in ("a", "b", "c", "b", "a"):
        await store.commit(key, b"%d" % store.current, ANY, ACTOR)
    await store.commit("c", None, ANY, ACTOR)
    for at in (None, 6, 5, 3, 2, 0):
        assert store.scan("", after, limit, at) == (await store.range("", after, limit, at)).items
    with pytest.raises(TooEarly):
        store.scan("", "", 0, 7)
    assert await store.times(3, 2) == [(entry.revision, entry.time) for entry in await store.log(3, 2)]
    await store.close()
    with pytest.raises(Closed):
        await store.times(0, 0)


MAPS = "/core/configmaps/"


async def filled(store: MemoryStore, keys: int) -> int:
    """Creates objects between as many deleted ones, and returns the revision."""
    await store.transact([Write(f"{MAPS}{number:05}", b"1") for number in range(keys)], ACTOR)
    await store.transact([Write(f"{MAPS}{number:05}x", b"1") for number in range(keys)], ACTOR)
    await store.transact([Write(f"{MAPS}{number:05}x", None) for number in range(keys)], ACTOR)
    return store.current


async def test_page_of_a_recent_revision_visits_only_its_own_and_the_changed_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    at = await filled(store, 1000)
    await store.commit(f"{MAPS}00003", None, ANY, ACTOR)
    await store.commit(f"{MAPS}00900", None, ANY, ACTOR)
    await store.commit(f"{MAPS}00002x", b"1", ANY, ACTOR)
    visits = 0
    item = State.item

    def counted(self: State, key: str) -> Item | None:
        nonlocal visits
        visits += 1
        return item(self, key)

    monkeypatch.setattr(State, "item", counted)
    page = await store.range(MAPS, f"{MAPS}00001", 5, at)
    assert [found.key.removeprefix(MAPS) for found in page.items] == ["00002", "00003", "00004", "00005", "00006"]
    assert page.remaining == 993
    assert [found.key for found in store.scan(MAPS, f"{MAPS}00001", 5, at)] == [found.key for found in page.items]
    assert await store.count(MAPS, at) == 1000
    assert visits < 25
    await store.close()


async def test_reads_of_an_old_revision_let_other_tasks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_UNDONE", 5)
    monkeypatch.setattr(module, "_VISITED_AT_ONCE", 20)
    store = MemoryStore()
    at = await filled(store, 100)
    await store.transact([Write(f"{MAPS}{number:05}", b"2") for number in range(10)], ACTOR)
    with pytest.raises(NotHeld):
        store.scan(MAPS, "", 5, at)
    turns = 0

    async def turning() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(turning())
    page = await store.range(MAPS, f"{MAPS}00001", 5, at)
    assert [found.value for found in page.items] == [b"1"] * 5
    assert (page.remaining, turns >= 9) == (93, True)
    turns = 0
    assert await store.count(MAPS, at) == 100
    assert turns >= 9
    turns = 0
    assert len((await store.uncounted(MAPS, "", 5, at)).items) == 5
    assert turns < 3
    reading = asyncio.create_task(store.range(MAPS, "", 0, at))
    await asyncio.sleep(0)
    await store.compact(store.current)
    with pytest.raises(TooLate):
        await reading
    other.cancel()
    await store.close()


async def test_contents_of_another_form_are_no_snapshot() -> None:
    store = MemoryStore()
    body = b"\x93\x01\x02\x03"
    with pytest.raises(BadSnapshot, match="the snapshot cannot be read: "):
        await store.restore(b"setpoint snapshot 1\n" + crc32(body).to_bytes(4, "big") + body)
    assert await store.revision() == 0


async def test_a_snapshot_allocates_the_same_whatever_the_store_holds() -> None:
    allocated = []
    for keys in (10, 10_000):
        store = MemoryStore()
        await fill(store, keys)
        tracemalloc.start()
        snapshot = await store.snapshot()
        allocated.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert snapshot.revision == 1
        await store.close()
    assert allocated[1] < allocated[0] + 2000


async def test_a_kept_store_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    store = await KeptMemoryStore.open(path)
    await fill(store, 3)
    await store.commit("k000001", None, ANY, ACTOR)
    revision = await store.revision()
    await store.close()
    await store.close()
    again = await KeptMemoryStore.open(path)
    assert [item.value for item in (await again.range("k")).items] == [b"0", b"2"]
    assert await again.commit("new", b"", ANY, ACTOR) > revision
    await again.close()


async def test_a_kept_store_that_cannot_be_read_or_written_says_so(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"not what we wrote")
    with pytest.raises(BadSnapshot):
        await KeptMemoryStore.open(damaged)
    nowhere = await KeptMemoryStore.open(tmp_path / "nowhere" / "state")
    with pytest.raises(FileNotFoundError):
        await nowhere.close()
    assert nowhere.closed


async def test_many_snapshots_of_many_pasts_stay_apart() -> None:
    store = MemoryStore()
    await store.commit("a", b"0", ANY, ACTOR)
    first = await store.snapshot()
    await store.commit("a", b"1", ANY, ACTOR)
    await store.commit("b", b"1", ANY, ACTOR)
    second = await store.snapshot()
    assert await store.restore(first) == 4
    await store.commit("a", b"2", ANY, ACTOR)
    await store.commit("c", b"2", ANY, ACTOR)
    third = await store.snapshot()
    dumps = [snapshot.dump() for snapshot in (first, second, third)]
    states = {0: {"a": b"0"}, 1: {"a": b"1", "b": b"1"}, 2: {"a": b"2", "c": b"2"}}
    for number in (1, 0, 2, 1, 2, 0):
        await store.restore((first, second, third)[number])
        assert {item.key: item.value for item in (await store.range("")).items} == states[number]
        await store.commit("a", b"changed", ANY, ACTOR)
        await store.commit("b", None, ANY, ACTOR)
        await store.compact(await store.revision())
        assert [snapshot.dump() for snapshot in (first, second, third)] == dumps
    await store.close()


async def test_a_snapshot_of_another_store_is_copied() -> None:
    one, two = MemoryStore(), MemoryStore()
    await one.commit("a", b"1", ANY, ACTOR)
    await two.restore(await one.snapshot())
    await two.commit("a", b"2", ANY, ACTOR)
    await one.commit("a", b"3", ANY, ACTOR)
    assert [entry.value for entry in await one.history("a")] == [b"3", b"1"]
    assert [entry.value for entry in await two.history("a")] == [b"2", b"1"]
    await one.close()
    await two.close()


async def test_the_past_is_bounded_without_being_asked() -> None:
    store = MemoryStore(retention=Retention(revisions=100))
    for n in range(1000):
        await store.commit(f"k{n % 7}", b"%d" % n, ANY, ACTOR)
    assert 1000 - 126 <= await store.oldest() <= 900
    assert len(await store.log()) <= 126 + 7
    by_size = MemoryStore(retention=Retention(size=100_000))
    for n in range(1000):
        await by_size.commit("k", b"%d" % n * 200, ANY, ACTOR)
    assert await by_size.oldest() > 800
    assert sum(len(entry.value or b"") for entry in await by_size.log()) < 125_000
    await store.close()
    await by_size.close()


async def test_what_is_too_old_is_forgotten_without_being_asked() -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock=clock, retention=Retention(age=60))
    for n in range(10):
        await store.commit("a", b"%d" % n, ANY, ACTOR)
        await asyncio.sleep(0)
        clock.advance(10)
    for _ in range(3):
        await asyncio.sleep(0)
    assert await store.oldest() > 0
    clock.advance(1000)
    for _ in range(3):
        await asyncio.sleep(0)
    assert await store.oldest() == 10
    assert await store.get("a") == Item("a", b"9", 10, 1)
    assert clock.next_deadline() is None
    await store.commit("a", b"new", ANY, ACTOR)
    await asyncio.sleep(0)
    assert clock.next_deadline() is not None
    await store.close()


async def test_a_store_that_has_nothing_to_do_sets_no_timer() -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock=clock)
    await store.commit("a", b"1", ANY, ACTOR)
    await asyncio.sleep(0)
    assert clock.next_deadline() is None
    await store.commit("b", b"1", ANY, ACTOR, ttl=5)
    await asyncio.sleep(0)
    assert clock.next_deadline() == 5
    await store.close()


async def test_the_earlier_of_two_expiries_comes_first() -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock=clock)
    await store.commit("late", b"1", ANY, ACTOR, ttl=100)
    await store.commit("soon", b"1", ANY, ACTOR, ttl=10)
    await asyncio.sleep(0)
    for seconds, left in ((10, ["late"]), (90, [])):
        clock.advance(seconds)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [item.key for item in (await store.range("")).items] == left
    assert clock.now() == START + timedelta(seconds=100)
    await store.close()


async def test_renewed_expiries_do_not_pile_up() -> None:
    store = MemoryStore(retention=Retention(revisions=10))
    for n in range(5000):
        await store.commit("lease", b"%d" % n, ANY, ACTOR, ttl=3600)
    assert len(store._state.deadlines._heap) < 1100
    await store.close()


async def test_a_store_may_outlive_the_loop_that_used_it() -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock=clock)

    async def first() -> None:
        await store.commit("a", b"1", ANY, ACTOR, ttl=5)

    async def later() -> None:
        clock.advance(10)
        await store.maintain()
        assert await store.get("a") is None
        await store.close()

    await first()
    await later()


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_history_can_be_read_in_pages(count: int) -> None:
    store = MemoryStore()
    for n in range(count):
        await store.commit("a", b"%d" % n, ANY, ACTOR)
    seen: list[int] = []
    before: int | None = None
    while page := await store.history("a", before=before, limit=1):
        seen.append(page[0].revision)
        before = page[0].revision
    assert seen == list(range(count, 0, -1))
    await store.close()


async def test_the_log_is_cut_to_the_permitted_size_and_no_further() -> None:
    store = MemoryStore()
    await store.commit("k", b"0000", ANY, ACTOR)
    one = cost(Event((await store.log())[0], None))
    await store.close()
    store = MemoryStore(retention=Retention(size=40 * one))
    kept = []
    for n in range(200):
        await store.commit("k", b"%04d" % n, ANY, ACTOR)
        kept.append(await store.revision() - await store.oldest())
    assert 40 in kept[100:]
    assert min(kept[100:]) == 40
    await store.close()
