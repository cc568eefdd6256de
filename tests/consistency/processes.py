"""The servers of a round as processes: requests reach them over HTTP, and a restart kills them without a warning."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from tests.consistency.client import Sink
from tests.consistency.served import CONTROL, Launch
from tests.consistency.world import Interrupted, NextWrite
from tests.store.etcd_server import shared_etcd

from setpoint.client.http.endpoint import Endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Call, Stream, TransportError
from setpoint.server.message import Frame, Request, Response
from setpoint.server.message import Sink as ServerSink

_PAUSE_SECONDS = 0.03
_START_SECONDS = 30.0
_roots = count()
Starter: TypeAlias = asyncio.subprocess.Process


class Served(Protocol):
    """Opens a store for servers in other processes, with a limit of their caches."""

    def __call__(self, starter: Starter, cache_bytes: int) -> AbstractAsyncContextManager["ServedWorld"]: ...


class _Body:
    """The stream of a watch over HTTP."""

    def __init__(self, stream: Stream, stack: AsyncExitStack, failed: Callable[[TransportError], None]) -> None:
        self._stream = stream
        self._stack = stack
        self._failed = failed

    async def run(self, sink: ServerSink) -> None:
        assert isinstance(sink, Sink)
        minder = asyncio.create_task(self._end_with(sink))
        rest = b""
        try:
            async with self._stack:
                async for piece in self._stream:
                    *lines, rest = (rest + piece).split(b"\n")
                    if lines and not sink.write(Frame(b"\n".join(lines))):
                        return
                    if not await sink.drain():
                        return
        except TransportError as error:
            if not sink.closed:
                self._failed(error)
                # The response may have arrived just before the kill, and the watch begun after the kill.
                sink.lose()
        finally:
            minder.cancel()

    async def _end_with(self, sink: Sink) -> None:
        await sink.wait_closed()
        self._stream.cut("the client ends the watch")


class ServedWorld:
    """Some processes over one store; see `World`."""

    def __init__(self, starter: Starter, folder: Path, launch: Launch) -> None:
        self.restarts = 0
        self.pauses = 0
        self.ending: list[Callable[[], Awaitable[None]]] = []
        self._starter = starter
        self._folder = folder
        self._launch = launch
        # File descriptors of the processes.
        self._processes: list[int] = []
        self._transports: list[HttpTransport] = []
        self._up = asyncio.Event()
        self._next_write = NextWrite()
        self._sockets = count()

    async def start(self, number: int) -> None:
        for _ in range(number):
            socket = self._folder / f"{next(self._sockets)}.sock"
            launch = msgspec.structs.replace(self._launch, socket=str(socket), is_shared=number > 1)
            assert self._starter.stdin is not None
            assert self._starter.stdout is not None
            self._starter.stdin.write(msgspec.json.encode(launch) + b"\n")
            process = os.pidfd_open(int(await self._starter.stdout.readline()))
            transport = HttpTransport(Endpoint("localhost", 0, unix=str(socket)))
            self._processes.append(process)
            self._transports.append(transport)
            async with asyncio.timeout(_START_SECONDS):
                while True:
                    assert not _has_ended(process), "the server did not start"
                    with suppress(TransportError):
                        await transport.send(Call("GET", CONTROL + "revision"))
                        break
                    await asyncio.sleep(0.005)
        self._up.set()

    async def call(self, place: int, request: Request) -> Response:
        """Sends a request to a server. Raises Interrupted if the server was killed before its response."""
        await self._up.wait()
        kills, transport = self.restarts, self._transports[place % len(self._transports)]
        call = Call(request.method, request.path, parse_qsl(request.query, True), request.headers, request.body)
        stack = AsyncExitStack()

        def failed(error: TransportError) -> None:
            if self.restarts == kills:
                raise AssertionError(f"{call.target} failed, but no server was killed: {error}")

        self._next_write.note(request)
        try:
            if "watch=1" not in request.query:
                answer = await transport.send(call)
                if self.restarts != kills:  # the kill came first, so the response is lost
                    raise Interrupted
                return Response(answer.status, answer.headers.get("content-type", ""), answer.body)
            stream = await stack.enter_async_context(transport.stream(call))
        except TransportError as error:
            failed(error)
            raise Interrupted from None
        return Response(stream.answer.status, "application/json", _Body(stream, stack, failed))

    async def _control(self, place: int, path: str) -> int:
        """Sends a command. Returns the current revision; 0 if the server was killed meanwhile."""
        with suppress(Interrupted):
            answer = await self.call(place, Request("GET", CONTROL + path.partition("?")[0], path.partition("?")[2]))
            assert isinstance(answer.body, bytes)
            return int(answer.body)
        return 0

    async def revision(self) -> int:
        return await self._control(0, "revision")

    async def compact(self, to: int) -> None:
        await self._control(0, f"compact?to={to}")

    async def send_bookmarks(self) -> None:
        for place in range(len(self._processes)):
            await self._control(place, "bookmarks")

    async def up(self) -> None:
        """Waits until the servers answer."""
        await self._up.wait()

    async def pause(self) -> None:
        """Stops one of the processes for a moment."""
        await self._up.wait()
        process = self._processes[self.pauses % len(self._processes)]
        self.pauses += 1
        kills = self.restarts
        signal.pidfd_send_signal(process, signal.SIGSTOP)
        await asyncio.sleep(_PAUSE_SECONDS)
        if self.restarts == kills:
            signal.pidfd_send_signal(process, signal.SIGCONT)

    async def restart(self) -> None:
        """Kills the processes in the middle of their requests, and starts new ones on the same store."""
        number = len(self._processes)
        await self._next_write.wait()
        self.restarts += 1
        await self._kill()
        await self.start(number)

    async def stop(self) -> None:
        self.restarts += 1
        await self._kill()
        self.restarts -= 1

    async def _kill(self) -> None:
        self._up.clear()
        for process in self._processes:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        for end in self.ending:
            await end()
        for process in self._processes:
            while not _has_ended(process):
                await asyncio.sleep(0.001)
            os.close(process)
        for transport in self._transports:
            await transport.close()
        self._processes, self._transports = [], []


def _has_ended(process: int) -> bool:
    """Returns True if all threads of a process have ended, so that its locks are free."""
    return bool(select.select([process], [], [], 0)[0])


@asynccontextmanager
async def starting() -> AsyncIterator[Starter]:
    """Runs the process that starts servers, for many rounds."""
    starter = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.consistency.served",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield starter
    finally:
        assert starter.stdin is not None
        starter.stdin.close()
        await starter.wait()


@asynccontextmanager
async def served_sqlite(starter: Starter, cache_bytes: int) -> AsyncIterator[ServedWorld]:
    with TemporaryDirectory() as name:
        yield ServedWorld(starter, Path(name), Launch("", cache_bytes, file=f"{name}/store.db"))


@asynccontextmanager
async def served_etcd(starter: Starter, cache_bytes: int) -> AsyncIterator[ServedWorld]:
    root = f"/served-{os.getpid()}-{next(_roots)}"
    with TemporaryDirectory() as name:
        launch = Launch("", cache_bytes, endpoint=shared_etcd().endpoint, root=root)
        yield ServedWorld(starter, Path(name), launch)


@asynccontextmanager
async def served_memory(starter: Starter, cache_bytes: int) -> AsyncIterator[ServedWorld]:
    """Servers that lose all writes when they are killed."""
    with TemporaryDirectory() as name:
        yield ServedWorld(starter, Path(name), Launch("", cache_bytes))
