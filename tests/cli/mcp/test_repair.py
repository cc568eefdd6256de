"""An assistant finds and repairs a fault of the demo app, with the client of the SDK over the standard streams."""

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from tests.docs.shell import Shell
from tests.example_apps.apps import APPS, NOT_COPIED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PATIENCE = 60.0


async def eventually(read: Callable[[], Awaitable[str]], *expected: str) -> str:
    """Calls a tool until its text contains the expected words."""
    text = ""
    async with asyncio.timeout(PATIENCE):
        while not all(words in text for words in expected):
            text = await read()
    return text


async def test_a_fault_of_the_demo_app_is_found_and_repaired(tmp_path: Path) -> None:
    with Shell(tmp_path) as shell:
        shutil.copytree(APPS / "shop", shell.place, ignore=NOT_COPIED, dirs_exist_ok=True)
        started = await asyncio.to_thread(shell.type, "setpoint up -d")
        assert started.code == 0, started.printed
        program = StdioServerParameters(
            command=sys.executable,
            args=["-m", "setpoint", "mcp", "--allow-writes"],
            env=dict(shell.environ),
            cwd=str(shell.place),
        )
        async with Client(program) as client:

            async def call(tool: str, **arguments: Any) -> str:
                result = await client.call_tool(tool, arguments)
                return "".join(each.text for each in result.content if each.type == "text")

            assert "2/2" in await eventually(lambda: call("state"), "Running")
            healthy = (shell.place / "api.py").read_text()
            (shell.place / "api.py").write_text('raise RuntimeError("out of milk")\n' + healthy)
            why = await eventually(
                lambda: call("why", target="api"), "api is not ready: ", "out of milk", "Executable/"
            )
            assert "api.py" in await call("logs", names=["api"], grep="File.*api.py")
            await eventually(lambda: call("history", target="exe/" + _replica(why)), "BackOff")
            (shell.place / "api.py").write_text(healthy)
            restarted = await call("restart", names=["api"])
            assert "api restarted" in restarted
            assert "2/2" in await call("state", name="api")
            assert "exit code 0" in await call("run", task="migrate")
            refused = await client.call_tool("run", {"task": "nothing"})
            assert "available tasks: migrate, test" in refused.content[0].text  # type: ignore[union-attr]
        ended = await asyncio.to_thread(shell.type, "setpoint down")
        assert ended.code == 0, ended.printed


def _replica(why: str) -> str:
    """Returns the name of a replica from an explanation."""
    return next(word.removeprefix("Executable/") for word in why.split() if word.startswith("Executable/"))
