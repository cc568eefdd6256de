"""What is particular to the store in etcd: replicas, others who use the same cluster, its limits."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from tests.ports import free_ports

from setpoint.objects.clock import Clock, ManualClock
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import ABSENT, ANY, EXPIRY, Closed, Event, Retention, StoreError, TooLate, Watch, Write
from setpoint.store.etcd import EtcdConfig, EtcdStore, Unreachable, maintenance, past, shared_watch
from setpoint.store.memory import MemoryStore

from .conftest import eventually
from .etcd_server import Outsider, require_etcd, shared_etcd

pytestmark = pytest.mark.slow

ALICE = Actor("alice", field_manager="kubectl")
SOON = 30.0
_roots = count()


@pytest.fixture(autouse=True)
def _etcd_is_here() -> None:
    require_etcd()


@asynccontextmanager
async def replicas(
    number: int,
    clock: Clock | None = None,
    retention: Retention = Retention(),  # noqa: B008
) -> AsyncIterator[Sequence[EtcdStore]]:
    """Several stores with the same root."""
    config = EtcdConfig((shared_etcd().endpoint,), root=f"/replicas-{next(_roots)}")
    async with AsyncExitStack() as stack:
        stores = []
        for _ in range(number):
            stores.append(await EtcdStore.open(config, clock=clock, retention=retention))
            stack.push_async_callback(stores[-1].close)
        yield stores


def outsider() -> Outsider:
    return Outsider(shared_etcd())


def root(store: EtcdStore) -> str:
    return store._session.root.path


async def put(store: EtcdStore, key: str, value: str) -> int:
    return await store.commit(key, value.encode(), ANY, ALICE)


async def take(watch: Watch, number: int) -> list[Event]:
    events: list[Event] = []
    while len(events) < number:
        events += await asyncio.wait_for(watch.next(), SOON)
    return events


def test_the_store_is_imported_without_grpc() -> None:
    program = "import sys, setpoint.store.contract, setpoint.store.memory; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


# Replicas


async def test_a_commit_of_one_replica_is_seen_by_the_next_read_of_another() -> None:
    async with replicas(2) as (first, second):
        for n in range(20):
            revision = await put(first, "a", str(n))
            found = await second.get("a")
            assert found is not None
            assert (found.value, found.revision) == (str(n).encode(), revision)
            assert await second.revision() == revision


async def test_a_watch_sees_the_writes_of_all_replicas_in_one_order() -> None:
    async with replicas(3) as stores:
        watches = [store.watch("", after=0) for store in stores]
        await asyncio.gather(*(put(store, f"{n}-{i}", "1") for n, store in enumerate(stores) for i in range(20)))
        seen = [[event.entry for event in await take(watch, 60)] for watch in watches]
        assert seen[0] == seen[1] == seen[2]
        assert [entry.revision for entry in seen[0]] == list(range(1, 61))


async def test_a_deletion_keeps_its_actor_and_cause_for_other_replicas() -> None:
    async with replicas(2) as (first, second):
        cause = Cause.reconcile("garbage-collector", "shop/orders", "r-7")
        await put(first, "a", "1")
        watch = second.watch("", after=1)
        await first.commit("a", None, 1, ALICE, cause)
        (event,) = await take(watch, 1)
        assert (event.entry.actor, event.entry.cause, event.entry.value) == (ALICE, cause, None)
        assert event.previous_value == b"1"
        assert (await second.history("a"))[0] == event.entry


async def test_of_replicas_that_replace_the_same_revision_one_wins() -> None:
    async with replicas(4) as stores:
        revision = await put(stores[0], "a", "first")
        tries = [store.commit("a", str(n).encode(), revision, ALICE) for n, store in enumerate(stores)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert len([result for result in results if isinstance(result, int)]) == 1


async def test_no_update_is_lost_among_replicas_that_expect_nothing() -> None:
    async with replicas(3) as stores:
        writes = [(store, f"{n}-{i}") for n, store in enumerate(stores) for i in range(10)]
        await asyncio.gather(*(put(store, "a", value) for store, value in writes))
        entries = await stores[0].history("a")
        assert sorted(entry.value or b"" for entry in entries) == sorted(value.encode() for _, value in writes)
        assert [entry.previous for entry in entries] == [*(entry.revision for entry in entries[1:]), 0]


async def test_what_expires_is_deleted_once_by_whichever_replica() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with replicas(3, clock) as stores:
        for n in range(10):
            await stores[n % 3].commit(f"event/{n}", b"1", ABSENT, ALICE, ttl=60)
        clock.advance(61)
        await asyncio.gather(*(store.maintain() for store in stores))
        deletions = [entry for entry in await stores[0].log(after=10) if entry.value is None]
        assert sorted(entry.key for entry in deletions) == [f"event/{n}" for n in range(10)]
        assert {entry.actor for entry in deletions} == {EXPIRY}
        assert await stores[1].count("event/") == 0


async def test_the_past_is_bounded_by_default() -> None:
    store = await EtcdStore.open(EtcdConfig((shared_etcd().endpoint,), root=f"/bounded-{next(_roots)}"))
    try:
        assert store._tending._retention == Retention(revisions=500_000)
    finally:
        await store.close()


async def test_replicas_compact_once_between_them() -> None:
    async with replicas(4, retention=Retention(revisions=5)) as stores, outsider() as other:
        for n in range(30):
            await put(stores[0], "a", str(n))
        await asyncio.gather(*(store._tending.compact(at_once=False) for store in stores))
        record = (await other.under(f"{root(stores[0])}/compact"))[f"{root(stores[0])}/compact"]
        assert record.version == 1
        assert await stores[1].oldest() == 25


async def test_restoring_is_seen_whole_by_other_replicas() -> None:
    async with replicas(2) as (first, second):
        for n in range(250):
            await put(first, f"k/{n:03}", "old")
        snapshot = await first.snapshot()
        for n in range(250):
            await put(first, f"k/{n:03}", "new")
        follower = second.watch("", after=await second.revision())
        seen = set()

        async def read_on() -> None:
            while True:
                seen.add(tuple(sorted({item.value for item in (await second.range("")).items})))

        reader = asyncio.create_task(read_on())
        restored = await first.restore(snapshot)
        with pytest.raises(TooLate):
            await asyncio.wait_for(follower.next(), SOON)
        reader.cancel()
        assert seen <= {(b"new",), (b"old",)}
        assert await second.revision() == restored
        assert await second.commit("k/000", b"newer", ANY, ALICE) > restored
        with pytest.raises(TooLate):
            await second.get("k/000", at=300)


async def test_a_replica_that_has_not_heard_of_a_restore_writes_into_the_new_state() -> None:
    async with replicas(2) as (first, second):
        stale = await put(second, "a", "1")
        snapshot = await second.snapshot()
        await put(second, "a", "2")
        await first.restore(snapshot)
        with pytest.raises(StoreError, match="expected revision"):
            await second.commit("a", b"3", stale, ALICE)
        await second.commit("b", b"1", ABSENT, ALICE)
        assert [(item.key, item.value) for item in (await first.range("")).items] == [("a", b"1"), ("b", b"1")]


async def test_moving_from_another_backend_goes_on_after_its_revisions() -> None:
    memory = MemoryStore()
    for n in range(2_000):
        await memory.commit("a", str(n).encode(), ANY, ALICE)
    dumped = (await memory.snapshot()).dump()
    await memory.close()
    async with replicas(1) as (store,):
        assert await store.restore(dumped) > 2_000
        (entry,) = await store.history("a")
        assert (entry.value, entry.actor) == (b"1999", ALICE)
        assert await put(store, "a", "new") > entry.revision


async def test_another_backend_takes_over_state_and_past() -> None:
    async with replicas(1) as (store,), outsider() as other:
        await put(store, "a", "1")
        await other.put("/elsewhere/gap")
        await store.transact([Write("a", b"2"), Write("b", b"1", ttl=60)], ALICE, Cause("r"))
        await store.commit("a", None, ANY, ALICE)
        memory = MemoryStore()
        await memory.restore((await store.snapshot()).dump())
        assert list(await memory.log()) == list(await store.log())
        assert (await memory.range("")).items == (await store.range("")).items
        await memory.close()


async def test_closing_waits_for_the_commits_that_are_under_way() -> None:
    async with replicas(2) as (store, other):
        commits = [asyncio.create_task(put(store, f"k{n}", "1")) for n in range(20)]
        await asyncio.sleep(0.002)
        await store.close()
        told = await asyncio.gather(*commits, return_exceptions=True)
        assert {type(answer) for answer in told} <= {int, Closed}
        kept = {item.revision for item in (await other.range("")).items}
        assert {answer for answer in told if isinstance(answer, int)} <= kept


# Others in the same etcd


async def test_the_writes_of_others_leave_gaps_and_nothing_else() -> None:
    async with replicas(1) as (store,), outsider() as other:
        first = await put(store, "a", "1")
        for _ in range(5):
            await other.put("/elsewhere/a")
        assert await store.revision() == first
        assert (await store.range("")).revision == first
        watch = store.watch("", after=first)
        second = await put(store, "a", "2")
        assert second == first + 6
        assert [entry.revision for entry in await store.log()] == [first, second]
        assert [event.entry.revision for event in await take(watch, 1)] == [second]


async def test_a_compaction_by_others_is_too_late_for_the_past_only() -> None:
    async with replicas(1) as (store,), outsider() as other:
        first = await put(store, "a", "1")
        second = await put(store, "a", "2")
        await other.compact()
        with pytest.raises(TooLate) as late:
            await store.get("a", at=first)
        assert (late.value.revision, late.value.oldest) == (first, second)
        with pytest.raises(TooLate):
            await asyncio.wait_for(store.watch("", after=first).next(), SOON)
        # Though etcd has forgotten it, nothing has changed since our current revision.
        found = await store.get("a", at=second)
        assert found is not None
        assert found.value == b"2"
        assert (await store.range("", at=second)).revision == second
        assert await store.oldest() == second
        assert [entry.revision for entry in await store.history("a")] == [second]
        watch = store.watch("", after=second)
        third = await put(store, "a", "3")
        (event,) = await take(watch, 1)
        assert (event.entry.revision, event.previous_value) == (third, b"2")


async def test_what_others_compacted_before_us_does_not_concern_us() -> None:
    async with outsider() as other:
        await other.compact()
        async with replicas(1) as (store,):
            assert (await store.revision(), await store.oldest()) == (0, 0)
            assert await put(store, "a", "1") == 1
            assert await store.get("a", at=0) is None
            assert len(await take(store.watch("", after=0), 1)) == 1


async def test_a_value_that_is_not_ours_is_reported_with_its_key() -> None:
    async with replicas(1) as (store,), outsider() as other:
        await put(store, "a", "1")
        await other.put(f"{root(store)}/log/0/s/a", b"not an envelope")
        with pytest.raises(StoreError, match="/log/0/s/a: its value was not written by Setpoint"):
            await store.get("a")


async def test_a_key_that_was_deleted_by_hand_is_seen_by_watches() -> None:
    async with replicas(1) as (store,), outsider() as other:
        watch = store.watch("", after=0)
        await put(store, "a", "1")
        await other.delete(f"{root(store)}/log/0/s/a")
        events = await take(watch, 2)
        assert (events[1].entry.value, events[1].entry.actor, events[1].previous_value) == (None, Actor(""), b"1")


# Bounds


async def test_too_many_writes_in_a_transaction_say_what_to_do() -> None:
    async with replicas(1) as (store,):
        assert await store.transact([Write(f"k{n}", b"1") for n in range(120)], ALICE) == 1
        with pytest.raises(StoreError, match=r"too many operations.*--max-txn-ops"):
            await store.transact([Write(f"k{n}", b"2") for n in range(200)], ALICE)
        assert await store.revision() == 1


async def test_a_value_that_is_too_large_says_what_to_do() -> None:
    async with replicas(1) as (store,):
        for size in (1_600_000, 3_000_000):
            with pytest.raises(StoreError, match="--max-request-bytes"):
                await store.commit("a", b"x" * size, ABSENT, ALICE)
        assert await store.revision() == 0


async def test_a_long_range_is_read_in_chunks_at_one_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "CHUNK", 7)
    async with replicas(1) as (store,):
        for n in range(20):
            await put(store, f"k{n:02}", "1")
        assert [item.key for item in (await store.range("")).items] == [f"k{n:02}" for n in range(20)]
        page = await store.range("", after="k01", limit=15)
        assert ([item.key for item in page.items], page.remaining) == ([f"k{n:02}" for n in range(2, 17)], 3)
        page = await store.range("", limit=10, at=12)
        assert (len(page.items), page.remaining, page.revision) == (10, 2, 12)
        assert len(await store.log()) == 20
        async with outsider() as other:
            await other.compact()
        assert len((await store.range("", at=20)).items) == 20
        assert len(await store.log()) == 20


async def test_a_long_range_begins_again_when_its_revision_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "CHUNK", 5)
    async with replicas(1) as (store,):
        for n in range(12):
            await put(store, f"k{n:02}", "1")
        chunk, read = store._chunk, 0

        async def disturbed(*arguments: Any) -> Any:
            nonlocal read
            read += 1
            if read == 2:
                await store.compact(await put(store, "k00", "2"))
            return await chunk(*arguments)

        monkeypatch.setattr(store, "_chunk", disturbed)
        page = await store.range("")
        assert page.revision == 13
        assert [item.value for item in page.items] == [b"2"] + [b"1"] * 11


async def test_a_transaction_too_large_for_one_message_reaches_a_watch_whole() -> None:
    async with replicas(1) as (store,):
        watch = store.watch("", after=0)
        for round_ in range(3):
            value = b"%d" % round_ + bytes(130_000)
            await store.transact([Write(f"k{n}", value) for n in range(10)], ALICE)
        seen: list[tuple[int, str]] = []
        while len(seen) < 30:
            events = await asyncio.wait_for(watch.next(), SOON)
            assert len(events) % 10 == 0
            seen += [(event.entry.revision, event.entry.key) for event in events]
        assert seen == [(revision, f"k{n}") for revision in (1, 2, 3) for n in range(10)]


async def test_a_watch_that_falls_behind_the_window_reads_from_etcd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_watch, "WINDOW_EVENTS", 10)
    monkeypatch.setattr(shared_watch, "BEGIN_BEFORE", 0)
    async with replicas(1) as (store,):
        await put(store, "a", "first")
        slow, quick = store.watch("a", after=0), store.watch("a", after=1)
        for n in range(100):
            await put(store, "a", str(n))
            assert len(await take(quick, 1)) == 1
        assert len(store._feed._events) <= 10
        assert [event.entry.revision for event in await take(slow, 101)] == list(range(1, 102))
        last = await put(store, "a", "last")
        assert [(await take(watch, 1))[0].entry.revision for watch in (slow, quick)] == [last, last]


async def test_a_watch_that_falls_behind_the_window_and_compaction_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_watch, "WINDOW_EVENTS", 10)
    async with replicas(1) as (store,):
        slow, quick = store.watch("", after=0), store.watch("", after=0)
        for n in range(50):
            await put(store, "a", str(n))
        await take(quick, 50)
        await store.compact(40)
        with pytest.raises(TooLate) as late:
            await asyncio.wait_for(slow.next(), SOON)
        assert late.value.oldest == 40


async def test_a_deletion_at_the_very_revision_of_a_compaction_is_not_missed_in_silence() -> None:
    async with replicas(1) as (store,):
        await put(store, "a", "1")
        await put(store, "b", "1")
        deleted = await store.commit("a", None, ANY, ALICE)
        await put(store, "b", "2")
        await store.compact(deleted)
        with pytest.raises(TooLate):
            await asyncio.wait_for(store.watch("", after=deleted - 1).next(), SOON)
        assert [event.entry.key for event in await take(store.watch("", after=deleted), 1)] == ["b"]


async def test_what_deletions_and_expiry_leave_behind_is_cleared_away() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with replicas(1, clock) as (store,), outsider() as other:
        for n in range(maintenance.LEFTOVERS + 10):
            await store.commit(f"deleted/{n}", b"1", ABSENT, ALICE, ttl=60)
            await store.commit(f"deleted/{n}", None, ANY, ALICE)
        await put(store, "kept", "1")
        assert len(await other.under(f"{root(store)}/log/0/d/")) == maintenance.LEFTOVERS + 10
        clock.advance(61)
        await store.compact(await store.revision())
        await store.maintain()

        async def is_clear() -> bool:
            # The passed time also starts the background maintenance, which may be removing the last ones.
            return await other.under(f"{root(store)}/log/0/d/") == {}

        await eventually(is_clear, "all marks of deletions are removed")
        assert await other.under(f"{root(store)}/log/0/x/") == {}
        assert [item.key for item in (await store.range("")).items] == ["kept"]


# Reaching etcd


async def test_an_etcd_that_is_not_there_is_named() -> None:
    (port,) = free_ports(1)
    with pytest.raises(Unreachable, match=rf"cannot reach etcd at 127.0.0.1:{port}: .*; is it running\?"):
        await EtcdStore.open(EtcdConfig((f"127.0.0.1:{port}",), patience=0.2))


async def test_a_dead_endpoint_among_several_does_no_harm() -> None:
    (port,) = free_ports(1)
    config = EtcdConfig((f"127.0.0.1:{port}", shared_etcd().endpoint), root=f"/several-{next(_roots)}")
    store = await EtcdStore.open(config)
    try:
        watch = store.watch("")
        assert await put(store, "a", "1") == 1
        assert len(await take(watch, 1)) == 1
    finally:
        await store.close()
