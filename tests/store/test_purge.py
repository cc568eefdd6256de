"""A purge removes past values for good, on every backend, and nothing else."""

import asyncio
from collections.abc import Sequence

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, Event, LogEntry, Purge, Purged, Retention, Selection, Store, TooLate
from setpoint.store.memory import MemoryStore

from .conftest import START, StoreFactory

ALICE = Actor("alice")
PURGE = Purge("root", START.timestamp(), "leaked in a ticket")
SOON = 30.0


async def put(store: Store, key: str, value: bytes | None) -> int:
    return await store.commit(key, value, ANY, ALICE)


def values(entries: Sequence[LogEntry]) -> list[bytes | None]:
    return [entry.value for entry in entries]


async def purge(store: Store, key: str, **selected: int | float) -> int:
    page = await store.purge(Selection(key, **selected), PURGE)  # type: ignore[arg-type]
    await store.scrub()
    assert page.after is None
    return sum(number for _, number in page.removed)


async def all_bytes(store: Store) -> bytes:
    """Everything that the store hands out about its past, in one piece."""
    found = [entry.value or b"" for entry in await store.log()]
    found += [entry.value or b"" for key in ("a", "b") for entry in await store.history(key)]
    found.append((await store.snapshot()).dump())
    return b"".join(found)


async def test_a_purged_value_is_gone_from_reads_history_log_and_snapshots(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        first = await put(store, "a", b"hunter2-the-first" * 3)
        second = await put(store, "a", b"hunter2-the-second" * 3)
        third = await put(store, "a", b"current")
        assert await purge(store, "a") == 2
        assert b"hunter2" not in await all_bytes(store)
        item = await store.get("a")
        assert item is not None
        assert (item.value, item.revision, item.created) == (b"current", third, first)
        for at in (first, second):
            with pytest.raises(TooLate):
                await store.get("a", at)
            with pytest.raises(TooLate):
                await store.range("a", at=at)
        again = await store.get("a", third)
        assert again is not None
        assert again.value == b"current"


async def test_the_values_of_a_deleted_key_are_purged_and_its_name_can_be_used_again(
    store_factory: StoreFactory,
) -> None:
    async with store_factory() as store:
        await put(store, "a", b"hunter2" * 30)
        await put(store, "a", None)
        await put(store, "b", b"1")
        assert await purge(store, "a") == 1
        assert b"hunter2" not in await all_bytes(store)
        assert await store.get("a") is None
        revision = await put(store, "a", b"new")
        item = await store.get("a")
        assert item is not None
        assert (item.value, item.created) == (b"new", revision)


async def test_the_current_state_is_never_purged(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", b"1")
        current = await store.revision()
        assert await purge(store, "a") == 0
        item = await store.get("a")
        assert item is not None
        assert item.value == b"1"
        assert await purge(store, "nothing") == 0
        assert await store.revision() == current


async def test_revisions_go_on_growing_after_a_purge(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", b"1")
        before = await put(store, "a", b"2")
        await purge(store, "a")
        assert await store.revision() >= before
        assert await put(store, "a", b"3") > before


async def test_a_watch_from_before_a_purged_value_is_too_late_and_one_from_after_it_is_not(
    store_factory: StoreFactory,
) -> None:
    async with store_factory() as store:
        start = await put(store, "b", b"0")
        await put(store, "a", b"hunter2" * 30)
        await put(store, "a", b"2")
        now = await put(store, "b", b"1")
        early = store.watch("a", start)
        await purge(store, "a")
        with pytest.raises(TooLate):
            await asyncio.wait_for(early.next(), SOON)
        with pytest.raises(TooLate):
            await asyncio.wait_for(store.watch("", start).next(), SOON)
        late = store.watch("", now)
        await put(store, "a", b"3")
        [event] = await asyncio.wait_for(late.next(), SOON)
        assert (event.entry.value, event.previous_value) == (b"3", b"2")


# What the stores with a log of their own promise beyond that


def only_single(store: Store) -> None:
    if not store.purges_single_keys:
        pytest.skip("removes the past of the whole cluster")


async def test_the_past_of_other_keys_stays_as_it_was(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        revisions = []
        for number in range(40):
            await put(store, "a", b"hunter2-%d" % number * 20)
            revisions.append(await put(store, "b", b"b-%d" % number * 20))
        before = list(await store.history("b"))
        assert await purge(store, "a") == 39
        assert list(await store.history("b")) == before
        for number, at in enumerate(revisions):
            item = await store.get("b", at)
            assert item is not None
            assert item.value == b"b-%d" % number * 20
        events: list[Event] = []
        watch = store.watch("b", revisions[0])
        while len(events) < 39:
            events += await asyncio.wait_for(watch.next(), SOON)
        assert [event.entry.value for event in events] == [b"b-%d" % number * 20 for number in range(1, 40)]


async def test_the_log_keeps_the_entry_with_its_tombstone(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        first = await put(store, "a", b"1")
        second = await put(store, "a", b"2")
        third = await put(store, "a", None)
        assert await purge(store, "a") == 2
        for entries in (list(await store.history("a"))[::-1], await store.log()):
            assert [(entry.revision, entry.previous, entry.value, entry.purged) for entry in entries] == [
                (first, 0, None, PURGE),
                (second, first, None, PURGE),
                (third, second, None, None),
            ]
            assert {entry.actor for entry in entries} == {ALICE}
        with pytest.raises(Purged, match="was purged by root: leaked in a ticket") as purged:
            await store.get("a", first)
        assert (purged.value.key, purged.value.purge) == ("a", PURGE)
        assert await store.get("a", third) is None
        assert await store.count("", first) == 1
        assert await store.count("", third) == 0


async def test_only_values_written_through_a_revision_are_purged(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        revisions = [await put(store, "a", b"hunter2-%d" % number * 9) for number in range(30)]
        assert await purge(store, "a", through=revisions[17]) == 18
        kept = [b"hunter2-%d" % number * 9 for number in range(29, 17, -1)]
        assert values(await store.history("a")) == [*kept, *[None] * 18]
        item = await store.get("a", revisions[18])
        assert item is not None
        assert item.value == b"hunter2-18" * 9
        with pytest.raises(Purged):
            await store.get("a", revisions[17])


async def test_only_values_that_were_replaced_by_a_time_are_purged(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        for number in range(4):
            await put(store, "a", b"%d" % number)
            store_factory.clock.advance(100)
        # 0 was replaced after 100 seconds, 1 after 200, 2 after 300.
        assert await purge(store, "a", before=START.timestamp() + 200) == 2
        assert values(await store.history("a")) == [b"3", b"2", None, None]


async def test_a_prefix_is_purged_page_by_page(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        for number in range(25):
            await put(store, f"s/{number:02}", b"hunter2")
            await put(store, f"s/{number:02}", b"2" if number % 2 else None)
        await put(store, "t/1", b"hunter2")
        await put(store, "t/1", b"2")
        removed: list[tuple[str, int]] = []
        after, pages = "", 0
        while True:
            page = await store.purge(Selection("s/", is_prefix=True), PURGE, after, 10)
            removed += page.removed
            pages += 1
            if page.after is None:
                break
            after = page.after
        assert (removed, pages) == ([(f"s/{number:02}", 1) for number in range(25)], 3)
        assert values(await store.history("t/1")) == [b"2", b"hunter2"]


async def test_a_purge_is_repeated_without_harm(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        for number in range(5):
            await put(store, "a", b"%d" % number)
        assert await purge(store, "a") == 4
        assert await purge(store, "a") == 0
        await put(store, "a", b"5")
        assert await purge(store, "a") == 1
        assert {entry.purged for entry in (await store.history("a"))[1:]} == {PURGE}


async def test_a_compaction_takes_purged_entries_along(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        first = await put(store, "a", b"1")
        second = await put(store, "b", b"1")
        await put(store, "a", b"2")
        await purge(store, "a")
        await store.compact(second)
        with pytest.raises(Purged):
            await store.get("a", second)
        await store.compact(await store.revision())
        assert values(await store.history("a")) == [b"2"]
        with pytest.raises(TooLate):
            await store.get("a", first)


async def test_a_restored_snapshot_keeps_the_tombstones(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        only_single(store)
        first = await put(store, "a", b"hunter2")
        await put(store, "a", b"2")
        await purge(store, "a")
        await store.restore((await store.snapshot()).dump())
        assert [(entry.value, entry.purged) for entry in await store.history("a")] == [(b"2", None), (None, PURGE)]
        with pytest.raises(Purged):
            await store.get("a", first)
        with pytest.raises(TooLate):
            await asyncio.wait_for(store.watch("a", 0).next(), SOON)


async def test_a_purge_that_is_under_way_lets_others_write(
    store_factory: StoreFactory, request: pytest.FixtureRequest
) -> None:
    """A purge of many versions is done in steps; a commit that comes meanwhile is not behind all of them."""
    async with store_factory(Retention()) as store:
        only_single(store)
        await asyncio.gather(*(put(store, "a", b"%d" % number) for number in range(3000)))
        purging = asyncio.ensure_future(store.purge(Selection("a"), PURGE))
        await asyncio.sleep(0)
        await put(store, "b", b"1")
        # A store in memory purges in one turn; the store with late reports is one below its cache.
        if not isinstance(store, MemoryStore) and "late reports" not in request.node.name:
            assert not purging.done()
        page = await purging
        assert page.removed[0][0] == "a"
        assert page.removed[0][1] >= 2990


# Snapshots and forks in memory


async def test_a_purge_reaches_the_snapshots_of_a_store_in_memory() -> None:
    store = MemoryStore()
    await put(store, "a", b"hunter2-1")
    await put(store, "a", b"hunter2-2")
    snapshot = await store.snapshot()
    before_compaction = await store.snapshot()
    await put(store, "a", b"3")
    await store.compact(await store.revision())
    assert b"hunter2" in snapshot.dump()
    await store.purge(Selection("a"), PURGE)
    for each in (snapshot, before_compaction):
        assert b"hunter2" not in each.dump()
    await store.restore(snapshot)
    assert await store.get("a") is None
    assert (await store.range("")).items == []
    assert values(await store.history("a")) == [None, None]
    await put(store, "a", b"4")
    item = await store.get("a")
    assert item is not None
    assert item.value == b"4"


async def test_a_purge_reaches_stores_that_were_made_of_a_snapshot() -> None:
    store, fork = MemoryStore(), MemoryStore()
    await put(store, "a", b"hunter2")
    shared = await put(store, "a", b"2")
    await fork.restore(await store.snapshot())
    own = await put(fork, "a", b"of-the-fork")
    await put(fork, "a", b"4")
    await store.purge(Selection("a"), PURGE)
    assert b"hunter2" not in (await fork.snapshot()).dump()
    assert values(await fork.history("a")) == [b"4", b"of-the-fork", None, None]
    assert own > shared
