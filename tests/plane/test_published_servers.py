"""The `kubernetes` Endpoints of servers that share an etcd: those whose Leases are renewed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import count
from urllib.parse import urlsplit

import pytest
from tests.store.etcd_server import require_etcd, shared_etcd

from setpoint.objects.clock import ManualClock
from setpoint.plane import ControlPlane
from setpoint.server.bootstrap.server_leases import ADDRESS, LABELS

START = datetime(2026, 1, 1, tzinfo=UTC)
SLICE = "discovery.k8s.io/v1/EndpointSlice"
_roots = count()


class Servers:
    """Servers at one port of several addresses. One whose clock stands is paused, or dead."""

    def __init__(self, stack: AsyncExitStack) -> None:
        require_etcd()
        self._store = f"etcd:http://{shared_etcd().endpoint}/published-{next(_roots)}"
        self._stack = stack
        self._port = 0

    async def start(self, address: str, stack: AsyncExitStack | None = None) -> tuple[ControlPlane, ManualClock]:
        clock = ManualClock(START)
        made = ControlPlane(self._store, clock=clock, system=False)
        plane = await (stack or self._stack).enter_async_context(made)
        await plane.listen(address, self._port)
        self._port = urlsplit(plane.url).port or 0
        return plane, clock


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        yield Servers(stack)


async def published(plane: ControlPlane) -> list[str]:
    async with plane.client() as client:
        [subset] = (await client.get("v1/Endpoints", "kubernetes", "default"))["subsets"]
        found = (await client.get(SLICE, "kubernetes", "default"))["endpoints"]
    addresses = [each["ip"] for each in subset["addresses"]]
    assert [each for one in found for each in one["addresses"]] == addresses
    return addresses


async def leases(plane: ControlPlane) -> list[str]:
    async with plane.client() as client:
        found = await client.list("coordination.k8s.io/v1/Lease", "kube-system", labels=LABELS)
        return sorted(each["metadata"]["annotations"][ADDRESS].split()[0] for each in found.items)


async def advance(plane: ControlPlane, clock: ManualClock, seconds: int) -> None:
    """Advances the clock second by second; each renewal that is due ends before the next second."""
    for _ in range(seconds):
        clock.advance(1)
        revision = -1
        while revision != (revision := await plane.services.store.revision()):
            await asyncio.sleep(0.01)


async def test_a_dead_server_is_withdrawn_and_returns_when_it_lives(servers: Servers) -> None:
    (dead, pause), (alive, clock) = await servers.start("127.0.0.1"), await servers.start("127.0.0.2")
    assert await published(alive) == ["127.0.0.1", "127.0.0.2"] == await leases(alive)
    await advance(alive, clock, 12)
    assert await published(alive) == ["127.0.0.1", "127.0.0.2"]
    await advance(alive, clock, 13)
    assert await published(alive) == ["127.0.0.2"] == await leases(alive)
    await advance(dead, pause, 6)
    assert await published(alive) == ["127.0.0.1", "127.0.0.2"] == await leases(alive)


async def test_servers_that_renew_stay(servers: Servers) -> None:
    (first, one), (second, other) = await servers.start("127.0.0.1"), await servers.start("127.0.0.2")
    for _ in range(10):
        await advance(first, one, 5)
        await advance(second, other, 5)
        assert await published(first) == ["127.0.0.1", "127.0.0.2"]


async def test_a_server_that_stops_is_withdrawn_at_once(servers: Servers) -> None:
    alive, _ = await servers.start("127.0.0.1")
    async with AsyncExitStack() as stack:
        await servers.start("127.0.0.2", stack)
        assert await published(alive) == ["127.0.0.1", "127.0.0.2"]
    assert await published(alive) == ["127.0.0.1"] == await leases(alive)


async def test_a_server_that_was_paused_judges_nobody_at_once(servers: Servers) -> None:
    (_, _), (paused, clock) = await servers.start("127.0.0.1"), await servers.start("127.0.0.2")
    await advance(paused, clock, 6)
    clock.advance(3600)
    await advance(paused, clock, 6)
    assert await published(paused) == ["127.0.0.1", "127.0.0.2"]
