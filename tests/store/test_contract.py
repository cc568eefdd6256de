"""What every store promises, promise by promise, on every backend."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random

import pytest

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import (
    ABSENT,
    ANY,
    EXPIRY,
    Closed,
    Event,
    ExpectationFailed,
    Item,
    Purge,
    Retention,
    Selection,
    Store,
    StoreError,
    TooEarly,
    TooLate,
    Watch,
    Write,
)
from setpoint.store.uncounted import uncounted_page

from .conftest import START, StoreFactory, eventually

ALICE = Actor("alice", groups=("dev",), uid="1", field_manager="kubectl")
BOB = Actor("bob")
SOON = 30.0  # seconds within which a watcher must have been told


async def put(store: Store, key: str, value: str) -> int:
    return await store.commit(key, value.encode(), ANY, ALICE)


async def drop(store: Store, key: str) -> int:
    return await store.commit(key, None, ANY, ALICE)


async def collect(watch: Watch, revision: int) -> list[Event]:
    """All events of a watch up to a revision that matches it."""
    events: list[Event] = []
    while not events or events[-1].entry.revision < revision:
        events += await asyncio.wait_for(watch.next(), SOON)
    return events


def short(events: Sequence[Event]) -> list[tuple[int, str, bytes | None, bytes | None]]:
    return [(event.entry.revision, event.entry.key, event.entry.value, event.previous_value) for event in events]


# Revisions and writes


async def test_a_new_store_is_at_revision_0_and_empty(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        assert await store.revision() == 0
        assert await store.oldest() == 0
        assert await store.get("a") is None
        assert (await store.range("")).items == []
        assert await store.count("") == 0
        assert list(await store.log()) == []
        assert list(await store.history("a")) == []


async def test_each_commit_makes_the_next_revision_of_the_whole_store(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        revisions = [await put(store, "a", "1"), await put(store, "b", "1"), await put(store, "a", "2")]
        assert revisions == [1, 2, 3]
        assert await store.revision() == 3


async def test_a_commit_is_visible_to_the_next_read(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        first = await put(store, "a", "1")
        second = await put(store, "a", "2")
        assert await store.get("a") == Item("a", b"2", second, first)


async def test_an_unchanged_value_costs_no_revision(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        first = await put(store, "a", "1")
        await put(store, "b", "1")
        assert await put(store, "a", "1") == first
        assert await store.revision() == 2
        assert len(await store.history("a")) == 1


async def test_deleting_what_is_absent_costs_no_revision(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        current = await put(store, "a", "1")
        assert await drop(store, "b") == current
        assert await store.commit("b", None, ABSENT, ALICE) == current
        assert await store.revision() == current


async def test_an_empty_value_is_not_a_deletion(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        revision = await put(store, "a", "")
        assert await store.get("a") == Item("a", b"", revision, revision)
        second = await drop(store, "a")
        third = await put(store, "a", "")
        assert [entry.value for entry in await store.history("a")] == [b"", None, b""]
        assert [entry.revision for entry in await store.history("a")] == [third, second, revision]


async def test_a_key_created_again_begins_a_new_life(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await drop(store, "a")
        again = await put(store, "a", "1")
        assert await store.get("a") == Item("a", b"1", again, again)


async def test_values_of_any_bytes_and_size_come_back_as_they_were(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        values = [bytes(range(256)), b"\0", b"x" * 500_000, bytes(range(256)) * 500]
        revisions = [await store.commit("k", value, ANY, ALICE) for value in values]
        assert [(await store.get("k", at=revision)).value for revision in revisions] == values  # type: ignore[union-attr]


async def test_expecting_absence_fails_on_a_key_that_is_there(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        revision = await put(store, "a", "1")
        with pytest.raises(ExpectationFailed) as failed:
            await store.commit("a", b"2", ABSENT, ALICE)
        assert failed.value.key == "a"
        assert failed.value.actual == Item("a", b"1", revision, revision)
        assert await store.revision() == revision
        assert await store.get("a") == Item("a", b"1", revision, revision)


async def test_expecting_a_revision_fails_on_any_other(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        first = await put(store, "a", "1")
        second = await store.commit("a", b"2", first, ALICE)
        with pytest.raises(ExpectationFailed) as failed:
            await store.commit("a", b"3", first, ALICE)
        assert failed.value.actual == Item("a", b"2", second, first)
        with pytest.raises(ExpectationFailed):
            await store.commit("a", None, first, ALICE)
        with pytest.raises(ExpectationFailed) as failed:
            await store.commit("b", b"3", first, ALICE)
        assert failed.value.actual is None
        assert await store.revision() == second


async def test_an_expectation_is_checked_even_if_the_value_would_not_change(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        first = await put(store, "a", "1")
        second = await put(store, "a", "2")
        with pytest.raises(ExpectationFailed):
            await store.commit("a", b"2", first, ALICE)
        assert await store.commit("a", b"2", second, ALICE) == second


async def test_expecting_absence_holds_after_a_deletion(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await drop(store, "a")
        assert await store.commit("a", b"2", ABSENT, ALICE) == 3


async def test_of_concurrent_creations_exactly_one_wins(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        tries = [store.commit("a", str(n).encode(), ABSENT, ALICE) for n in range(20)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert [result for result in results if not isinstance(result, ExpectationFailed)] == [1]


async def test_a_key_must_be_text_that_utf_8_can_hold(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for key in ("", "a\ud800"):
            with pytest.raises(ValueError, match="key"):
                await put(store, key, "1")
        assert await store.revision() == 0


# Transactions


async def test_a_transaction_writes_all_its_keys_in_one_revision(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        first = await put(store, "gone", "1")
        revision = await store.transact([Write("a", b"1", ABSENT), Write("b", b"2"), Write("gone", None, first)], ALICE)
        assert revision == 2
        assert await store.revision() == 2
        page = await store.range("")
        assert page.items == [Item("a", b"1", 2, 2), Item("b", b"2", 2, 2)]


async def test_a_transaction_that_fails_anywhere_changes_nothing(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "b", "1")
        with pytest.raises(ExpectationFailed) as failed:
            await store.transact([Write("a", b"1"), Write("b", b"2", ABSENT), Write("c", b"3")], ALICE)
        assert failed.value.key == "b"
        assert [item.key for item in (await store.range("")).items] == ["b"]
        assert await store.revision() == 1


async def test_a_transaction_keeps_what_does_not_change(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        assert await store.transact([Write("a", b"1"), Write("z", None)], ALICE) == 1
        assert await store.transact([Write("a", b"1"), Write("b", b"2")], ALICE) == 2
        assert await store.get("a") == Item("a", b"1", 1, 1)
        assert [entry.key for entry in await store.log(after=1)] == ["b"]


async def test_a_transaction_of_nothing_changes_nothing(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        assert await store.transact([], ALICE) == 1


async def test_a_transaction_names_each_key_once(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        with pytest.raises(ValueError, match="twice"):
            await store.transact([Write("a", b"1"), Write("a", b"2")], ALICE)
        assert await store.revision() == 0


# Reading now


async def test_a_range_gives_the_keys_with_a_prefix_in_code_point_order(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        keys = ["a/\uffff", "a/\U00010000", "a/é", "a/z", "a/A", "a/\ue000", "a/\ud7ff", "a0", "a", "b/a", "a/"]
        for key in keys:
            await put(store, key, key)
        wanted = ["a/", "a/A", "a/z", "a/é", "a/\ud7ff", "a/\ue000", "a/\uffff", "a/\U00010000"]
        page = await store.range("a/")
        assert [item.key for item in page.items] == wanted
        assert [item.value.decode() for item in page.items] == wanted
        assert (page.revision, page.remaining) == (len(keys), 0)
        assert await store.count("a/") == len(wanted)
        assert [item.key for item in (await store.range("")).items] == sorted(keys)


async def test_a_prefix_that_ends_in_the_last_code_point_has_an_end(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for key in ["a\U0010ffff", "a\U0010ffffb", "b", "\U0010ffff", "\ud7ff", "\ue000"]:
            await put(store, key, "1")
        assert [item.key for item in (await store.range("a\U0010ffff")).items] == ["a\U0010ffff", "a\U0010ffffb"]
        assert [item.key for item in (await store.range("\U0010ffff")).items] == ["\U0010ffff"]
        assert [item.key for item in (await store.range("\ud7ff")).items] == ["\ud7ff"]


async def test_pages_follow_each_other_without_a_gap(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for n in range(10):
            await put(store, f"a/{n}", str(n))
        await put(store, "b/0", "1")
        first = await store.range("a/", limit=4)
        second = await store.range("a/", after="a/3", limit=4)
        third = await store.range("a/", after="a/7", limit=4)
        assert [[item.key for item in page.items] for page in (first, second, third)] == [
            ["a/0", "a/1", "a/2", "a/3"],
            ["a/4", "a/5", "a/6", "a/7"],
            ["a/8", "a/9"],
        ]
        assert [page.remaining for page in (first, second, third)] == [6, 2, 0]


async def test_uncounted_pages_are_those_of_a_range(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for number in range(7):
            await put(store, f"/core/pods/{number}", "1")
        past = await store.revision()
        await drop(store, "/core/pods/3")
        await put(store, "/core/pods/8", "2")
        for at in (None, past):
            whole, after = await store.range("/core/pods/", at=at), ""
            found: list[Item] = []
            while True:
                page = await uncounted_page(store, "/core/pods/", after, 3, at)
                assert page.revision == whole.revision
                found += page.items
                if not page.remaining:
                    break
                after = page.items[-1].key
            assert found == whole.items


async def test_a_range_may_begin_after_a_key_that_is_not_there(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for key in ("a/1", "a/3", "b/1"):
            await put(store, key, "1")
        assert [item.key for item in (await store.range("a/", after="a/2")).items] == ["a/3"]
        assert (await store.range("a/", after="a/9")).items == []
        assert [item.key for item in (await store.range("b/", after="a/2")).items] == ["b/1"]


# Reading the past


async def test_every_kept_revision_can_be_read_as_it_was(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await put(store, "b", "1")
        await put(store, "a", "2")
        await drop(store, "b")
        await put(store, "c", "1")
        assert [item and item.value for item in [await store.get("a", at=n) for n in range(6)]] == [
            None, b"1", b"1", b"2", b"2", b"2",
        ]  # fmt: skip
        assert [item and item.value for item in [await store.get("b", at=n) for n in range(6)]] == [
            None, None, b"1", b"1", None, None,
        ]  # fmt: skip
        assert await store.get("a", at=2) == Item("a", b"1", 1, 1)
        pages = [await store.range("", at=n) for n in range(6)]
        assert [[item.key for item in page.items] for page in pages] == [
            [], ["a"], ["a", "b"], ["a", "b"], ["a"], ["a", "c"],
        ]  # fmt: skip
        assert [page.revision for page in pages] == [0, 1, 2, 3, 4, 5]
        assert [await store.count("", at=n) for n in range(6)] == [0, 1, 2, 2, 1, 2]


async def test_pages_of_the_past_know_what_remains(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for key in "abcde":
            await put(store, key, "1")
        at = await store.revision()
        await drop(store, "b")
        await put(store, "bb", "1")
        page = await store.range("", after="a", limit=2, at=at)
        assert [item.key for item in page.items] == ["b", "c"]
        assert page.remaining == 2


async def test_a_revision_that_does_not_exist_yet_is_too_early(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        for read in (store.get("a", at=2), store.range("", at=2), store.count("", at=2), store.compact(2)):
            with pytest.raises(TooEarly) as early:
                await read
            assert (early.value.revision, early.value.current) == (2, 1)


async def test_the_past_of_a_key_lists_all_its_lives_newest_first(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await put(store, "b", "x")
        await put(store, "a", "2")
        await drop(store, "a")
        await put(store, "a", "3")
        past = await store.history("a")
        assert [(e.revision, e.value, e.previous, e.created) for e in past] == [
            (5, b"3", 0, 5),
            (4, None, 3, 1),
            (3, b"2", 1, 1),
            (1, b"1", 0, 1),
        ]
        assert [e.revision for e in await store.history("a", before=4)] == [3, 1]
        assert [e.revision for e in await store.history("a", before=5, limit=2)] == [4, 3]


async def test_the_log_lists_every_entry_in_order(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await store.transact([Write("b", b"1"), Write("c", b"1")], ALICE)
        await drop(store, "a")
        assert [(e.revision, e.key) for e in await store.log()] == [(1, "a"), (2, "b"), (2, "c"), (3, "a")]
        assert [(e.revision, e.key) for e in await store.log(after=2)] == [(3, "a")]
        assert [(e.revision, e.key) for e in await store.log(limit=1)] == [(1, "a")]


async def test_a_page_of_the_log_ends_with_a_whole_revision(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await store.transact([Write("b", b"1"), Write("c", b"1")], ALICE)
        await put(store, "d", "1")
        assert [(e.revision, e.key) for e in await store.log(limit=2)] == [(1, "a"), (2, "b"), (2, "c")]


async def test_every_entry_keeps_time_actor_and_cause(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        request, reconcile = Cause("r-1"), Cause.reconcile("web", "shop/orders", "c-1")
        await store.commit("a", b"1", ANY, ALICE, request)
        store_factory.clock.advance(1.5)
        await store.commit("a", b"2", ANY, BOB, reconcile)
        await store.commit("a", None, ANY, BOB)
        start = START.timestamp()
        wanted = [(start + 1.5, BOB, None), (start + 1.5, BOB, reconcile), (start, ALICE, request)]
        assert [(e.time, e.actor, e.cause) for e in await store.history("a")] == wanted
        assert [(e.time, e.actor, e.cause) for e in await store.log()] == wanted[::-1]
        events = await collect(store.watch("", after=0), 3)
        assert [(e.entry.time, e.entry.actor, e.entry.cause) for e in events] == wanted[::-1]


# Watching


async def test_a_watch_sees_each_later_revision_once_and_in_order(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a/1", "1")
        watch = store.watch("a/", after=1)
        await put(store, "a/1", "2")
        await put(store, "b/1", "1")
        await drop(store, "a/1")
        await put(store, "a/1", "3")
        assert short(await collect(watch, 5)) == [
            (2, "a/1", b"2", b"1"),
            (4, "a/1", None, b"2"),
            (5, "a/1", b"3", None),
        ]
        watch.close()


async def test_a_watch_from_the_past_catches_up_and_goes_on(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for n in range(5):
            await put(store, "a", str(n))
        watch = store.watch("", after=2)
        assert [event[0] for event in short(await collect(watch, 5))] == [3, 4, 5]
        waiting = asyncio.create_task(watch.next())
        await asyncio.sleep(0)
        await put(store, "a", "new")
        assert short(await asyncio.wait_for(waiting, SOON)) == [(6, "a", b"new", b"4")]
        watch.close()


async def test_a_watch_without_a_revision_begins_now(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        watch = store.watch("")
        await put(store, "a", "2")
        assert [event[0] for event in short(await collect(watch, 2))] == [2]
        watch.close()


async def test_a_watch_from_a_revision_to_come_waits_for_it(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("", after=2)
        for n in range(4):
            await put(store, "a", str(n))
        assert [event[0] for event in short(await collect(watch, 4))] == [3, 4]
        watch.close()


async def test_a_transaction_reaches_a_watch_whole(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("a/", after=0)
        waiting = asyncio.create_task(watch.next())
        await asyncio.sleep(0)
        await store.transact([Write("a/1", b"1"), Write("b/1", b"1"), Write("a/2", b"1")], ALICE)
        events = await asyncio.wait_for(waiting, SOON)
        assert [(event.entry.revision, event.entry.key) for event in events] == [(1, "a/1"), (1, "a/2")]
        watch.close()


async def test_the_revision_of_a_watch_advances_with_the_log_events_or_not(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("a/", after=0)
        waiting = asyncio.create_task(watch.next())
        await asyncio.sleep(0)
        await put(store, "b/1", "1")
        await put(store, "b/1", "2")

        async def advanced() -> bool:
            return watch.revision == 2

        await eventually(advanced, "the watch's revision is the store's")
        await put(store, "a/1", "1")
        assert [event[0] for event in short(await asyncio.wait_for(waiting, SOON))] == [3]
        assert watch.revision == 3
        watch.close()


async def test_a_watch_passes_what_does_not_concern_it(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("a/", after=0)
        for n in range(5):
            await put(store, "b/1", str(n))
        waiting = asyncio.create_task(watch.next())

        async def advanced() -> bool:
            return watch.revision == 5

        await eventually(advanced, "the watch's revision is the store's")
        await put(store, "a/1", "1")
        assert [event[0] for event in short(await asyncio.wait_for(waiting, SOON))] == [6]
        watch.close()


async def test_a_watch_that_was_left_waiting_in_vain_goes_on_from_there(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("a", after=0)
        for n in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(watch.next(), 0.01)
            revision = await put(store, "a", str(n))
            assert [event[0] for event in short(await asyncio.wait_for(watch.next(), SOON))] == [revision]
            await put(store, "b", str(n))
        watch.close()


async def test_a_watch_never_says_it_is_further_than_what_it_handed_out(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("a", after=0)
        for n in range(20):
            await put(store, f"a{n}", "1")
            await put(store, f"b{n}", "1")
        handed = 0
        while handed < 39:
            assert watch.revision <= handed + 1
            events = await asyncio.wait_for(watch.next(), SOON)
            handed = events[-1].entry.revision
            assert watch.revision >= handed
        watch.close()


async def test_nothing_is_lost_when_a_waiting_watch_is_cancelled(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("", after=0)
        seen: list[int] = []
        for n in range(30):
            waiting = asyncio.create_task(watch.next())
            for _ in range(n % 4):
                await asyncio.sleep(0)
            commit = asyncio.create_task(put(store, "a", str(n)))
            for _ in range(n % 5):
                await asyncio.sleep(0)
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                seen += [event.entry.revision for event in await waiting]
            await commit
        if not seen or seen[-1] < 30:
            seen += [event.entry.revision for event in await collect(watch, 30)]
        assert seen == list(range(1, 31))
        watch.close()


async def test_many_watches_of_different_prefixes_each_see_their_own(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watches = [store.watch(prefix, after=0) for prefix in ("", "a", "a/", "a/b", "b/", "zzz")]
        waiting = [asyncio.create_task(collect(watch, 4)) for watch in watches[:3]]
        await asyncio.sleep(0)
        for key in ("b/1", "a", "a/b", "a/c"):
            await put(store, key, "1")
        found = [[event[0] for event in short(await task)] for task in waiting]
        assert found == [[1, 2, 3, 4], [2, 3, 4], [3, 4]]
        assert [event[0] for event in short(await collect(watches[3], 3))] == [3]
        assert [event[0] for event in short(await collect(watches[4], 1))] == [1]
        for watch in watches:
            watch.close()


async def test_closing_a_watch_ends_whoever_waits_on_it(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("")
        waiting = asyncio.create_task(watch.next())
        await asyncio.sleep(0)
        watch.close()
        with pytest.raises(Closed):
            await asyncio.wait_for(waiting, SOON)
        with pytest.raises(Closed):
            await watch.next()
        watch.close()
        assert await put(store, "a", "1") == 1


async def test_a_watch_from_before_the_oldest_revision_is_too_late(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for n in range(5):
            await put(store, "a", str(n))
        await store.compact(3)
        for _ in range(2):
            watch = store.watch("", after=2)
            with pytest.raises(TooLate) as late:
                await asyncio.wait_for(watch.next(), SOON)
            assert (late.value.revision, late.value.oldest) == (2, 3)
            watch.close()
        watch = store.watch("", after=3)
        assert short(await collect(watch, 5)) == [(4, "a", b"3", b"2"), (5, "a", b"4", b"3")]
        watch.close()


async def test_a_slow_watch_hinders_neither_the_writer_nor_another_watch(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        slow, quick = store.watch("", after=0), store.watch("", after=0)
        for n in range(300):
            await put(store, "a", str(n))
        assert [event[0] for event in short(await collect(quick, 300))] == list(range(1, 301))
        assert [event[0] for event in short(await collect(slow, 300))] == list(range(1, 301))
        slow.close()
        quick.close()


# Expiry


async def test_a_key_is_deleted_when_its_time_is_over(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        watch = store.watch("", after=0)
        revision = await store.commit("a", b"1", ANY, ALICE, ttl=2)
        await put(store, "b", "1")
        await store_factory.pass_time(1)
        await store.maintain()
        assert await store.get("a") == Item("a", b"1", revision, revision)
        await store_factory.pass_time(1.5)
        events = await collect(watch, 3)
        assert short(events)[-1] == (3, "a", None, b"1")
        assert events[-1].entry.actor == EXPIRY
        assert await store.get("a") is None
        assert await store.get("a", at=2) == Item("a", b"1", revision, revision)
        assert [entry.value for entry in await store.history("a")] == [None, b"1"]
        watch.close()


async def test_maintaining_deletes_at_once_what_has_expired(store_factory: StoreFactory) -> None:
    if not store_factory.backend.takes_clock:
        pytest.skip("this backend decides by itself when to delete")
    async with store_factory() as store:
        await store.transact([Write("a", b"1", ttl=5), Write("b", b"1", ttl=6), Write("c", b"1")], ALICE)
        store_factory.clock.advance(5)
        await store.maintain()
        assert [item.key for item in (await store.range("")).items] == ["b", "c"]


async def test_a_later_write_without_a_ttl_ends_expiry(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await store.commit("a", b"1", ANY, ALICE, ttl=1)
        await put(store, "a", "2")
        await store.commit("b", b"1", ANY, ALICE, ttl=1)
        await store.commit("b", b"2", ANY, ALICE, ttl=60)
        await store_factory.pass_time(3)
        await store.maintain()
        assert [item.value for item in (await store.range("")).items] == [b"2", b"2"]


async def test_an_unchanged_write_leaves_expiry_as_it_was(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await store.commit("a", b"1", ANY, ALICE, ttl=1)
        assert await store.commit("a", b"1", ANY, ALICE, ttl=600) == 1
        assert await put(store, "a", "1") == 1
        await store_factory.pass_time(3)

        async def gone() -> bool:
            return await store.get("a") is None

        await eventually(gone, "the key expires when its first write said")


# Compaction and retention


async def test_compaction_forgets_the_superseded_and_keeps_the_state(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "old", "1")
        await put(store, "a", "1")
        await put(store, "a", "2")
        await put(store, "gone", "1")
        await drop(store, "gone")
        await put(store, "a", "3")
        await store.compact(5)
        assert await store.oldest() == 5
        assert [item.value for item in (await store.range("")).items] == [b"3", b"1"]
        assert await store.get("a", at=5) == Item("a", b"2", 3, 2)
        assert await store.get("gone", at=5) is None
        assert [e.revision for e in await store.history("a")] == [6, 3]
        assert [e.revision for e in await store.history("old")] == [1]
        assert list(await store.history("gone")) == []
        assert [(e.revision, e.key) for e in await store.log()] == [(1, "old"), (3, "a"), (6, "a")]
        for read in (store.get("a", at=4), store.range("", at=4), store.count("", at=4)):
            with pytest.raises(TooLate) as late:
                await read
            assert (late.value.revision, late.value.oldest) == (4, 5)


async def test_compacting_again_to_less_changes_nothing(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        for n in range(5):
            await put(store, "a", str(n))
        await store.compact(4)
        await store.compact(4)
        await store.compact(2)
        assert await store.oldest() == 4
        assert await store.revision() == 5


async def test_a_store_compacted_to_its_end_goes_on(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await put(store, "b", "1")
        await drop(store, "b")
        await store.compact(3)
        assert await store.get("a") == Item("a", b"1", 1, 1)
        assert await put(store, "b", "2") == 4
        assert await store.get("b") == Item("b", b"2", 4, 4)
        assert [entry.previous for entry in await store.history("b")] == [0]


async def test_a_new_value_after_compaction_still_has_its_previous_one(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await put(store, "a", "2")
        await store.compact(2)
        await put(store, "a", "3")
        assert short(await collect(store.watch("", after=2), 3)) == [(3, "a", b"3", b"2")]


async def test_retention_by_count_keeps_that_many_revisions(store_factory: StoreFactory) -> None:
    async with store_factory(Retention(revisions=10)) as store:
        for n in range(50):
            await put(store, "a", str(n))
        await store.maintain()
        assert await store.oldest() == 40
        assert len(await store.history("a")) == 11
        assert (await store.range("")).items == [Item("a", b"49", 50, 1)]


async def test_retention_by_age_keeps_the_state_of_every_moment_within_it(store_factory: StoreFactory) -> None:
    async with store_factory(Retention(age=2)) as store:
        await put(store, "a", "1")
        await put(store, "a", "2")
        await store_factory.pass_time(1.5)
        await put(store, "a", "3")
        await store.maintain()
        assert await store.oldest() == 0
        await store_factory.pass_time(1)
        await store.maintain()
        assert await store.oldest() == 2
        assert [entry.value for entry in await store.history("a")] == [b"3", b"2"]


async def test_retention_by_size_bounds_the_past(store_factory: StoreFactory) -> None:
    async with store_factory(Retention(size=50_000)) as store:
        for n in range(100):
            await store.commit("a", Random(n).randbytes(5_000), ANY, ALICE)  # which nothing can compress
        await store.maintain()
        assert 50 < await store.oldest() < 100
        assert (await store.range("")).items[0].revision == 100


# Snapshots


async def test_a_snapshot_is_not_touched_by_later_writes(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        await put(store, "b", "1")
        snapshot = await store.snapshot()
        assert snapshot.revision == 2
        before = snapshot.dump()
        await put(store, "a", "2")
        await drop(store, "b")
        await put(store, "c", "1")
        await store.compact(4)
        assert snapshot.dump() == before
        revision = await store.restore(snapshot)
        assert [(item.key, item.value) for item in (await store.range("")).items] == [("a", b"1"), ("b", b"1")]
        assert revision == await store.revision()
        assert revision > 5


async def test_restoring_brings_back_the_past(store_factory: StoreFactory) -> None:
    if not store_factory.backend.restores_past:
        pytest.skip("this backend restores the state alone")
    async with store_factory() as store:
        await put(store, "a", "1")
        await put(store, "a", "2")
        snapshot = await store.snapshot()
        await put(store, "a", "3")
        await put(store, "a", "4")
        assert await store.restore(snapshot) == 5
        assert await store.get("a") == Item("a", b"2", 2, 1)
        assert await store.get("a", at=1) == Item("a", b"1", 1, 1)
        assert [e.revision for e in await store.history("a")] == [2, 1]
        assert [e.revision for e in await store.log()] == [2, 1][::-1]
        for read in (store.get("a", at=3), store.range("", at=4)):
            with pytest.raises(TooLate) as late:
                await read
            assert late.value.oldest == 5
        with pytest.raises(TooLate):
            await asyncio.wait_for(store.watch("", after=3).next(), SOON)
        assert await put(store, "a", "5") == 6
        assert short(await collect(store.watch("", after=1), 6)) == [(2, "a", b"2", b"1"), (6, "a", b"5", b"2")]
        assert [(e.revision, e.previous) for e in await store.history("a")] == [(6, 2), (2, 1), (1, 0)]


async def test_a_restored_store_makes_revisions_greater_than_any_before(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        snapshot = await store.snapshot()
        for n in range(5):
            await put(store, "a", str(n + 2))
        for _ in range(3):
            before = await store.revision()
            restored = await store.restore(snapshot)
            assert restored > before
            assert await put(store, "b", str(restored)) > restored


async def test_restoring_tells_every_watch_it_is_too_late(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        snapshot = await store.snapshot()
        idle, waiting = store.watch("", after=1), store.watch("", after=1)
        task = asyncio.create_task(waiting.next())
        await asyncio.sleep(0)
        await store.restore(snapshot)
        for attempt in (task, idle.next()):
            with pytest.raises(TooLate):
                await asyncio.wait_for(attempt, SOON)
        watch = store.watch("", after=await store.revision())
        later = await put(store, "a", "2")
        assert [event[0] for event in short(await collect(watch, later))] == [later]
        for opened in (idle, waiting, watch):
            opened.close()


async def test_a_dump_can_be_loaded_into_another_store(store_factory: StoreFactory) -> None:
    async with store_factory() as first, store_factory() as second:
        await first.transact([Write("a", b"1"), Write("b", bytes(range(256)))], ALICE, Cause("r"))
        await put(first, "a", "2")
        await drop(first, "b")
        await put(first, "c", "")
        dumped = (await first.snapshot()).dump()
        await put(second, "z", "will be gone")
        assert await second.restore(dumped) > 1
        items = (await second.range("")).items
        assert [(item.key, item.value) for item in items] == [("a", b"2"), ("c", b"")]
        if store_factory.backend.restores_past:
            assert list(await second.log()) == list(await first.log())
        assert await second.commit("c", b"3", items[1].revision, ALICE) == await second.revision()
        await put(second, "d", "4")
        items = (await second.range("")).items
        assert [(item.key, item.value) for item in items] == [("a", b"2"), ("c", b"3"), ("d", b"4")]


async def test_a_restored_key_still_expires(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await store.commit("a", b"1", ANY, ALICE, ttl=2)
        dumped = (await store.snapshot()).dump()
        await drop(store, "a")
        await store.restore(dumped)
        assert await store.count("") == 1
        await store_factory.pass_time(4)

        async def gone() -> bool:
            return await store.count("") == 0

        await eventually(gone, "the restored key expires")


@pytest.mark.parametrize("dump", [b"", b"nonsense", b"\x93\x01\x02\x03"])
async def test_what_is_no_snapshot_is_refused_and_changes_nothing(store_factory: StoreFactory, dump: bytes) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        with pytest.raises(StoreError, match="snapshot"):
            await store.restore(dump)
        assert await store.get("a") == Item("a", b"1", 1, 1)


async def test_a_damaged_dump_is_refused(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        dump = bytearray((await store.snapshot()).dump())
        dump[len(dump) // 2] ^= 4
        for damaged in (bytes(dump), bytes(dump[:-3])):
            with pytest.raises(StoreError, match="snapshot"):
                await store.restore(damaged)


# Closing


async def test_a_closed_store_says_so(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        watch, idle = store.watch(""), store.watch("")
        waiting = asyncio.create_task(watch.next())
        await asyncio.sleep(0)
        await store.close()
        for attempt in (waiting, idle.next(), store.get("a"), put(store, "a", "2"), store.range(""), store.revision()):
            with pytest.raises(Closed):
                await attempt
        await store.close()


async def test_every_method_of_a_closed_store_says_so(store_factory: StoreFactory) -> None:
    async with store_factory() as store:
        await put(store, "a", "1")
        snapshot = await store.snapshot()
        await store.close()
        calls: list[Callable[[], Awaitable[object]]] = [
            store.oldest,
            lambda: store.count(""),
            lambda: store.history("a"),
            store.log,
            lambda: store.transact([Write("a", b"2")], ALICE),
            lambda: store.compact(1),
            lambda: store.purge(Selection("a"), Purge("root", 0.0, "leaked")),
            store.scrub,
            store.maintain,
            store.snapshot,
            lambda: store.restore(snapshot),
        ]
        for call in calls:
            with pytest.raises(Closed):
                await call()


async def test_two_stores_in_one_process_know_nothing_of_each_other(store_factory: StoreFactory) -> None:
    async with store_factory() as first, store_factory() as second:
        await put(first, "a", "1")
        assert await second.revision() == 0
        await put(second, "b", "1")
        assert await first.get("b") is None
