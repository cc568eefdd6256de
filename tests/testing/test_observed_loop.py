"""A loop in a thread: it is idle or not, and its time jumps only while it is idle."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from setpoint.testing.observed_loop import LoopThread, are_idle


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    made = LoopThread("observed")
    yield made
    made.stop()


def until_idle(*threads: LoopThread) -> None:
    while not are_idle(*threads):
        pass


def test_time_jumps_from_timer_to_timer(thread: LoopThread) -> None:
    done: list[int] = []

    async def wait(seconds: int) -> None:
        await asyncio.sleep(seconds)
        done.append(seconds)

    async def start() -> None:
        tasks.extend(asyncio.ensure_future(wait(seconds)) for seconds in (7200, 3600))

    tasks: list[asyncio.Task[None]] = []
    begin = thread.loop.time()
    thread.run(start())
    until_idle(thread)
    thread.jump(100_000)
    until_idle(thread)
    assert done == [3600]
    assert 3600 <= thread.loop.time() - begin < 7200
    thread.jump(100_000)
    until_idle(thread)
    assert done == [3600, 7200]


def test_a_jump_is_bounded(thread: LoopThread) -> None:
    tasks: list[asyncio.Task[None]] = []

    async def start() -> None:
        tasks.append(asyncio.ensure_future(asyncio.sleep(7200)))

    thread.run(start())
    until_idle(thread)
    thread.jump(60)
    until_idle(thread)
    assert thread.loop.observed.jumped_seconds == 60
    assert not tasks[0].done()


def test_a_function_in_a_thread_is_work(thread: LoopThread) -> None:
    release = threading.Event()
    futures: list[asyncio.Future[bool]] = []

    async def start() -> None:
        futures.append(thread.loop.run_in_executor(None, release.wait))

    thread.run(start())
    assert not any(are_idle(thread) for _ in range(5))
    release.set()
    until_idle(thread)
    assert futures[0].result()


def test_data_between_two_loops_is_work(thread: LoopThread) -> None:
    """A loop echoes what the other one sends: idle moments are seen only when a round trip is complete."""
    other = LoopThread("other")
    one_end, other_end = socket.socketpair()
    rounds = 200
    received: list[bytes] = []

    for end in (one_end, other_end):
        end.setblocking(False)

    async def echo() -> None:
        while data := await other.loop.sock_recv(other_end, 1):
            await other.loop.sock_sendall(other_end, data)

    async def send() -> None:
        for _ in range(rounds):
            await thread.loop.sock_sendall(one_end, b"x")
            received.append(await thread.loop.sock_recv(one_end, 1))

    async def start(work: list[asyncio.Task[None]], thread: LoopThread) -> None:
        work.append(asyncio.ensure_future(echo() if thread is other else send()))

    tasks: list[asyncio.Task[None]] = []
    try:
        for each in (other, thread):
            each.run(start(tasks, each))
        until_idle(thread, other)
        assert len(received) == rounds
    finally:
        other.stop()
        one_end.close()
        other_end.close()


def test_work_on_its_own_thread_is_refused(thread: LoopThread) -> None:
    async def nested() -> None:
        thread.run(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="its own thread"):
        thread.run(nested())


def test_the_end_waits_for_connections_that_close() -> None:
    thread = LoopThread("closing")

    async def connect() -> tuple[asyncio.Server, asyncio.BaseTransport]:
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, host, port)
        asyncio.get_running_loop().call_later(0.05, transport.close)
        asyncio.get_running_loop().call_later(0.05, server.close)
        return server, transport

    server, transport = thread.run(connect())
    thread.stop()
    assert transport.is_closing()
    assert not server.is_serving()
