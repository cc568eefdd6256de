"""Executables in terminals, with real processes: by the socket, and by the API."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.workload.app import GROUP, App, app, condition_of

from setpoint.client.channels import V4, V5, Process
from setpoint.client.client import Client
from setpoint.client.credentials import bearer
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Call
from setpoint.node.streams import Size
from setpoint.workload.terminal import hmp
from setpoint.workload.terminal.hmp import Kind, frame, read_frame

# Repeats what it is told, says how large its terminal is when asked or when that changes, and ends when told to.
TALKS = """
import os, signal, sys
assert sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
def size(*_): print("size", *os.get_terminal_size(), flush=True)
signal.signal(signal.SIGWINCH, size)
print("hello from", os.environ["TERM"], flush=True)
for line in sys.stdin:
    if line.startswith("end"): sys.exit(int(line.split()[1]))
    size() if line == "size\\n" else print("you said", line.strip(), flush=True)
"""


class Looking:
    """A client of a terminal's socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.seen = b""
        self.frames: list[tuple[int, bytes]] = []

    async def next(self) -> tuple[int, bytes]:
        async with asyncio.timeout(10):
            kind, payload = await read_frame(self._reader)
        self.frames.append((kind, payload))
        if kind == Kind.OUTPUT:
            self.seen += payload
        return kind, payload

    async def until(self, text: str) -> None:
        while text.encode() not in self.seen:
            await self.next()

    async def until_kind(self, kind: Kind) -> bytes:
        while True:
            found, payload = await self.next()
            if found == kind:
                return payload

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    def type(self, text: str) -> None:
        self.send(frame(Kind.INPUT, text.encode()))

    async def ended(self) -> bool:
        """Whether the connection ends; what was on its way comes first."""
        try:
            while True:
                await self.next()
        except (asyncio.IncompleteReadError, ConnectionResetError):
            return True

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


@asynccontextmanager
async def looking(path: str) -> AsyncIterator[Looking]:
    found = Looking(*await asyncio.open_unix_connection(path))
    try:
        yield found
    finally:
        await found.close()


async def talking(world: App, **terminal: Any) -> str:
    """The socket of an Executable in a terminal, which runs."""
    await world.python("shell", TALKS, terminal=terminal)
    found = await world.state("Executable", "shell", "Running", "FailedToStart")
    path: str = found["status"].get("terminalSocketPath", "")
    return path


async def test_a_process_runs_in_a_terminal_that_a_socket_leads_to(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        path = await talking(world, cols=100)
        assert Path(path).stat().st_mode & 0o777 == 0o600
        async with looking(path) as client:
            kind, payload = await client.next()
            assert (kind, msgspec.json.decode(payload)) == (Kind.HELLO, {"version": 1, "width": 100, "height": 24})
            assert await client.next() == (Kind.STATE_SYNC, b"")
            await client.until("hello from")
            client.type("size\n")
            await client.until("size 100 24")
            client.send(hmp.resize(Size(120, 40)))
            await client.until("size 120 40")
            client.type("end 7\n")
            assert await client.until_kind(Kind.EXIT) == (7).to_bytes(4, "little")
            assert await client.ended()
        found = await world.state("Executable", "shell", "Finished")
        assert found["status"]["exitCode"] == 7
        async with asyncio.timeout(5):
            while Path(path).exists():
                await asyncio.sleep(0.01)


async def test_several_may_look_and_who_comes_later_sees_what_was_before(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        path = await talking(world)
        async with looking(path) as first:
            first.type("one\n")
            await first.until("you said one")
            async with looking(path) as second:
                await second.until("you said one")
                second.type("two\n")
                await first.until("you said two")
                first.send(hmp.resize(Size(90, 30)))
                assert await second.until_kind(Kind.RESIZE) == hmp.resize(Size(90, 30))[5:]
            # Nonsense costs its sender the connection, and nobody else anything.
            async with looking(path) as third:
                third.send(b"\x04\xff\xff\xff\xff")
                await third.until_kind(Kind.OUTPUT)
                assert await third.ended()
            first.type("three\n")
            await first.until("you said three")


async def test_a_terminal_can_dial_a_peer_that_listens(tmp_path: Path) -> None:
    came: asyncio.Queue[Looking] = asyncio.Queue()
    path = str(tmp_path / "peer.sock")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await came.put(Looking(reader, writer))

    async with app(tmp_path) as world:
        assert await talking(world, socketMode="connect", udsPath="peer.sock") == path
        # The peer comes after the process, goes, and is found again.
        server = await asyncio.start_unix_server(serve, path)
        for word in ("one", "two"):
            async with asyncio.timeout(10):
                client = await came.get()
            client.type(f"{word}\n")
            await client.until(f"you said {word}")
            if word == "one":
                await client.close()
        client.type("end 0\n")
        assert await client.until_kind(Kind.EXIT) == bytes(4)
        await client.close()
        server.close()


async def test_a_socket_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        (tmp_path / "taken").touch()
        await talking(world, udsPath="taken")
        condition = condition_of(await world.get("Executable", "shell"), "Started")
        assert condition["reason"] == "BadTerminalSocket"
        assert "taken already exists" in condition["message"]


async def test_a_socket_that_a_killed_control_plane_left_is_taken_over(tmp_path: Path) -> None:
    # A plain socket: since Python 3.13, a server of asyncio removes the file when it closes.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left.sock"))
        left.listen()
    assert (tmp_path / "left.sock").exists()
    async with app(tmp_path) as world, looking(await talking(world, udsPath="left.sock")) as client:
        await client.until("hello")


async def test_a_terminal_can_be_attached_to_by_the_api(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await talking(world)
        server = endpoint(await world.plane.listen(tls=False))
        client = Client(HttpTransport(server, credentials=bearer(world.plane.token)))
        path = f"/apis/{GROUP}/executables/shell/attach"
        call = Call("GET", path, [("stdin", "true"), ("stdout", "true"), ("tty", "true")])
        async with client.socket(call, (V5, V4)) as socket:
            process, seen = Process(socket), b""
            await process.resize(111, 22)
            await process.write(b"size\nend 3\n")
            async for output in process:
                seen += output.data
            assert process.exit_code == 3
        await client.close()
        assert b"hello from" in seen
        assert b"size 111 22" in seen


@pytest.mark.parametrize("end", ["stop", "delete", "shutdown"])
async def test_whoever_looks_is_told_of_the_end(tmp_path: Path, end: str) -> None:
    async with app(tmp_path) as world:
        client_context = looking(await talking(world))
        client = await client_context.__aenter__()
        await client.until("hello")
        if end == "stop":
            await world.patch("Executable", "shell", spec={"stop": True})
        elif end == "delete":
            await world.client.delete(f"{GROUP}/Executable", "shell")
        if end != "shutdown":
            assert await client.until_kind(Kind.EXIT) == (128 + 15).to_bytes(4, "little")
    assert await client.ended()
    await client.close()
