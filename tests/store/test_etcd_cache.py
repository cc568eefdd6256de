"""The cache above etcd: other replicas, interruptions, compactions, restores and purges."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from grpc import StatusCode

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.store.cached import AnyAge, StateCache
from setpoint.store.contract import ANY, Purge, Retention, Selection, StoreError, TooLate
from setpoint.store.etcd import EtcdConfig, EtcdStore, Unreachable, shared_watch
from setpoint.store.etcd.client import ResponseLost, WatchStream, _failure

from .conftest import START, eventually
from .etcd_server import EtcdServer, Outsider, etcd, require_etcd, shared_etcd

pytestmark = pytest.mark.slow

ACTOR = Actor("tester")
MAPS = "/core/configmaps/"
_roots = count()


@pytest.fixture(autouse=True)
def _etcd_is_here() -> None:
    require_etcd()


class Replicas:
    """A server with a cache, and another server that writes to the same etcd."""

    def __init__(self, store: EtcdStore, other: EtcdStore) -> None:
        self.store, self.other = store, other
        self.cache = StateCache(store)
        self.any_age = AnyAge(self.cache)
        self._connected, self._cut = asyncio.Event(), asyncio.Event()
        self._connected.set()
        client = store._session.client
        self._watch = client.watch
        client.watch = self._connect  # type: ignore[method-assign]

    async def _connect(self, start: bytes, end: bytes, revision: int) -> WatchStream:
        await self._connected.wait()
        stream = await self._watch(start, end, revision)
        read = stream.read

        async def read_until_cut() -> Any:
            reading, cut = asyncio.ensure_future(read()), asyncio.ensure_future(self._cut.wait())
            try:
                await asyncio.wait((reading, cut), return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    return reading.result()
                raise ResponseLost(_failure(StatusCode.UNAVAILABLE, "the test interrupts the watch"))
            finally:
                reading.cancel()
                cut.cancel()

        stream.read = read_until_cut  # type: ignore[method-assign]
        return stream

    def interrupt(self) -> None:
        """Ends the watch of the first server, whose requests still reach etcd."""
        self._connected.clear()
        self._cut.set()

    def resume(self) -> None:
        self._cut.clear()
        self._connected.set()

    async def put(self, name: str, value: str = "1", ttl: float | None = None) -> int:
        return await self.other.commit(MAPS + name, value.encode(), ANY, ACTOR, ttl=ttl)

    async def remove(self, name: str) -> int:
        return await self.other.commit(MAPS + name, None, ANY, ACTOR)

    async def names(self, reads: StateCache | AnyAge) -> list[str]:
        return [item.key.removeprefix(MAPS) for item in (await reads.range(MAPS)).items]


@asynccontextmanager
async def replicas(server: EtcdServer | None = None, **options: Any) -> AsyncIterator[Replicas]:
    """Opens two stores with the same root, with the objects a and b."""
    config = EtcdConfig(((server or shared_etcd()).endpoint,), f"/cache-{next(_roots)}", request_timeout=1, patience=1)
    store, other = await EtcdStore.open(config, **options), await EtcdStore.open(config, **options)
    found = Replicas(store, other)
    try:
        await found.put("a")
        await found.put("b")
        found.cache.start()
        await until(lambda: found.cache.peek(MAPS + "b") is not None)
        yield found
    finally:
        found.cache.detach()
        await store.close()
        await other.close()


async def until(holds: Callable[[], bool]) -> None:
    async def condition() -> bool:
        return holds()

    await eventually(condition, "the condition")


async def test_a_read_sees_every_write_of_another_server() -> None:
    async with replicas() as found:
        for number in range(100):
            revision = await found.put("a", str(number))
            item = await found.cache.get(MAPS + "a")
            assert item is not None
            assert (item.value, item.revision) == (str(number).encode(), revision)


async def test_a_read_during_an_interruption_of_the_watch_comes_from_etcd(monkeypatch: pytest.MonkeyPatch) -> None:
    async with replicas() as found:
        monkeypatch.setattr(found.cache._waits, "_seconds", 0.05)
        found.interrupt()
        await found.remove("a")
        revision = await found.put("c")
        page = await found.cache.range(MAPS)
        assert ([item.key for item in page.items], page.revision) == ([MAPS + "b", MAPS + "c"], revision)
        assert await found.cache.get(MAPS + "a") is None
        assert await found.names(found.any_age) == ["a", "b"], "the state before the interruption"
        found.resume()
        await until(lambda: found.cache.current == revision)
        assert await found.names(found.any_age) == ["b", "c"]


async def test_a_compaction_during_an_interruption_loses_no_deletion() -> None:
    async with replicas() as found:
        found.interrupt()
        await found.remove("a")
        revision = await found.put("c")
        async with Outsider(shared_etcd()) as outsider:
            await outsider.compact()
        before = found.cache.current
        found.resume()
        await until(lambda: found.cache.current >= revision)
        assert found.cache.current > before
        assert await found.names(found.any_age) == ["b", "c"]
        assert await found.names(found.cache) == ["b", "c"]
        await found.put("d")
        assert await found.names(found.cache) == ["b", "c", "d"]


async def test_a_restore_by_another_server_replaces_the_state() -> None:
    async with replicas() as found:
        snapshot = await found.other.snapshot()
        await found.remove("a")
        await found.put("c")
        assert await found.names(found.cache) == ["b", "c"]
        before = found.cache.current
        revision = await found.other.restore(snapshot)
        assert revision > before
        assert await found.names(found.cache) == ["a", "b"]
        assert found.cache.current >= revision
        with pytest.raises(TooLate):
            await found.cache.range(MAPS, at=before)
        await found.put("d")
        assert await found.names(found.cache) == ["a", "b", "d"]


async def test_a_restore_during_an_interruption_replaces_the_state() -> None:
    async with replicas() as found:
        snapshot = await found.other.snapshot()
        await found.put("c")
        found.interrupt()
        revision = await found.other.restore(snapshot)
        assert (await found.store.range(MAPS)).revision == revision, "the first server knows the new epoch"
        found.resume()
        assert await found.names(found.cache) == ["a", "b"]
        await until(lambda: found.cache.peek(MAPS + "b") is not None)
        assert found.cache.peek(MAPS + "c") is None


async def test_a_restore_by_the_same_server_replaces_the_state() -> None:
    async with replicas() as found:
        snapshot = await found.cache.snapshot()
        await found.put("c")
        revision = await found.cache.restore(snapshot)
        assert await found.names(found.cache) == ["a", "b"]
        assert await found.put("d") > revision
        assert await found.names(found.cache) == ["a", "b", "d"]


async def test_a_value_that_another_server_purged_is_not_in_memory() -> None:
    async with replicas() as found:
        before = await found.put("a", "secret")
        await found.put("a", "harmless")
        item = await found.cache.get(MAPS + "a", before)
        assert item is not None
        assert item.value == b"secret"
        found.interrupt()  # the watch does not report the purge
        await found.other.purge(Selection(MAPS + "a"), Purge("admin", START.timestamp(), "leaked"))
        with pytest.raises(TooLate):
            await found.cache.get(MAPS + "a", before)
        found.resume()


async def test_an_expired_object_leaves_the_memory_of_every_server() -> None:
    clock = ManualClock(START)
    async with replicas(clock=clock) as found:
        await found.put("c", ttl=60.0)
        assert await found.names(found.cache) == ["a", "b", "c"]
        clock.advance(61.0)
        await found.other.maintain()
        assert await found.names(found.cache) == ["a", "b"]


async def test_the_state_of_any_age_needs_no_etcd() -> None:
    with etcd() as (server,):
        async with replicas(server) as found:
            server.kill()
            assert await found.names(found.any_age) == ["a", "b"]
            item = await found.any_age.get(MAPS + "a")
            assert item is not None
            with pytest.raises(Unreachable):
                await found.cache.get(MAPS + "a")
            await asyncio.to_thread(server.start)
            for store in (found.store, found.other):
                await store._session.client.quorum.recovered()
            await found.remove("a")
            assert await found.names(found.cache) == ["b"]
            await until(lambda: found.cache.peek(MAPS + "a") is None)


async def test_a_new_cache_does_not_begin_in_the_past() -> None:
    async with replicas() as found:
        found.interrupt()
        config = found.store._session.client.config
        revision = await found.put("c")
        store = await EtcdStore.open(config)
        try:
            cache = StateCache(store)
            assert cache.current < revision, "the watch begins with events of the past"
            assert await AnyAge(cache).revision() == revision
            cache.detach()
        finally:
            await store.close()


async def test_a_recent_revision_comes_from_memory() -> None:
    async with replicas(retention=Retention()) as found:
        before = await found.cache.revision()
        await found.remove("a")
        await found.put("b", "2")
        await found.cache.revision()
        reads: list[object] = []
        found.store.range = found.store.get = lambda *arguments: reads.append(arguments)  # type: ignore[method-assign, assignment]
        page = await found.cache.range(MAPS, limit=1, at=before)
        assert ([item.key for item in page.items], page.remaining) == ([MAPS + "a"], 1)
        item = await found.cache.get(MAPS + "b", before)
        assert item is not None
        assert item.value == b"1"
        assert reads == []


async def test_the_watch_begins_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_watch, "AGAIN", 0.0)
    async with replicas() as found:
        follow, failures = found.store._feed._follow, 0

        async def failing() -> None:
            nonlocal failures
            failures += 1
            if failures < 3:
                raise StoreError("etcd refused the watch")
            await follow()

        monkeypatch.setattr(found.store._feed, "_follow", failing)
        append = found.store._feed._append

        def fail_once(*arguments: Any) -> None:
            monkeypatch.setattr(found.store._feed, "_append", append)
            raise StoreError("the watch failed")

        monkeypatch.setattr(found.store._feed, "_append", fail_once)
        await found.remove("a")
        await until(lambda: found.cache.peek(MAPS + "a") is None)
        assert failures == 3
        assert await found.names(found.cache) == ["b"]
