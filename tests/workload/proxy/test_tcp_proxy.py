"""The proxy for TCP, with real sockets."""

import asyncio
import socket
from collections import Counter
from datetime import UTC, datetime

import pytest
from tests.workload.proxy.servers import server, tcp_proxy, until, whom

from setpoint.objects.clock import ManualClock
from setpoint.workload.proxy import tcp
from setpoint.workload.proxy.balance import Backend, Balancing


async def test_connections_go_round() -> None:
    async with server("a") as a, server("b") as b, server("c") as c, tcp_proxy([a, b, c]) as (_, port):
        assert [await whom(port) for _ in range(6)] == ["a", "b", "c", "a", "b", "c"]


async def test_those_that_are_not_well_get_nothing_while_others_are() -> None:
    async with server("a", healthy=False) as a, server("b") as b, tcp_proxy([a, b]) as (proxy, port):
        assert {await whom(port) for _ in range(4)} == {"b"}
        proxy.set_backends([a])
        assert await whom(port) == "a"  # a probe may be wrong, and nobody is served by refusing


async def test_the_one_with_the_fewest_connections_is_chosen() -> None:
    async with server("a") as a, server("b") as b, tcp_proxy([a, b], Balancing.LEAST_CONNECTIONS) as (proxy, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        busy = (await reader.readline()).decode().strip()
        for _ in range(3):
            assert await whom(port) != busy
            await until(lambda: sum(proxy.counters.by_backend.values()) == 1)
        writer.close()


async def test_a_client_keeps_its_backend() -> None:
    async with (
        server("a") as a,
        server("b") as b,
        server("c") as c,
        tcp_proxy([], Balancing.CLIENT_IP) as (proxy, port),
    ):
        proxy.set_backends([a, b, c])
        first = await whom(port)
        assert {await whom(port) for _ in range(5)} == {first}
        proxy.set_backends(sorted((a, b, c), key=lambda each: each.name == first)[1:])
        assert await whom(port) == first


async def test_what_was_said_before_there_was_a_backend_arrives_in_order() -> None:
    async with tcp_proxy() as (proxy, port), server("late", greets=False) as late:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for word in (b"one ", b"two ", b"three"):
            writer.write(word)
            await writer.drain()
        writer.write_eof()
        await until(lambda: proxy.counters.parked == 1 and proxy.counters.bytes_in == 13)
        proxy.set_backends([late])
        assert await reader.read() == b"ONE TWO THREEbye\n"
        assert proxy.counters.parked == 0
        writer.close()


async def test_the_oldest_of_too_many_that_wait_gives_way() -> None:
    async with tcp_proxy() as (proxy, port):
        clients = []
        for number in range(tcp.MOST_PARKED + 2):
            clients.append(await asyncio.open_connection("127.0.0.1", port))
            await until(lambda number=number: proxy.counters.connections == number + 1)
            await asyncio.sleep(0)
        await until(lambda: proxy.counters.failed == 2)
        for reader, _ in clients[:2]:
            with pytest.raises(ConnectionResetError):
                await reader.read()
        assert proxy.counters.parked == tcp.MOST_PARKED
        for _, writer in clients:
            writer.close()


async def test_who_says_more_than_may_wait_has_to_wait_and_loses_nothing() -> None:
    sent = bytes(range(256)) * (16 * tcp.PARKED_BYTES // 256)
    async with tcp_proxy() as (proxy, port), server("late", greets=False) as late:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async def say() -> None:
            writer.write(sent)
            await writer.drain()
            writer.write_eof()

        saying = asyncio.ensure_future(say())
        await until(lambda: proxy.counters.bytes_in >= tcp.PARKED_BYTES)
        await asyncio.sleep(0.05)
        assert proxy.counters.bytes_in < 8 * tcp.PARKED_BYTES
        proxy.set_backends([late])
        assert await reader.read() == sent.upper() + b"bye\n"
        await saying
        writer.close()


async def test_either_side_may_end_its_half_and_hear_the_rest() -> None:
    async with server("a") as a, tcp_proxy([a]) as (proxy, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"last words")
        writer.write_eof()
        assert await reader.read() == b"a\nLAST WORDSbye\n"
        writer.close()
        await until(lambda: proxy.counters.active == 0 and not proxy.counters.by_backend)


async def test_another_backend_is_asked_where_one_cannot_be_reached() -> None:
    async with server("gone") as gone:
        pass
    async with server("b") as b, tcp_proxy([gone, b]) as (_, port):
        assert Counter([await whom(port) for _ in range(6)]) == {"b": 6}


async def test_a_backend_that_comes_up_late_is_waited_for() -> None:
    async with server("soon", greets=False) as soon:
        pass
    async with tcp_proxy([soon]) as (proxy, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello")
        writer.write_eof()
        await until(lambda: proxy.counters.parked == 1)

        async def serve(there: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
            back.write(await there.read())
            back.close()

        up = await asyncio.start_server(serve, "127.0.0.1", soon.port)
        assert await reader.read() == b"hello"
        writer.close()
        up.close()


async def test_a_backend_that_is_taken_away_keeps_its_connections_for_a_while() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with server("a") as a, server("b") as b, tcp_proxy([a], clock=clock, drain=30) as (proxy, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.readline() == b"a\n"
        proxy.set_backends([b])
        assert await whom(port) == "b"
        writer.write(b"still here\n")
        assert await reader.readline() == b"STILL HERE\n"
        await asyncio.sleep(0)
        clock.advance(30)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


async def test_a_backend_that_breaks_off_does_not_look_like_a_good_end() -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"half of it")
        await writer.drain()
        writer.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER: a reset, not an end
        writer.transport.abort()

    broken = await asyncio.start_server(cut, "127.0.0.1", 0)
    backend = Backend("127.0.0.1", broken.sockets[0].getsockname()[1], "broken")
    async with tcp_proxy([backend]) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
    broken.close()


async def test_a_slow_reader_does_not_fill_the_memory() -> None:
    total = 64 << 20

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(total >> 20):
            writer.write(bytes(1 << 20))
            await writer.drain()
        writer.close()

    source = await asyncio.start_server(pour, "127.0.0.1", 0)
    backend = Backend("127.0.0.1", source.sockets[0].getsockname()[1], "source")
    async with tcp_proxy([backend]) as (proxy, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
        await reader.read(1)
        await asyncio.sleep(0.2)
        assert proxy.counters.bytes_out < total // 2
        read = 1
        while data := await reader.read(1 << 20):
            read += len(data)
        assert read == total == proxy.counters.bytes_out
        writer.close()
    source.close()


async def test_closing_it_ends_everything() -> None:
    async with server("a") as a:
        async with tcp_proxy([a]) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await reader.readline()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_one_that_is_at_localhost_is_found_at_either_address() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"six\n")
        writer.close()

    try:
        six = await asyncio.start_server(greet, "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    backend = Backend("localhost", six.sockets[0].getsockname()[1], "six")
    async with tcp_proxy([backend]) as (_, port):
        assert [await whom(port) for _ in range(3)] == ["six"] * 3
    six.close()


async def test_a_client_that_was_accepted_before_and_is_told_of_after_the_end_is_closed_too() -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
    with client:
        client.setblocking(False)
        async with tcp_proxy() as (proxy, _):
            await proxy.close()
            await loop.connect_accepted_socket(lambda: tcp._Front(proxy), accepted)
            with pytest.raises(ConnectionResetError):
                await asyncio.wait_for(loop.sock_recv(client, 1), 60)
    assert proxy.counters.active == 0
