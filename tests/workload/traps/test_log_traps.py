"""What has gone wrong with the output of processes elsewhere, tried on a whole control plane."""

import asyncio
import hashlib
from pathlib import Path

import pytest
from tests.workload.app import GROUP, App, app

from setpoint.client.transport import Call
from setpoint.workload.kinds.api_names import RESTART_REQUESTED

# A line of a mebibyte, then every byte there is, no end of line, and no time to say good-bye.
ODD = """
import os, signal, sys
sys.stdout.buffer.write(b"x" * (1 << 20) + b"\\n" + bytes(range(256)) * 16)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


async def bytes_of(world: App, name: str) -> bytes:
    async with world.client.stream(Call("GET", f"/apis/{GROUP}/executables/{name}/log", [])) as stream:
        return b"".join([piece async for piece in stream])


async def test_long_lines_and_binary_output_of_one_that_is_killed_are_there_to_the_last_byte(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("odd", ODD)
        await world.state("Executable", "odd", "Finished")
        found = await bytes_of(world, "odd")
    wanted = b"x" * (1 << 20) + b"\n" + bytes(range(256)) * 16
    # Only the last line is given an end that it had not.
    assert len(found) - len(wanted) in (0, 1)
    assert hashlib.sha256(found[: len(wanted)]).digest() == hashlib.sha256(wanted).digest()


@pytest.mark.slow
async def test_who_follows_a_log_hears_the_next_run_too_and_ends_with_the_last(tmp_path: Path) -> None:
    code = "import signal; print('run', flush=True); signal.pause()"
    async with app(tmp_path) as world:
        await world.python("web", code)
        await world.first_line("web")
        following = asyncio.ensure_future(world.log("web", follow=True))
        await asyncio.sleep(0.05)
        await world.patch("Executable", "web", metadata={"annotations": {RESTART_REQUESTED: "1"}})
        await world.until("Executable", "web", lambda tree: tree["status"].get("restartCount") == 1)
        await world.until("Executable", "web", lambda tree: tree["status"]["state"] == "Running")
        async with asyncio.timeout(10):
            while (await world.log("web")).count("run") < 2:
                await asyncio.sleep(0.01)
        await world.patch("Executable", "web", spec={"stop": True})
        async with asyncio.timeout(20):
            assert await following == "run\nrun\n"


async def test_one_that_never_stops_talking_can_be_read_stopped_and_deleted(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        spec = {"executablePath": "yes", "logs": {"maxBytes": 1 << 20, "maxFiles": 2}}
        await world.make("Executable", "chatty", spec)
        await world.state("Executable", "chatty", "Running")
        await world.first_line("chatty")
        async with asyncio.timeout(20):
            assert await world.log("chatty", tail=3) == "y\ny\ny\n"
        await world.patch("Executable", "chatty", spec={"stop": True})
        await world.state("Executable", "chatty", "Finished")
        kept = sum(each.stat().st_size for each in (tmp_path / "run" / "logs").rglob("stdout*.log"))
        assert kept <= 4 << 20
        await world.delete("Executable", "chatty")
        assert not list((tmp_path / "run" / "logs").rglob("stdout*"))
