"""The proxy for UDP, with real sockets."""

import asyncio
import socket
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from tests.workload.proxy.servers import udp_client, udp_proxy, udp_server, until

from setpoint.objects.clock import ManualClock
from setpoint.workload.proxy import udp


async def ask(port: int, data: bytes, client: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    await loop.sock_sendto(client, data, ("127.0.0.1", port))
    async with asyncio.timeout(5):
        return await loop.sock_recv(client, 1 << 17)


@pytest.fixture
def client() -> Iterator[socket.socket]:
    with udp_client() as found:
        yield found


async def test_every_client_has_its_own_backend_and_keeps_it(client: socket.socket) -> None:
    async with udp_server("a") as a, udp_server("b") as b, udp_proxy([a, b]) as (proxy, port):
        assert [await ask(port, b"x", client) for _ in range(3)] == [b"a:x"] * 3
        with udp_client() as second:
            assert [await ask(port, b"y", second) for _ in range(3)] == [b"b:y"] * 3
        assert proxy.counters.connections == 2


async def test_the_largest_datagrams_pass_whole(client: socket.socket) -> None:
    async with udp_server("a") as a, udp_proxy([a]) as (_, port):
        data = bytes(range(256)) * 250
        assert await ask(port, data, client) == b"a:" + data


async def test_what_comes_before_there_is_a_backend_waits_for_it(client: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    async with udp_server("late") as late, udp_proxy() as (proxy, port):
        for number in range(udp.MOST_WAITING + 5):
            await loop.sock_sendto(client, b"%d" % number, ("127.0.0.1", port))
        await until(lambda: proxy.counters.bytes_in == 40)
        assert proxy.counters.parked == 1
        proxy.set_backends([late])
        heard = [await loop.sock_recv(client, 100) for _ in range(udp.MOST_WAITING)]
        assert heard == [b"late:%d" % number for number in range(5, udp.MOST_WAITING + 5)]
        assert proxy.counters.parked == 0


async def test_a_client_gets_another_backend_when_its_own_goes(client: socket.socket) -> None:
    async with udp_server("a") as a, udp_server("b") as b, udp_proxy([a]) as (proxy, port):
        assert await ask(port, b"x", client) == b"a:x"
        proxy.set_backends([b])
        assert await ask(port, b"x", client) == b"b:x"
        assert proxy.counters.by_backend == {"b": 1}


async def test_who_is_not_heard_of_is_forgotten(client: socket.socket) -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with udp_server("a") as a, udp_proxy([a], clock=clock) as (proxy, port):
        await ask(port, b"x", client)
        assert proxy.counters.active == 1
        for _ in range(8):
            await asyncio.sleep(0)
            clock.advance(udp.IDLE_SECONDS / 4)
        await until(lambda: proxy.counters.active == 0)
        assert proxy.counters.by_backend == {}


async def test_that_nobody_is_there_is_no_end(client: socket.socket) -> None:
    async with udp_server("a") as a:
        pass
    async with udp_server("b") as b, udp_proxy([a]) as (proxy, port):
        await asyncio.get_running_loop().sock_sendto(client, b"lost", ("127.0.0.1", port))
        await until(lambda: proxy.counters.failed == 1)
        proxy.set_backends([b])
        assert await ask(port, b"x", client) == b"b:x"
