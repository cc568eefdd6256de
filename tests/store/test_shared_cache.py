"""The cache of a store that other servers write to: reports are late, but no read lacks an acknowledged write."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from tests.server.read.reader import MemorySink
from tests.store.conftest import eventually
from tests.store.late_store import LateStore

from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import Timeout
from setpoint.objects.provenance import Actor
from setpoint.server.app import Server
from setpoint.server.message import Request
from setpoint.server.watch import freshness
from setpoint.store.cached import AnyAge, StateCache, revision_waits, state_cache
from setpoint.store.cached.shared_read import SharedRead
from setpoint.store.contract import ANY, Closed, Purge, Selection, Store, StoreError, TooLate
from setpoint.store.memory import MemoryStore

ACTOR = Actor("tester")
MAPS = "/core/configmaps/"


@pytest.fixture
async def store() -> AsyncIterator[LateStore]:
    inner = MemoryStore()
    yield LateStore(inner)
    await inner.close()


@pytest.fixture
async def cache(store: LateStore) -> AsyncIterator[StateCache]:
    """Provides a cache with the objects a and b in memory."""
    cache = StateCache(store)
    await put(cache, "a")
    await put(cache, "b")
    assert len((await cache.range(MAPS)).items) == 2
    store.gets = store.ranges = store.confirmations = 0
    yield cache
    cache.detach()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a read wait only a moment for late reports."""
    monkeypatch.setattr(state_cache, "_LATE", 0.01)
    monkeypatch.setattr(state_cache, "_PATIENCE", 0.01)


async def until(holds: Callable[[], bool]) -> None:
    """Waits for a condition."""

    async def condition() -> bool:
        return holds()

    await eventually(condition, "the condition")


async def put(cache: StateCache, name: str, value: str = "1") -> int:
    return await cache.commit(MAPS + name, value.encode(), ANY, ACTOR)


async def value(cache: StateCache | AnyAge, name: str) -> bytes | None:
    item = await cache.get(MAPS + name)
    return item.value if item is not None else None


async def test_a_read_waits_for_the_report_of_an_acknowledged_write(store: LateStore, cache: StateCache) -> None:
    store.holds_back = True
    revision = await put(cache, "a", "2")
    reads: list[asyncio.Task[Any]] = [
        asyncio.create_task(cache.get(MAPS + "a")),
        asyncio.create_task(cache.range(MAPS)),
        asyncio.create_task(cache.count(MAPS)),
        asyncio.create_task(cache.revision()),
    ]
    await asyncio.sleep(0.01)
    assert not any(read.done() for read in reads)
    store.release()
    item, page, count, current = [await read for read in reads]
    assert item.value == b"2"
    assert page.revision == current == revision
    assert [each.value for each in page.items] == [b"2", b"1"]
    assert count == 2
    assert store.gets == store.ranges == 0, "the answers come from memory"


async def test_reads_that_begin_together_share_one_confirmation(store: LateStore, cache: StateCache) -> None:
    found = await asyncio.gather(*(cache.get(MAPS + "a") for _ in range(50)))
    assert len(found) == 50
    assert store.confirmations == 1


async def test_a_read_that_begins_during_a_confirmation_waits_for_the_next(store: LateStore, cache: StateCache) -> None:
    store.gate = asyncio.Event()
    first = asyncio.create_task(cache.get(MAPS + "a"))
    await until(lambda: store.confirmations == 1)
    store.holds_back = True
    await put(cache, "a", "2")  # after the first confirmation began
    second = asyncio.create_task(cache.get(MAPS + "a"))
    store.gate.set()
    before = await first
    assert before is not None
    assert before.value == b"1"
    await until(lambda: store.confirmations == 2)
    assert not second.done()
    store.release()
    after = await second
    assert after is not None
    assert after.value == b"2"


async def test_a_cancelled_read_cancels_no_other(store: LateStore, cache: StateCache) -> None:
    store.gate = asyncio.Event()
    reads = [asyncio.create_task(cache.get(MAPS + "a")) for _ in range(3)]
    await until(lambda: store.confirmations == 1)
    reads[0].cancel()
    store.gate.set()
    assert [item.value for item in await asyncio.gather(*reads[1:]) if item is not None] == [b"1", b"1"]


async def test_a_read_goes_to_the_store_if_reports_are_too_late(at_once: None, store: LateStore) -> None:
    cache = StateCache(store)
    await put(cache, "a")
    await cache.range(MAPS)
    store.holds_back = True
    revision = await put(cache, "a", "2")
    for _ in range(2):
        assert await value(cache, "a") == b"2"
        page = await cache.range(MAPS)
        assert ([item.value for item in page.items], page.revision) == ([b"2"], revision)
        assert await cache.count(MAPS) == 1
        assert await cache.revision() == revision
    assert store.gets == 2
    store.release()
    assert await value(cache, "a") == b"2"
    assert store.gets == 2, "memory answers again"
    cache.detach()


async def test_a_failed_confirmation_is_an_error_of_consistent_reads_only(store: LateStore, cache: StateCache) -> None:
    async def unreachable() -> int:
        raise StoreError("etcd cannot be reached")

    store.confirmed = unreachable  # type: ignore[method-assign]
    cache = StateCache(store)
    await cache.holds(MAPS)
    with pytest.raises(StoreError, match="cannot be reached"):
        await cache.get(MAPS + "a")
    with pytest.raises(StoreError, match="cannot be reached"):
        await cache.revision()
    any_age = AnyAge(cache)
    assert await value(any_age, "a") == b"1"
    assert len((await any_age.range(MAPS)).items) == 2
    cache.detach()


async def test_reads_of_any_age_wait_for_no_report(store: LateStore, cache: StateCache) -> None:
    store.holds_back = True
    revision = await put(cache, "a", "2")
    any_age = AnyAge(cache)
    assert await value(any_age, "a") == b"1"
    page = await any_age.range(MAPS, limit=1)
    assert ([item.value for item in page.items], page.revision, page.remaining) == ([b"1"], revision - 1, 1)
    assert await any_age.revision() == revision - 1
    assert store.confirmations == 0


async def test_a_read_not_older_than_a_revision_returns_when_the_cache_reaches_the_revision(
    store: LateStore, cache: StateCache
) -> None:
    store.holds_back = True
    revision = await put(cache, "a", "2")
    waiting = asyncio.create_task(freshness.wait_for(AnyAge(cache), SystemClock(), revision))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    store.release()
    assert await waiting == revision
    assert store.confirmations == 0


async def test_a_read_not_older_than_an_unknown_revision_fails(at_once: None, store: LateStore) -> None:
    cache = StateCache(store)
    revision = await put(cache, "a")
    await until(lambda: cache.current == revision)
    with pytest.raises(Timeout, match=f"Too large resource version: {revision + 1}, current: {revision}"):
        await freshness.wait_for(AnyAge(cache), SystemClock(), revision + 1)
    cache.detach()


async def test_an_unknown_revision_of_one_client_delays_no_other(at_once: None, store: LateStore) -> None:
    cache = StateCache(store)
    revision = await put(cache, "a")
    await until(lambda: cache.current == revision)
    with pytest.raises(Timeout):
        await freshness.wait_for(AnyAge(cache), SystemClock(), revision + 1000)
    store.holds_back = True
    revision = await put(cache, "a", "2")
    asyncio.get_running_loop().call_soon(store.release)
    assert await freshness.wait_for(AnyAge(cache), SystemClock(), revision) == revision
    cache.detach()


async def test_the_fill_waits_for_the_reports_of_the_objects_that_it_did_not_find(store: LateStore) -> None:
    cache = StateCache(store)
    await put(cache, "a")
    existed = await cache.commit("/core/secrets/a", b"1", ANY, ACTOR)
    assert await cache.revision() == existed
    store.holds_back = True
    await cache.commit("/core/secrets/a", None, ANY, ACTOR)
    cache.start()
    for _ in range(50):
        await asyncio.sleep(0)
    page = await AnyAge(cache).range("/core/secrets/", "", 10)
    assert (len(page.items), page.revision) != (0, existed), "the object existed at that revision"
    assert not cache.is_filled
    store.release()
    await until(lambda: cache.is_filled)
    assert (await AnyAge(cache).range("/core/secrets/")).items == []
    cache.detach()


async def test_a_past_revision_comes_from_memory_after_a_confirmation(store: LateStore, cache: StateCache) -> None:
    before = await cache.revision()
    await put(cache, "a", "2")
    await cache.commit(MAPS + "b", None, ANY, ACTOR)
    await cache.revision()
    confirmations = store.confirmations
    item = await cache.get(MAPS + "a", before)
    page = await cache.range(MAPS, at=before)
    assert item is not None
    assert item.value == b"1"
    assert [each.key.removeprefix(MAPS) for each in page.items] == ["a", "b"]
    assert store.confirmations == confirmations + 2, "another server could have purged the past"
    assert store.gets == store.ranges == 0


async def test_a_purged_value_is_not_read_though_its_replacement_is_not_reported(
    at_once: None, store: LateStore, cache: StateCache
) -> None:
    before = await put(cache, "a", "secret")
    await cache.revision()
    store.holds_back = True
    await put(cache, "a", "harmless")
    await store.purge(Selection(MAPS + "a"), Purge("admin", 0.0, "leaked"))
    assert cache.current == before
    with pytest.raises(TooLate):
        await cache.get(MAPS + "a", before)


async def test_missed_reports_lose_no_deletion(store: LateStore, cache: StateCache) -> None:
    cache.start()
    await until(lambda: cache.peek(MAPS + "b") is not None)
    store.holds_back = True
    await cache.commit(MAPS + "b", None, ANY, ACTOR)
    last = await put(cache, "c")
    store.miss()
    assert cache.current == last
    any_age = AnyAge(cache)
    assert [item.key.removeprefix(MAPS) for item in (await any_age.range(MAPS)).items] == ["a", "c"]
    assert await value(any_age, "b") is None
    await until(lambda: cache.peek(MAPS + "c") is not None)
    assert cache.peek(MAPS + "b") is None


async def test_an_object_is_not_added_before_the_reports_up_to_its_read(at_once: None, store: LateStore) -> None:
    """A resource that cannot be completed, because reports are late, is read from the store."""
    cache = StateCache(store)
    await put(cache, "a")
    await cache.revision()
    store.holds_back = True
    await put(cache, "b")
    assert len((await cache.range(MAPS)).items) == 2
    assert cache.peek(MAPS + "a") is None
    store.release()
    assert len((await cache.range(MAPS)).items) == 2
    assert cache.peek(MAPS + "b") is not None
    cache.detach()


async def test_the_fill_tries_again_after_an_error(monkeypatch: pytest.MonkeyPatch, store: LateStore) -> None:
    monkeypatch.setattr(state_cache, "_AGAIN", 0.0)
    cache = StateCache(store)
    await put(cache, "a")
    read, failures = store.range, [StoreError("etcd is restarted")] * 3

    async def failing(*arguments: object) -> object:
        if failures:
            raise failures.pop()
        return await read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "range", failing)
    cache.start()
    await until(lambda: cache.peek(MAPS + "a") is not None)
    assert not failures
    cache.detach()


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def listed(server: Server, query: str) -> list[str]:
    response = await server(Request("GET", CONFIG_MAPS, query))
    assert response.status == 200, response.body
    body = response.body
    assert isinstance(body, bytes | list)
    found = json.loads(body if isinstance(body, bytes) else b"".join(body))
    return [item["metadata"]["name"] for item in found["items"] if item["metadata"]["name"] != "kube-root-ca.crt"]


async def created(server: Server, name: str) -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"color": "red"}}}
    response = await server(Request("POST", CONFIG_MAPS, "", {}, json.dumps(tree).encode()))
    assert response.status == 201, response.body


@pytest.mark.parametrize("query", ["labelSelector=color%3Dred", "limit=9", "", "fieldSelector=metadata.name%3Db"])
async def test_a_list_of_a_server_has_every_write_though_memory_and_indexes_are_behind(
    at_once: None, store: LateStore, query: str
) -> None:
    server = Server(cast(Store, store))
    await server.start()
    try:
        await created(server, "a")
        for _ in range(3):  # the second use builds an index
            await listed(server, query)
        store.holds_back = True
        await created(server, "b")
        names = ["b"] if "name" in query else ["a", "b"]
        assert await listed(server, query) == names, "from the store, because reports are too late"
        assert await listed(server, f"{query}&resourceVersion=0") == [name for name in names if name == "a"]
        store.release()
        ranges = store.ranges
        assert await listed(server, query) == names
        assert store.ranges == ranges, "from memory again"
    finally:
        server.close()


async def test_a_watch_of_a_server_begins_with_every_write_after_one_confirmation(
    at_once: None, store: LateStore
) -> None:
    server = Server(cast(Store, store))
    await server.start()
    query = "watch=1&labelSelector=color%3Dred"

    async def begun(expected: int, query: str = query) -> list[str]:
        body = (await server(Request("GET", CONFIG_MAPS, query))).body
        assert not isinstance(body, bytes | list)
        sink = MemorySink()
        watching = asyncio.create_task(body.run(sink))
        await asyncio.wait_for(sink.told(expected), 30)
        sink.close()
        await watching
        return [event["object"]["metadata"]["name"] for event in sink.events]

    try:
        await created(server, "a")
        for _ in range(3):  # the second use builds an index
            assert await begun(1) == ["a"]
        confirmations = store.confirmations
        assert await begun(1) == ["a"]
        assert store.confirmations == confirmations + 1
        assert await begun(1, f"{query}&resourceVersion=0") == ["a"]
        assert store.confirmations == confirmations + 1
        store.holds_back = True
        await created(server, "b")
        assert await begun(2) == ["a", "b"], "from the store, because reports are too late"
        assert await begun(2, f"{query}&resourceVersion=0") == ["a", "b"], "the state in memory, and then the change"
    finally:
        server.close()


async def test_the_end_of_the_cache_ends_waiting_reads(store: LateStore, cache: StateCache) -> None:
    store.gate = asyncio.Event()
    reads = [asyncio.create_task(cache.get(MAPS + "a"))]
    await until(lambda: store.confirmations == 1)
    reads.append(asyncio.create_task(cache.get(MAPS + "a")))
    await asyncio.sleep(0)
    cache.detach()
    for read in reads:
        with pytest.raises(Closed):
            await read


async def test_readers_that_returned_together_are_gathered_for_the_next_read() -> None:
    gate, reads = asyncio.Event(), 0

    async def read() -> int:
        nonlocal reads
        reads += 1
        await gate.wait()
        return reads

    shared = SharedRead(read)
    first = [asyncio.create_task(shared.result()) for _ in range(8)]
    await until(lambda: reads == 1)
    gate.set()
    assert await asyncio.gather(*first) == [1] * 8
    again = []
    for _ in range(8):  # they return one after the other
        again.append(asyncio.create_task(shared.result()))
        await asyncio.sleep(0)
    assert len(set(await asyncio.gather(*again))) == 1


async def test_a_failing_receiver_stops_no_other() -> None:
    async def read() -> int:
        return 7

    def fail(_: int | Exception) -> None:
        raise RuntimeError("a bug of a receiver")

    shared, received = SharedRead(read), asyncio.get_running_loop().create_future()
    shared.next(fail)
    shared.next(received.set_result)
    assert await received == 7


async def test_no_reader_waits_again_while_reports_are_late(caplog: pytest.LogCaptureFixture) -> None:
    revision = 1
    waits = revision_waits.RevisionWaits(lambda: revision, 0.01)
    assert await waits.until(1)
    assert not await waits.until(2)
    waits._seconds = 3600.0
    assert not await waits.until(2), "the reports are known to be late"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    revision = 2
    waits.advanced()
    assert await waits.until(2)
    later = asyncio.create_task(waits.until(3))
    await asyncio.sleep(0)
    assert not later.done(), "the reports are on time again"
    revision = 3
    waits.advanced()
    assert await later
