"""A purge of a store in etcd removes the values from the database of every member, and from every replica's memory."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, Purge, Selection, StoreError
from setpoint.store.etcd import EtcdConfig, EtcdStore

from .conftest import START
from .etcd_server import EtcdServer, etcd, require_etcd

# Starts etcd.
pytestmark = pytest.mark.slow

ALICE = Actor("alice")
PURGE = Purge("root", START.timestamp(), "leaked")
VALUE = b"hunter2-hunter2-hunter2" * 40


@pytest.fixture(autouse=True)
def _needs_etcd() -> None:
    require_etcd()


def database(server: EtcdServer) -> bytes:
    """The database of a member. Its raft log, which holds past proposals, is etcd's own to rotate."""
    return Path(server.log.parent, server.log.stem, "member", "snap", "db").read_bytes()


async def eventually(holds: Callable[[], bool], what: str) -> None:
    for _ in range(400):
        if holds():
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"never happened: {what}")


@pytest.mark.parametrize("known", [3, 1], ids=["all endpoints", "one endpoint"])
async def test_the_database_of_every_member_is_rid_of_the_value(known: int) -> None:
    with etcd(members=3) as servers:
        config = EtcdConfig(tuple(server.endpoint for server in servers[:known]), root="/purge")
        store = await EtcdStore.open(config)
        await store.commit("a", VALUE, ANY, ALICE)
        await store.commit("a", b"2", ANY, ALICE)
        await store.commit("b", b"1", ANY, ALICE)
        await eventually(lambda: all(VALUE in database(server) for server in servers), "the value is on every disk")
        page = await store.purge(Selection("a"), PURGE)
        assert list(page.removed) == [("a", 1)]
        await store.scrub()
        assert [VALUE in database(server) for server in servers] == [False, False, False]
        item = await store.get("a")
        assert item is not None
        assert item.value == b"2"
        await store.close()


async def test_a_member_that_cannot_be_reached_is_named() -> None:
    with etcd(members=3) as servers:
        store = await EtcdStore.open(EtcdConfig(tuple(server.endpoint for server in servers), root="/purge"))
        await store.commit("a", VALUE, ANY, ALICE)
        await store.commit("a", None, ANY, ALICE)
        await store.purge(Selection("a"), PURGE)
        servers[2].kill()
        with pytest.raises(StoreError, match=rf"the etcd member {servers[2].endpoint} was not defragmented"):
            await store.scrub()
        await store.close()


async def test_the_memory_of_another_replica_is_rid_of_the_value() -> None:
    with etcd() as [server]:
        config = EtcdConfig((server.endpoint,), root="/purge")
        store, other = await EtcdStore.open(config), await EtcdStore.open(config)
        watch = other.watch("", 0)
        await store.commit("a", VALUE, ANY, ALICE)
        last = await store.commit("a", b"2", ANY, ALICE)
        while (await asyncio.wait_for(watch.next(), 30))[-1].entry.revision < last:
            pass
        assert any(event.entry.value == VALUE for event in other._feed._events)
        await store.purge(Selection("a"), PURGE)
        await eventually(lambda: not other._feed._events, "the replica drops what was purged")
        later = await store.commit("a", b"3", ANY, ALICE)
        [event] = await asyncio.wait_for(watch.next(), 30)
        assert (event.entry.revision, event.entry.value) == (later, b"3")
        await store.close()
        await other.close()
