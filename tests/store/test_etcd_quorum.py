"""The store in etcd without a quorum: operations fail soon, and the outcome of each write is stated or found out."""

import asyncio
import logging
from collections.abc import AsyncIterator
from itertools import count

import pytest
from aetcd.rpc import rpc_pb2 as pb

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, OutcomeUnknown, Unreachable
from setpoint.store.etcd import EtcdConfig, EtcdStore

from .conftest import eventually
from .etcd_proxy import Proxy
from .etcd_server import EtcdServer, etcd, require_etcd, shared_etcd

pytestmark = pytest.mark.slow

ALICE = Actor("alice")
# Less than the time after which gRPC itself notices a silent peer.
SOON = 10.0
_roots = count()


@pytest.fixture(autouse=True)
def _etcd_is_here() -> None:
    require_etcd()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with Proxy(shared_etcd()) as proxy:
        yield proxy


@pytest.fixture
async def store(proxy: Proxy) -> AsyncIterator[EtcdStore]:
    """Provides a store with the default limits, and with a patience that only the knowledge of the quorum cuts off."""
    opened = await open_store(proxy.endpoint)
    yield opened
    await opened.close()


async def open_store(*endpoints: str) -> EtcdStore:
    return await EtcdStore.open(EtcdConfig(endpoints, f"/quorum-{next(_roots)}", patience=600, request_timeout=300))


async def test_read_fails_when_no_member_answers(store: EtcdStore, proxy: Proxy) -> None:
    await store.commit("a", b"1", ABSENT, ALICE)
    proxy.hold_requests()
    for read in (store.get("a"), store.range(""), store.confirmed(), store.revision()):
        with pytest.raises(Unreachable):
            await asyncio.wait_for(read, SOON)


async def test_sent_write_fails_with_unknown_outcome_and_later_ones_are_not_sent(
    store: EtcdStore, proxy: Proxy
) -> None:
    revision = await store.commit("a", b"1", ABSENT, ALICE)
    proxy.swallow_answers()
    with pytest.raises(OutcomeUnknown):
        await asyncio.wait_for(store.commit("a", b"2", revision, ALICE), SOON)
    with pytest.raises(Unreachable):
        await asyncio.wait_for(store.commit("b", b"1", ABSENT, ALICE), SOON)


@pytest.mark.parametrize("arrives", [True, False])
async def test_write_in_doubt_is_found_out_after_the_outage(
    store: EtcdStore, proxy: Proxy, caplog: pytest.LogCaptureFixture, arrives: bool
) -> None:
    caplog.set_level(logging.INFO, "setpoint.store")
    revision = await store.commit("a", b"1", ABSENT, ALICE)
    proxy.swallow_answers() if arrives else proxy.hold_requests()
    with pytest.raises(OutcomeUnknown):
        await asyncio.wait_for(store.commit("a", b"2", revision, ALICE), SOON)
    proxy.cut() if arrives else proxy.drop()
    proxy.release()
    outcome = "a write whose outcome was unknown " + ("was made at revision" if arrives else "was not made")

    async def is_found_out() -> bool:
        return any(outcome in each for each in caplog.messages)

    await eventually(is_found_out, outcome)
    item = await store.get("a")
    assert item is not None
    assert item.value == (b"2" if arrives else b"1")
    await store.commit("a", b"3", item.revision, ALICE)


async def test_operations_continue_after_the_outage(store: EtcdStore, proxy: Proxy) -> None:
    await store.commit("a", b"1", ABSENT, ALICE)
    watch = store.watch("")
    waiting = asyncio.create_task(watch.next())
    proxy.hold_requests()
    with pytest.raises(Unreachable):
        await asyncio.wait_for(store.get("a"), SOON)
    proxy.release()
    await asyncio.wait_for(store._session.client.quorum.recovered(), SOON)
    await store.commit("b", b"1", ABSENT, ALICE)
    (event,) = await asyncio.wait_for(waiting, SOON)
    assert event.entry.key == "b"


async def test_slow_call_goes_on_while_its_member_answers_reads(
    store: EtcdStore, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, checks = store._session.client, 0

    async def answer(*_: object) -> bool:
        nonlocal checks
        checks += 1
        return True

    monkeypatch.setattr(client, "_probe", answer)
    proxy.hold_requests()
    reading = asyncio.create_task(client.txn(pb.TxnRequest(), once=True))
    while checks < 3:
        await asyncio.sleep(0.01)
    assert not reading.done()
    assert not client.quorum.is_lost
    proxy.release()
    await asyncio.wait_for(reading, SOON)


async def test_calls_of_a_silent_member_go_to_the_others(proxy: Proxy) -> None:
    async with Proxy(shared_etcd()) as silent:
        both = await open_store(silent.endpoint, proxy.endpoint)
        revision = await both.commit("a", b"1", ABSENT, ALICE)
        silent.hold_requests()
        written = await asyncio.wait_for(both.commit("a", b"2", revision, ALICE), SOON)
        item = await asyncio.wait_for(both.get("a"), SOON)
        assert item is not None
        assert (item.value, item.revision) == (b"2", written)
        assert not both._session.client.quorum.is_lost
        await both.close()


async def test_events_of_a_silent_member_come_from_the_others(proxy: Proxy) -> None:
    async with Proxy(shared_etcd()) as silent:
        both = await open_store(silent.endpoint, proxy.endpoint)
        watch = both.watch("")
        revision = await both.commit("a", b"1", ABSENT, ALICE)
        assert [each.entry.revision for each in await asyncio.wait_for(watch.next(), SOON)] == [revision]
        both._session.client._current = 1  # calls go to the other member already
        silent.swallow_answers()
        second = await both.commit("a", b"2", revision, ALICE)
        assert await both.confirmed() == second
        assert [each.entry.revision for each in await asyncio.wait_for(watch.next(), SOON)] == [second]
        await both.close()


async def test_members_without_a_majority_are_no_quorum() -> None:
    with etcd(members=3) as servers:
        store = await open_store(*(server.endpoint for server in servers))
        try:
            revision = await store.commit("a", b"1", ABSENT, ALICE)
            for server in servers[:2]:
                server.kill()
            await wait_lost(store)
            for operation in (store.get("a"), store.commit("a", b"2", revision, ALICE)):
                with pytest.raises(Unreachable):
                    await asyncio.wait_for(operation, SOON)
            await asyncio.to_thread(restart, servers[0])
            await asyncio.wait_for(store._session.client.quorum.recovered(), SOON)
            assert await store.commit("a", b"3", revision, ALICE) > revision
        finally:
            await store.close()


async def wait_lost(store: EtcdStore) -> None:
    """Reads until the store knows that there is no quorum."""
    while not store._session.client.quorum.is_lost:
        try:
            await asyncio.wait_for(store.get("a"), SOON)
        except Unreachable:
            continue


def restart(server: EtcdServer) -> None:
    server.start()


async def test_store_waits_for_a_cluster_that_starts(proxy: Proxy) -> None:
    proxy.hold_requests()
    opening = asyncio.create_task(open_store(proxy.endpoint))
    await asyncio.sleep(0)
    proxy.release()
    store = await asyncio.wait_for(opening, SOON)
    await store.close()
