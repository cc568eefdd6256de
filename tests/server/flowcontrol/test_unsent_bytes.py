"""Clients that do not read: they hold seats, and a bounded number of bytes."""

import asyncio
import socket
import tracemalloc
from typing import Any

import pytest
from tests.server.flowcontrol.crowd import MAPS, Crowd, crowd
from tests.server.flowcontrol.test_over_the_edge import listening
from tests.server.flowcontrol.test_over_the_edge import loop_factory as loop_factory

from setpoint.objects.clock import SystemClock
from setpoint.server.access.flowcontrol.gate import Gate
from setpoint.server.access.flowcontrol.unsent_bytes import Unsent
from setpoint.server.edge.limits import Limits
from setpoint.server.edge.listener import Listener

MIB = 1 << 20
# More than the buffers of the system take.
OBJECT, OBJECTS = 128 << 10, 120


def gate_of(server: Crowd) -> Gate:
    gate = server.server._gate
    assert gate is not None
    return gate


async def fill(server: Crowd) -> None:
    for number in range(OBJECTS):
        body = {"metadata": {"name": f"m{number}"}, "data": {"k": "x" * OBJECT}}
        assert (await server.ask("admin", MAPS, "POST", body)).status == 201


async def asking(host: str, port: int, user: str, path: str = MAPS) -> socket.socket:
    """A connection with a request, whose answer nobody reads yet."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, (host, port))
    await loop.sock_sendall(sock, f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {user}\r\n\r\n".encode())
    return sock


async def read(sock: socket.socket) -> tuple[int, int]:
    """The code of an answer and the bytes of its body."""
    loop, data = asyncio.get_running_loop(), b""
    while b"\r\n\r\n" not in data:
        data += await loop.sock_recv(sock, 4096)
    head, _, rest = data.partition(b"\r\n\r\n")
    length, size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]), len(rest)
    while size < length:
        size += len(await loop.sock_recv(sock, 1 << 20))
    return int(head.split()[1]), size


async def until(condition: Any, seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_seat_is_held_until_the_answer_is_read() -> None:
    async with listening() as (server, host, port):
        await fill(server)
        gate = gate_of(server)
        pool = gate.pools["readOnly"]
        unread, dropped = [await asking(host, port, "noisy") for _ in range(2)]
        await until(lambda: pool.seated == 20 and gate.unsent.of("noisy") > 5 * MIB)
        dropped.close()
        await until(lambda: pool.seated == 10)
        code, size = await read(unread)
        assert (code, size > OBJECT * OBJECTS) == (200, True)
        await until(lambda: pool.seated == 0)
        assert gate.unsent.total == 0
        unread.close()


async def test_the_bytes_of_lists_that_nobody_reads_are_bounded() -> None:
    most, connections = 20 * MIB, 16
    async with listening(max_unsent_bytes_per_user=most) as (server, host, port):
        await fill(server)
        gate = gate_of(server)
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            socks = [await asking(host, port, "noisy") for _ in range(connections)]
            await until(lambda: gate.unsent.of("noisy") > 5 * MIB and not gate.pools["readOnly"].waiting)
            for _ in range(50):
                await asyncio.sleep(0.01)
                assert gate.unsent.of("noisy") <= most
            held = tracemalloc.get_traced_memory()[0] - before
            # All of them would be 16 MiB for each connection.
            assert held < 3 * most, held / MIB
        finally:
            tracemalloc.stop()
        # Another user is answered meanwhile, and each of the others once the ones before it are read.
        quiet = await asking(host, port, "quiet", f"{MAPS}/m0")
        assert (await asyncio.wait_for(read(quiet), 20))[0] == 200
        codes = [code for code, _ in await asyncio.wait_for(asyncio.gather(*map(read, socks)), 60)]
        assert set(codes) == {200}
        assert gate.unsent.total == 0
        for sock in (*socks, quiet):
            sock.close()


async def test_an_answer_that_finds_no_room_for_too_long_is_refused() -> None:
    async with listening(max_unsent_bytes_per_user=8 * MIB, wait_seconds=0.3) as (server, host, port):
        await fill(server)
        gate = gate_of(server)
        unread = await asking(host, port, "noisy")
        await until(lambda: gate.unsent.of("noisy") > 5 * MIB)
        refused = await asking(host, port, "noisy")
        assert (await asyncio.wait_for(read(refused), 30))[0] == 429
        rejected = await server.measure("apiserver_flowcontrol_rejected_requests_total")
        assert sum(number for labels, number in rejected.items() if "unsent-bytes" in labels) == 1
        other = await asking(host, port, "quiet")
        assert (await asyncio.wait_for(read(other), 30))[0] == 200
        for sock in (unread, refused, other):
            sock.close()


async def test_a_client_that_reads_nothing_is_cut_off_and_its_seat_is_free_again() -> None:
    async with crowd() as server:
        await fill(server)
        gate = gate_of(server)
        listener = Listener(server.server, SystemClock(), Limits(stalled_seconds=0.3, sweep_seconds=0.1))
        host, port = await listener.listen("127.0.0.1", 0)
        sock = await asking(host, port, "noisy")
        await until(lambda: gate.pools["readOnly"].seated == 10)
        await until(lambda: gate.pools["readOnly"].seated == 0 and not listener.connections)
        assert gate.unsent.total == 0
        sock.close()
        await listener.close()


@pytest.mark.slow
async def test_the_bytes_of_streams_count_too() -> None:
    async with listening(max_unsent_bytes_per_user=1 * MIB) as (server, host, port):
        await fill(server)
        gate = gate_of(server)
        unread = await asking(host, port, "noisy")
        await until(lambda: gate.unsent.of("noisy") > 5 * MIB)
        ended: list[str] = []
        closed = gate.streams.closed

        def note(user: str) -> None:
            closed(user)
            ended.append(user)

        gate.streams.closed = note  # type: ignore[method-assign]
        watch = await asking(host, port, "noisy", f"{MAPS}?watch=true")
        # It is cut off as soon as it does not read either.
        await until(lambda: ended == ["noisy"])
        await until(lambda: gate.pools["readOnly"].seated == 10)
        for sock in (unread, watch):
            sock.close()


async def test_room_is_given_in_the_order_of_arrival() -> None:
    unsent = Unsent(SystemClock(), 100, 60.0)
    assert await unsent.reserve("a", 500)  # nothing else of the user waits
    order: list[int] = []

    async def reserve(size: int) -> None:
        assert await unsent.reserve("a", size)
        order.append(size)

    tasks = [asyncio.create_task(reserve(size)) for size in (90, 20, 5)]
    await asyncio.sleep(0)
    assert await unsent.reserve("b", 90)
    unsent.add("a", -500)
    await asyncio.sleep(0.01)
    assert order == [90]
    unsent.add("a", -90)
    await asyncio.gather(*tasks)
    assert order == [90, 20, 5]
    assert unsent.of("a") == 25
    unsent.add("a", -25)
    tasks[0].cancel()
    assert unsent.total == 90


async def test_who_stops_waiting_for_room_leaves_it_to_the_next() -> None:
    unsent = Unsent(SystemClock(), 100, 60.0)
    assert await unsent.reserve("a", 80)
    first, second = (asyncio.create_task(unsent.reserve("a", size)) for size in (50, 10))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await asyncio.wait_for(second, 5)
    assert unsent.of("a") == 90
