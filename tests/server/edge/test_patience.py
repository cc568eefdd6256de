"""What the edge does about clients that are slow, idle, greedy or gone, and about streams; and how it shuts down."""

import asyncio
import gc
import json
import socket
from pathlib import Path

import pytest
from tests.server.edge.edge import Client, Edge, Handle, Silent, Ticking, echo, edge, soon

from setpoint.objects.clock import SystemClock
from setpoint.server.edge.connection import ServerConnection
from setpoint.server.edge.limits import Limits
from setpoint.server.edge.listener import Listener
from setpoint.server.message import Frame, Request, Response, Sink, Stream

QUICK = Limits(sweep_seconds=0.02, linger_seconds=0.05)


def streaming(stream: Stream) -> Handle:
    async def watch(request: Request) -> Response:
        return Response(200, "application/json", stream)

    return watch


async def watching(server: Edge, limit: int = 1 << 16) -> Client:
    client = await server.connect(limit=limit)
    client.send(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
    await client.reader.readuntil(b"\r\n\r\n")
    return client


# Slow and idle clients.


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"])
async def test_a_request_that_does_not_come_to_its_end_in_time_is_cut_off(sent: bytes) -> None:
    async with edge(limits=QUICK._replace(request_seconds=0.15)) as server:
        client = await server.connect()
        client.send(sent)
        assert await client.at_end()


async def test_a_request_that_drips_in_gets_no_more_time_for_each_drop() -> None:
    async with edge(limits=QUICK._replace(request_seconds=0.2)) as server:
        client = await server.connect()
        ended = asyncio.create_task(client.at_end())
        for byte in b"GET / HTTP/1.1\r\nHost: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx":
            client.send(bytes((byte,)))
            await asyncio.sleep(0.02)
            if ended.done():
                break
        assert await ended


async def test_an_idle_connection_is_closed_and_a_used_one_is_not() -> None:
    async with edge(limits=QUICK._replace(idle_seconds=0.4)) as server:
        idle, used = await server.connect(), await server.connect()
        await idle.ask()
        ended = asyncio.create_task(idle.at_end())
        while not ended.done():
            assert (await used.ask()).status == 200
            await asyncio.sleep(0.05)
        assert (await used.ask()).status == 200


@pytest.mark.parametrize(
    ("method", "limits"), [("GET", QUICK._replace(answer_seconds=0.1)), ("PATCH", QUICK._replace(write_seconds=0.1))]
)
async def test_a_handler_that_takes_too_long_is_answered_for_and_finishes_its_work(method: str, limits: Limits) -> None:
    release, finished = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> Response:
        await release.wait()
        finished.set()
        return Response(200, "text/plain", b"too late")

    async with edge(slow, limits) as server:
        client = await server.connect()
        answer = await client.ask(method=method)
        assert (answer.status, json.loads(answer.body)["reason"]) == (504, "Timeout")
        assert await client.at_end()
        release.set()
        await finished.wait()


async def test_a_handler_finishes_its_work_though_its_client_has_gone() -> None:
    began, release, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def write(request: Request) -> Response:
        began.set()
        await release.wait()
        finished.set()
        return Response(201, "text/plain", b"done")

    async with edge(write) as server:
        client = await server.connect()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n")
        await began.wait()
        client.vanish()
        await soon(lambda: not server.listener.connections)
        release.set()
        await finished.wait()


async def test_a_client_that_takes_nothing_of_its_answer_is_cut_off() -> None:
    async def huge(request: Request) -> Response:
        return Response(200, "text/plain", [b"x" * (1 << 20)] * 64)

    async with edge(huge, QUICK._replace(stalled_seconds=0.3)) as server:
        client = await server.connect()
        client.stop_reading()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await soon(lambda: bool(server.listener.connections))
        await soon(lambda: not server.listener.connections)


async def test_a_client_that_takes_its_answer_slowly_gets_it_all() -> None:
    size = 24 << 20

    async def huge(request: Request) -> Response:
        return Response(200, "text/plain", b"x" * size)

    async with edge(huge, QUICK._replace(stalled_seconds=1.5)) as server:
        client = await server.connect()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.reader.readuntil(b"\r\n\r\n")
        taken = 0
        # All reads take longer than the time of a client that takes nothing; on a crowded machine each may take long.
        while taken < size:
            taken += len(await client.reader.readexactly(min(1 << 20, size - taken)))
            await asyncio.sleep(0.07)


# Streams.


async def test_a_stream_arrives_frame_by_frame_and_the_connection_is_kept_after_its_end() -> None:
    async def three(request: Request) -> Response:
        return Response(200, "application/json", Ticking(3) if request.path == "/watch" else b"next")

    async with edge(three) as server:
        client = await watching(server)
        assert [await client.chunk() for _ in range(4)] == [b"tick\n"] * 3 + [b""]
        assert (await client.ask("/other")).body == b"next"


@pytest.mark.parametrize("way", ["vanish", "close", "half"])
async def test_a_stream_ends_when_its_reader_goes(way: str) -> None:
    stream = Silent()
    async with edge(streaming(stream)) as server:
        client = await watching(server)
        assert await client.chunk() == b"hello\n"
        if way == "vanish":
            client.vanish()
        elif way == "close":
            client.close()
        else:
            client.writer.write_eof()
        await stream.ended.wait()
        await soon(lambda: not server.listener.connections)


async def test_a_stream_that_fails_is_not_taken_for_one_that_ended(caplog: pytest.LogCaptureFixture) -> None:
    class Failing:
        async def run(self, sink: Sink) -> None:
            sink.write(Frame(b"one"))
            await asyncio.sleep(0.01)
            raise KeyError("oops")

    async with edge(streaming(Failing())) as server:
        client = await watching(server)
        assert await client.chunk() == b"one"
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.chunk()
    assert "a stream failed" in caplog.text


async def test_a_reader_too_slow_for_its_stream_is_cut_off_at_a_bounded_cost() -> None:
    stream = Ticking(payload=b"x" * 100_000, pause=0)
    async with edge(streaming(stream), QUICK._replace(stream_bytes=1 << 20)) as server:
        client = await server.connect()
        client.stop_reading()
        client.send(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
        await stream.ended.wait()
        await soon(lambda: not server.listener.connections)


async def test_a_reader_that_stops_reading_a_quiet_stream_is_cut_off_in_time() -> None:
    stream = Ticking(payload=b"x" * 65_536, pause=0.0005)
    async with edge(streaming(stream), QUICK._replace(stalled_seconds=0.2, stream_bytes=1 << 40)) as server:
        client = await server.connect()
        client.stop_reading()
        client.send(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
        await stream.ended.wait()


async def test_a_reader_that_paused_and_caught_up_keeps_its_stream() -> None:
    class Bursts:
        async def run(self, sink: Sink) -> None:
            for _ in range(40):
                sink.write(Frame(b"x" * (1 << 20)))
                assert await sink.drain()
            await asyncio.sleep(0.4)  # longer than a stalled reader is given
            sink.write(Frame(b"still here"))

    async with edge(streaming(Bursts()), QUICK._replace(stalled_seconds=0.2)) as server:
        client = await watching(server, limit=1 << 22)
        chunks = [chunk async for chunk in client.chunks()]
        assert len(chunks) == 41
        assert chunks[-1] == b"still here"


async def test_a_long_beginning_reaches_a_reader_however_long_it_is_if_the_stream_drains() -> None:
    class Long:
        async def run(self, sink: Sink) -> None:
            frame = Frame(b"x" * 10_000)
            for number in range(3000):
                sink.write(frame)
                if number % 50 == 0:
                    await sink.drain()

    async with edge(streaming(Long()), Limits(stream_bytes=4 << 20)) as server:
        client = await watching(server)
        assert sum([len(chunk) async for chunk in client.chunks()]) == 30_000_000


async def test_many_streams_at_once_each_get_every_frame() -> None:
    begin = asyncio.Event()

    class Together:
        async def run(self, sink: Sink) -> None:
            await begin.wait()
            for number in range(20):
                sink.write(Frame(b"%d" % number))
                await asyncio.sleep(0)

    async with edge(streaming(Together())) as server:
        clients = [await watching(server) for _ in range(300)]
        begin.set()
        for client in clients:
            assert [chunk async for chunk in client.chunks()] == [b"%d" % number for number in range(20)]


# Gone clients.


async def test_a_client_that_sends_no_more_still_gets_its_answers() -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.05)
        return Response(200, "text/plain", request.path.encode())

    async with edge(slow) as server:
        client = await server.connect()
        client.send(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
        client.writer.write_eof()
        first, second = await client.answer(), await client.answer()
        assert (first.body, second.body) == (b"/1", b"/2")
        assert second.headers["connection"] == "close"
        assert await client.at_end()


@pytest.mark.parametrize("stream", [False, True])
async def test_connections_that_come_and_go_leave_nothing_behind_even_without_the_collector(stream: bool) -> None:
    own = asyncio.all_tasks()
    async with edge(streaming(Silent()) if stream else echo) as server:
        gc.collect()
        gc.disable()
        try:
            for _ in range(50):
                client = await watching(server) if stream else await server.connect()
                if not stream:
                    await client.ask()
                client.vanish()
            await soon(lambda: not server.listener.connections)
            # A connection lives as long as the task that answers its requests.
            await soon(lambda: asyncio.all_tasks() <= own)
            assert not [found for found in gc.get_objects() if isinstance(found, ServerConnection)]
        finally:
            gc.enable()


# Shutting down.


async def test_shutting_down_ends_streams_cleanly_and_refuses_new_clients() -> None:
    async with edge(streaming(Silent())) as server:
        clients = [await watching(server) for _ in range(20)]
        for client in clients:
            assert await client.chunk() == b"hello\n"
        await server.listener.close(grace=5.0)
        for client in clients:
            assert await client.chunk() == b""  # the last chunk: not cut off, but ended
            assert await client.at_end()
        with pytest.raises(ConnectionRefusedError):
            await server.connect()


async def test_shutting_down_finishes_the_request_at_hand_and_closes_idle_connections() -> None:
    began = asyncio.Event()

    async def slow(request: Request) -> Response:
        began.set()
        await asyncio.sleep(0.1)
        return Response(200, "text/plain", b"done")

    async with edge(slow) as server:
        idle, busy, half = [await server.connect() for _ in range(3)]
        busy.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        half.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab")
        await began.wait()
        await soon(lambda: len(server.listener.connections) == 3)
        closing = asyncio.create_task(server.listener.close(grace=5.0))
        assert await idle.at_end()
        half.send(b"cd")
        for client in (busy, half):
            answer = await client.answer()
            assert (answer.body, answer.headers["connection"]) == (b"done", "close")
        await closing
        assert not server.listener.connections


async def test_shutting_down_cuts_off_what_does_not_end() -> None:
    class Stubborn:
        async def run(self, sink: Sink) -> None:
            await asyncio.Event().wait()

    async with edge(streaming(Stubborn())) as server:
        client = await watching(server)
        await server.listener.close(grace=0.1)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.chunk()


# Unix sockets.


async def test_a_unix_socket_is_for_our_own_user_and_is_removed_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"

    async def tell(request: Request) -> Response:
        return Response(200, "text/plain", request.path.encode())

    listener = Listener(tell, SystemClock())
    await listener.listen_unix(str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    client = Client(*await asyncio.open_unix_connection(str(path)))
    assert (await client.ask("/here")).body == b"/here"
    with pytest.raises(OSError, match="another server is listening on this socket"):
        await Listener(tell, SystemClock()).listen_unix(str(path))
    client.close()
    await listener.close()
    assert not path.exists()


async def test_a_unix_socket_left_behind_is_replaced_and_another_file_is_not(tmp_path: Path) -> None:
    left, file = tmp_path / "left.sock", tmp_path / "precious"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(left))
    file.write_text("precious")

    async def tell(request: Request) -> Response:
        return Response(200, "text/plain", b"")

    listener = Listener(tell, SystemClock())
    await listener.listen_unix(str(left))
    with pytest.raises(FileExistsError):
        await listener.listen_unix(str(file))
    await listener.close()
    assert file.read_text() == "precious"
