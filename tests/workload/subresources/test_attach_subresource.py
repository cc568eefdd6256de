"""`…/attach`: talking with a process over a WebSocket, as `kubectl attach` does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.workload.app import GROUP, App, app

import setpoint as sp
from setpoint.client.channels import STDERR, STDOUT, Process
from setpoint.client.options import Impersonation
from setpoint.client.transport import Call
from setpoint.objects.errors import BadRequest, Forbidden, NotFound

PATH = f"/apis/{GROUP}/executables/{{}}/attach"
V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
# Says back what it is told, and complains of it; ends with as many as there were.
ECHO = """
import sys
count = 0
for line in sys.stdin:
    count += 1
    print(line, end="", flush=True)
    print("heard", len(line), file=sys.stderr, flush=True)
sys.exit(count)
"""


@asynccontextmanager
async def served(tmp_path: Path) -> AsyncIterator[tuple[App, sp.Client]]:
    """A control plane, and a client of it over a real connection."""
    async with app(tmp_path) as world:
        await world.plane.listen()
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(world.plane.kubeconfig())
        async with sp.Client.from_kubeconfig(kubeconfig) as client:
            yield world, client


@asynccontextmanager
async def attached(client: sp.Client, name: str, *, stdin: bool = False) -> AsyncIterator[Process]:
    query = [("stdout", "true"), ("stderr", "true"), *([("stdin", "true")] if stdin else [])]
    async with client.socket(Call("GET", PATH.format(name), query), (V5, V4)) as socket:
        yield Process(socket)
        await socket.close()


async def test_what_is_said_is_heard_and_the_exit_code_comes_at_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as (world, client):
        await world.python("echo", ECHO, stdin=True)
        await world.state("Executable", "echo", "Running")
        async with attached(client, "echo", stdin=True) as process:
            done = await asyncio.wait_for(process.run(b"hello\nworld!\n"), 100)
        assert done.stdout == b"hello\nworld!\n"
        assert done.stderr == b"heard 6\nheard 7\n"
        assert done.exit_code == 2
        assert await world.log("echo") == "hello\nworld!\n"


async def test_only_what_comes_from_now_on_is_heard_by_everybody_who_is_there(tmp_path: Path) -> None:
    async with served(tmp_path) as (world, client):
        await world.python("echo", "print('before', flush=True)\n" + ECHO, stdin=True)
        await world.state("Executable", "echo", "Running")
        while "before" not in await world.log("echo"):
            await asyncio.sleep(0.01)
        async with attached(client, "echo", stdin=True) as one, attached(client, "echo") as two:
            await one.write(b"now\n")
            for process in (one, two):
                heard = {STDOUT: b"", STDERR: b""}
                async for channel, data in process:
                    heard[channel] += data
                    if heard == {STDOUT: b"now\n", STDERR: b"heard 4\n"}:
                        break
                assert heard[STDOUT] == b"now\n"


async def test_who_leaves_leaves_the_process_as_it_is(tmp_path: Path) -> None:
    async with served(tmp_path) as (world, client):
        await world.python("echo", ECHO, stdin=True)
        pid = (await world.state("Executable", "echo", "Running"))["status"]["pid"]
        async with attached(client, "echo", stdin=True) as process:
            await process.write(b"one\n")
            async for _ in process:
                break
        async with attached(client, "echo", stdin=True) as process:
            done = await asyncio.wait_for(process.run(b"two\n"), 100)
        assert done.exit_code == 2
        assert (await world.state("Executable", "echo", "Finished"))["status"]["exitCode"] == 2
        assert pid


async def test_more_input_than_a_process_reads_waits_and_none_of_it_is_lost(tmp_path: Path) -> None:
    slow = """
import sys, time
time.sleep(0.3)
size = 0
while piece := sys.stdin.buffer.read(1 << 16): size += len(piece)
print(size)
"""
    async with served(tmp_path) as (world, client):
        await world.python("slow", slow, stdin=True)
        await world.state("Executable", "slow", "Running")
        async with attached(client, "slow", stdin=True) as process:
            done = await asyncio.wait_for(process.run(b"z" * (8 << 20)), 100)
        assert done.stdout == b"%d\n" % (8 << 20)


async def test_a_process_ended_by_a_signal_has_the_code_that_shells_give_it(tmp_path: Path) -> None:
    async with served(tmp_path) as (world, client):
        await world.python("web", "import time; time.sleep(1000)")
        await world.state("Executable", "web", "Running")
        async with attached(client, "web") as process:
            await world.patch("Executable", "web", spec={"stop": True})
            done = await asyncio.wait_for(process.run(None), 100)
        assert done.exit_code == 128 + 15


async def test_what_cannot_be_attached_to_says_why(tmp_path: Path) -> None:
    async with served(tmp_path) as (world, client):
        with pytest.raises(NotFound):
            async with attached(client, "nobody"):
                pass
        await world.python("idle", start=False)
        with pytest.raises(BadRequest, match="is not running"):
            async with attached(client, "idle"):
                pass
        await world.python("deaf")
        await world.state("Executable", "deaf", "Running")
        with pytest.raises(BadRequest, match=r"set spec.stdin to true"):
            async with attached(client, "deaf", stdin=True):
                pass
        with pytest.raises(BadRequest, match="requires a WebSocket with the protocol"):
            async with client.socket(Call("GET", PATH.format("deaf")), ("chat",)):
                pass


async def test_the_terminal_of_a_short_command_shows_its_output_after_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as (world, client):
        await world.python("short", "print('done'); raise SystemExit(3)", terminal={})
        await world.state("Executable", "short", "Finished")
        async with attached(client, "short") as process:
            done = await asyncio.wait_for(process.run(None), 20)
        assert (done.stdout, done.exit_code) == (b"done\r\n", 3)


@pytest.mark.parametrize("subresource", ["exec", "attach"])
async def test_a_user_needs_the_right_to_create_a_conversation_with_a_container(
    tmp_path: Path, subresource: str
) -> None:
    async with served(tmp_path) as (_, client):
        reader = client.with_options(impersonate=Impersonation("eve"))
        query = [("command", "id"), ("user", "root"), ("env", "A=1")]
        call = Call("GET", f"/apis/{GROUP}/containers/db/{subresource}", query)
        with pytest.raises(Forbidden, match=f"containers/{subresource}"):
            async with reader.socket(call, (V5, V4)):
                pass
