"""The cache of the state: reads come from memory, and never go back in time. The contract suite runs on it as well."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.store.conftest import eventually

from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import Timeout
from setpoint.objects.provenance import Actor
from setpoint.server.watch import freshness
from setpoint.store.cached import StateCache, disposal, state_cache
from setpoint.store.cached.past import Past
from setpoint.store.contract import ABSENT, ANY, Closed, Event, NotHeld, Page, Retention, TooLate
from setpoint.store.sqlite import SqliteStore
from setpoint.store.sqlite.reader import Reader
from setpoint.store.sqlite.writer import Published

ACTOR = Actor("tester")
MAPS = "/core/configmaps/"


class CountingStore(SqliteStore):
    """Counts its reads, and holds its reports back while a test wants that."""

    ranges = 0
    gets = 0
    # Called before a range returns.
    between: Callable[[], Any] | None = None
    held: list[Published] | None = None

    async def get(self, key: str, at: int | None = None) -> Any:
        self.gets += 1
        return await super().get(key, at)

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        self.ranges += 1
        page = await super().range(prefix, after, limit, at)
        if self.between is not None:
            await self.between()
        return page

    async def uncounted(self, prefix: str, after: str, limit: int, at: int | None = None) -> Page:
        self.ranges += 1
        page = await super().uncounted(prefix, after, limit, at)
        if self.between is not None:
            await self.between()
        return page

    def _published(self, published: Published) -> None:
        if self.held is None:
            super()._published(published)
        else:
            self.held.append(published)

    def release(self) -> None:
        held, self.held = self.held or [], None
        for published in held:
            self._published(published)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[CountingStore]:
    store = await CountingStore.open(tmp_path / "store.db", retention=Retention(), durability="off")
    yield store
    await store.close()


@pytest.fixture
async def cache(store: CountingStore) -> AsyncIterator[StateCache]:
    cache = StateCache(store)
    yield cache
    cache.detach()


async def put(store: StateCache | SqliteStore, name: str, value: str = "1") -> int:
    return await store.commit(MAPS + name, value.encode(), ANY, ACTOR)


async def names(cache: StateCache, **options: Any) -> list[str]:
    return [item.key.removeprefix(MAPS) for item in (await cache.range(MAPS, **options)).items]


async def test_reads_that_start_together_share_one_read_of_the_store(store: CountingStore, cache: StateCache) -> None:
    for number in range(3):
        await put(store, f"{number}")
    found = await asyncio.gather(*(names(cache) for _ in range(100)))
    assert found == [["0", "1", "2"]] * 100
    assert store.ranges == 1


async def test_a_held_resource_is_not_read_again(store: CountingStore, cache: StateCache) -> None:
    await cache.holds(MAPS)
    first = await put(cache, "a")
    await put(cache, "a", "2")
    await put(cache, "b")
    store.ranges = 0
    assert await names(cache) == ["a", "b"]
    assert await names(cache, limit=1) == ["a"]
    assert await names(cache, at=first) == ["a"]
    assert [(await cache.get(MAPS + "a", at)).value for at in (None, first)] == [b"2", b"1"]  # type: ignore[union-attr]
    assert await cache.get(MAPS + "b", first) is None
    assert await cache.count(MAPS, first) == 1
    assert (store.ranges, store.gets) == (0, 0)


async def test_a_deleted_object_is_in_the_past_until_compaction(cache: StateCache) -> None:
    await cache.holds(MAPS)
    there = await put(cache, "a")
    gone = await cache.commit(MAPS + "a", None, ANY, ACTOR)
    assert await names(cache) == []
    page = await cache.range(MAPS, at=there)
    assert [(item.key, item.revision, item.created) for item in page.items] == [(MAPS + "a", there, there)]
    await cache.compact(gone)
    with pytest.raises(TooLate):
        await cache.range(MAPS, at=there)


async def test_a_read_of_the_store_waits_until_the_cache_has_reached_its_revision(
    store: CountingStore, cache: StateCache
) -> None:
    store.held = []
    writing = asyncio.create_task(put(cache, "a"))
    await eventually(lambda: _is(bool(store.held)), "the write is in the file")
    # The resource is not in memory: all of these read the file, which is one revision ahead of the cache.
    reading = [
        asyncio.create_task(read)
        for read in (cache.get(MAPS + "a"), cache.range(MAPS, "", 1), cache.range(MAPS), cache.log(), cache.count(MAPS))
    ]
    await asyncio.sleep(0.05)
    assert await cache.revision() == 0
    assert not any(task.done() for task in (writing, *reading))
    store.release()
    assert await writing == 1
    await asyncio.gather(*reading)
    assert await cache.revision() == 1


async def _is(condition: bool) -> bool:
    return condition


async def test_a_deletion_while_the_objects_are_read_is_kept(store: CountingStore, cache: StateCache) -> None:
    await put(store, "a")
    await put(store, "b")

    async def delete() -> None:
        store.between = None
        await store.commit(MAPS + "a", None, ANY, ACTOR)
        await put(store, "b", "2")
        await put(store, "c")

    store.between = delete
    assert await cache.holds(MAPS)
    assert [(item.key, item.value) for item in cache.scan(MAPS, "", 0, None)] == [
        (MAPS + "b", b"2"),
        (MAPS + "c", b"1"),
    ]


async def test_a_write_whose_caller_was_cancelled_enters_the_cache(store: CountingStore, cache: StateCache) -> None:
    await cache.holds(MAPS)
    writing = asyncio.create_task(put(cache, "a"))
    await asyncio.sleep(0)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    await put(cache, "b")
    assert await names(cache) == ["a", "b"]


async def test_objects_beyond_the_limit_are_read_from_the_store(store: CountingStore) -> None:
    cache = StateCache(store, limit=5000)
    for number in range(10):
        await put(cache, f"{number}", "x" * 1000)
    assert not await cache.holds(MAPS)
    assert (await names(cache), cache.size) == ([str(number) for number in range(10)], 0)
    for number in range(8):
        await cache.commit(f"{MAPS}{number}", None, ANY, ACTOR)
    assert await cache.holds("/core/secrets/")
    await cache.commit("/core/secrets/a", b"x" * 6000, ABSENT, ACTOR)
    assert not await cache.holds("/core/secrets/")
    assert (await cache.get("/core/secrets/a")) is not None
    cache.detach()


async def test_a_resource_returns_to_memory_when_it_fits_again(store: CountingStore) -> None:
    cache = StateCache(store, limit=8000)
    for number in range(10):
        await put(cache, f"{number}", "x" * 1000)
    assert not await cache.holds(MAPS)
    assert await cache.holds("/core/secrets/")
    for number in range(5):
        assert not await cache.holds(MAPS), "an eighth of the limit has to be free"
        await cache.commit(f"{MAPS}{number}", None, ANY, ACTOR)
    assert await cache.holds(MAPS)
    assert len(cache.scan(MAPS, "", 0, None)) == 5
    cache.detach()


async def test_a_large_resource_does_not_displace_small_ones(store: CountingStore) -> None:
    cache = StateCache(store, limit=8000)
    for number in range(4):
        await put(cache, f"{number}", "x" * 1000)
    assert await cache.holds(MAPS)
    assert await cache.holds("/core/secrets/")
    for number in range(6):
        await cache.commit(f"/core/secrets/{number}", b"x" * 300, ABSENT, ACTOR)
    assert await cache.holds("/core/secrets/")
    assert not await cache.holds(MAPS)
    cache.detach()


async def test_dropped_objects_are_freed_in_slices(store: CountingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disposal, "_SLICE", 10)
    cache = StateCache(store)
    for number in range(25):
        await put(cache, f"{number:02d}")
    await cache.holds(MAPS)
    waiting = cache._disposal._waiting
    await cache.restore(await cache.snapshot())
    sizes = []
    while waiting:
        sizes.append(len(waiting[0]))
        await asyncio.sleep(0)
    assert sizes in ([25, 15, 5], [15, 5]), "ten objects are freed in each turn"
    cache.detach()


async def test_a_client_waits_only_some_time_for_a_revision(
    store: CountingStore, cache: StateCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_cache, "_PATIENCE", 0.01)
    revision = await put(cache, "a")
    with pytest.raises(Timeout, match=f"Too large resource version: {revision + 1}, current: {revision}"):
        await freshness.wait_for(cache, SystemClock(), revision + 1)
    monkeypatch.setattr(state_cache, "_PATIENCE", 60)
    waiting = asyncio.create_task(freshness.wait_for(cache, SystemClock(), revision + 1))
    await asyncio.sleep(0)
    assert await put(cache, "b") == await waiting


async def test_cancelled_waits_are_forgotten(cache: StateCache) -> None:
    for _ in range(100):
        waits = [asyncio.create_task(cache.reach(1000 + number)) for number in range(5)]
        await asyncio.sleep(0)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    assert len(cache._waits._waiting) <= 1


async def test_events_since_a_revision_are_undone_once_for_all_its_reads(
    cache: StateCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone = 0
    undo = Past.undo

    def counted(self: Past, events: Iterable[Event], prefix: str) -> bool:
        nonlocal undone
        taken = list(events)
        undone += len(taken)
        return undo(self, taken, prefix)

    monkeypatch.setattr(Past, "undo", counted)
    await cache.holds(MAPS)
    for number in range(20):
        at = await put(cache, f"{number:02d}")
    for number in range(30):
        await put(cache, f"{number % 20:02d}", "changed")
    for number in range(20):
        item = await cache.get(f"{MAPS}{number:02d}", at)
        assert item is not None
        assert item.value == b"1"
    assert await names(cache, at=at, limit=3) == ["00", "01", "02"]
    assert await cache.count(MAPS, at) == 20
    assert undone == 20, "writes without a change have no event"
    await put(cache, "a")
    assert await cache.get(MAPS + "a", at) is None
    assert undone == 21


async def test_a_filled_cache_knows_the_resources_without_objects(store: CountingStore, cache: StateCache) -> None:
    await put(store, "a")

    async def create() -> None:
        """Creates an object of a resource that the cache has passed already."""
        store.between = None
        await store.commit("/apps/deployments/a", b"1", ANY, ACTOR)

    async def is_filled() -> bool:
        return cache.is_filled

    store.between = create
    cache.start()
    await eventually(is_filled, "the cache is filled")
    store.ranges = 0
    assert [item.key for item in (await cache.range("/apps/deployments/")).items] == ["/apps/deployments/a"]
    assert (await cache.range("/batch/jobs/")).items == []
    assert await cache.get("/batch/jobs/a") is None
    await cache.commit("/batch/jobs/a", b"1", ABSENT, ACTOR)
    assert await cache.count("/batch/jobs/") == 1
    assert store.ranges == 0


async def test_a_restored_state_replaces_the_cached_one(store: CountingStore, cache: StateCache) -> None:
    await put(store, "a")
    cache.start()
    assert await names(cache) == ["a"]
    snapshot = await cache.snapshot()
    await put(cache, "b")
    await cache.restore(snapshot)
    assert await names(cache) == ["a"]
    assert cache.peek(MAPS + "b") is None
    await put(cache, "c")
    assert await names(cache) == ["a", "c"]


async def test_a_closed_store_is_not_read_from_memory(store: CountingStore, cache: StateCache) -> None:
    await put(store, "a")
    assert await names(cache) == ["a"]
    await cache.close()
    for read in (cache.get(MAPS + "a"), cache.range(MAPS), cache.revision(), cache.count(MAPS)):
        with pytest.raises(Closed):
            await read


@pytest.mark.parametrize("prefix", ["", "/", "/co", "/core", "/core/", "/core/config"])
async def test_a_prefix_of_several_resources_has_the_objects_of_all(
    store: CountingStore, cache: StateCache, prefix: str
) -> None:
    await put(store, "a")
    cache.start()
    await eventually(lambda: _is(_is_full(cache)), "the cache is full")
    assert [item.key for item in (await cache.range(prefix)).items] == [MAPS + "a"]
    assert await cache.count(prefix) == 1


def _is_full(cache: StateCache) -> bool:
    """Returns True if the cache knows that a resource has no objects."""
    try:
        return not cache.scan("/core/secrets/", "", 0, None)
    except NotHeld:
        return False


async def test_the_objects_of_a_resource_are_counted_once_while_they_are_read(
    store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = 0
    count = Reader._count

    def counted(reader: Reader, prefix: str, after: str, at: int | None) -> int:
        nonlocal counts
        counts += 1
        return count(reader, prefix, after, at)

    monkeypatch.setattr(Reader, "_count", counted)
    monkeypatch.setattr(state_cache, "_CHUNK", 5)
    for number in range(30):
        await store.commit(f"{MAPS}{number:02d}", b"1", ANY, ACTOR)
    cache = StateCache(store)
    assert not cache.is_filled
    cache.start()

    async def is_filled() -> bool:
        return cache.is_filled

    await eventually(is_filled, "the cache is filled")
    assert counts == 1
    assert len((await cache.range(MAPS)).items) == 30
    cache.detach()
