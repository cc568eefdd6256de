"""The tools of `setpoint mcp`, called by the client of the SDK."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml
from mcp import Client
from tests.cli.conftest import Command, Served

from setpoint.cli.mcp import command_runner
from setpoint.cli.mcp.command_runner import CommandError, CommandRunner
from setpoint.cli.mcp.server import build
from setpoint.cli.support.connection import Server

# Each call of a tool starts a process.
pytestmark = pytest.mark.slow

READING = {"state", "why", "logs", "traces", "telemetry_traces", "telemetry_trace", "history", "diff", "apply"}
MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{a: "{value}"}}
"""


class Call(Protocol):
    """Calls a tool, and returns its text."""

    async def __call__(self, tool: str, *, fails: bool = False, **arguments: Any) -> str: ...


@asynccontextmanager
async def tools(kubeconfig: object, *, writes: bool = False) -> AsyncIterator[Call]:
    async with Client(build(Server(kubeconfig=str(kubeconfig)), writes=writes)) as client:

        async def call(tool: str, *, fails: bool = False, **arguments: Any) -> str:
            result = await client.call_tool(tool, arguments)
            text = "".join(each.text for each in result.content if each.type == "text")
            assert bool(result.is_error) is fails, text
            return text

        yield call


@pytest.mark.parametrize(("writes", "names"), [(False, READING), (True, READING | {"restart", "run"})])
async def test_writing_tools_are_offered_on_request(served: Served, writes: bool, names: set[str]) -> None:
    async with Client(build(Server(kubeconfig=str(served.kubeconfig)), writes=writes)) as client:
        offered = (await client.list_tools()).tools
    assert {tool.name for tool in offered} == names
    reading = {tool.name for tool in offered if tool.annotations and tool.annotations.read_only_hint}
    assert reading == (READING - {"apply"} if writes else READING)
    assert all(tool.description and tool.input_schema["properties"] for tool in offered)


async def test_apply_is_a_dry_run_unless_writes_are_allowed(served: Served, setpoint: Command) -> None:
    manifest = MAP.format(name="mcp-dry", value="1")
    async with tools(served.kubeconfig) as call:
        assert "configmap/mcp-dry created (dry run)" in await call("apply", manifest=manifest)
        refused = await call("apply", fails=True, manifest=manifest, dry_run=False)
    assert "this server is read-only" in refused
    assert (await asyncio.to_thread(setpoint, "get", "configmap/mcp-dry")).code == 3
    async with tools(served.kubeconfig, writes=True) as call:
        assert "created (dry run)" in await call("apply", manifest=manifest)
        assert "configmap/mcp-dry created" in await call("apply", manifest=manifest, dry_run=False)
        changed = await call("apply", manifest=MAP.format(name="mcp-dry", value="2"), dry_run=False)
        assert '+  a: "2"' in changed
        assert "does not exist" in await call("why", fails=True, target="configmap/nothing-here")


async def test_the_past_of_an_object_is_told(served: Served, setpoint: Command) -> None:
    for value in "12":
        await asyncio.to_thread(setpoint, "apply", "-f", "-", text=MAP.format(name="mcp-past", value=value))
    async with tools(served.kubeconfig) as call:
        assert "data.a 1→2" in await call("history", target="configmap/mcp-past")
        assert '+  a: "2"' in await call("diff", target="configmap/mcp-past")
        assert "mcp-past" in await call("why", target="configmap/mcp-past")
        assert "OBJECT" in await call("history", since="5m")
        assert "mcp-past" in await call("state", kind="configmaps")
        assert yaml.safe_load(await call("state", kind="cm", name="mcp-past"))["data"] == {"a": "2"}
        assert await call("traces", target="configmap/mcp-past") == "no result"


async def test_secrets_are_masked(served: Served, setpoint: Command) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mcp-key"}, "stringData": {"key": "hunter2"}}
    await asyncio.to_thread(setpoint, "apply", "-f", "-", text=yaml.safe_dump(secret))
    async with tools(served.kubeconfig, writes=True) as call:
        texts = [await call("state", kind=kind, name="mcp-key") for kind in ("secret", "secrets", "Secret")]
        texts += [await call(tool, target="secret/mcp-key") for tool in ("why", "history", "diff")]
        secret["stringData"] = {"key": "hunter3"}
        texts.append(await call("apply", manifest=yaml.safe_dump(secret)))
    assert all(texts)
    assert not [text for text in texts for word in ("hunter", "aHVudGVy") if word in text]


async def test_a_name_is_never_an_option(served: Served) -> None:
    async with tools(served.kubeconfig) as call:
        for name in ("--help", "-h", "--kubeconfig=passwd"):
            assert f"no workload named '{name}'" in await call("why", fails=True, target=name)


async def test_a_user_without_the_right_is_refused(served: Served, setpoint: Command) -> None:
    await asyncio.to_thread(setpoint, "apply", "-f", "-", text=MAP.format(name="mcp-private", value="1"))
    kubeconfig = served.kubeconfig.with_name("mcp-reader")
    made = await asyncio.to_thread(setpoint, "user", "mcp-reader", "-o", str(kubeconfig))
    assert made.code == 0, made.stderr
    async with tools(kubeconfig, writes=True) as call:
        for tool, arguments in (
            ("state", {"kind": "configmaps"}),
            ("why", {"target": "configmap/mcp-private"}),
            ("history", {"target": "configmap/mcp-private"}),
            ("apply", {"manifest": MAP.format(name="mcp-private", value="2"), "dry_run": False}),
            ("restart", {"names": ["api"]}),
            ("run", {"task": "test"}),
            ("logs", {}),
        ):
            text = await call(tool, fails=tool != "run", **arguments)
            assert "forbidden" in text.lower(), (tool, text)


async def test_arguments_have_limits(served: Served) -> None:
    async with tools(served.kubeconfig, writes=True) as call:
        for tool, arguments in (
            ("logs", {"tail": 2001}),
            ("history", {"target": "a", "limit": 201}),
            ("run", {"task": "a", "timeout_seconds": 601}),
            ("apply", {"manifest": "a" * 1_000_001}),
            ("restart", {"names": []}),
        ):
            assert "validation error" in await call(tool, fails=True, **arguments)


def program(code: str) -> CommandRunner:
    """Returns a runner with the code of a test as the program of its commands."""
    return CommandRunner(Server(), (sys.executable, "-c", code))


@pytest.mark.parametrize("keeps_end", [False, True])
async def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch, keeps_end: bool) -> None:
    monkeypatch.setattr(command_runner, "MOST_BYTES", 1000)
    found = await program("print('begin' + 'x' * 100_000 + 'end')").run("why", keeps_end=keeps_end)
    assert len(found.text) < 1100
    assert "bytes were left out" in found.text
    assert ("end" in found.text, "begin" in found.text) == (keeps_end, not keeps_end)


async def test_a_slow_command_is_stopped(tmp_path: Path) -> None:
    place = tmp_path / "ended"
    runner = program(
        f"import pathlib, signal, sys, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(place)!r}).touch(), sys.exit(0)))\n"
        f"print('ready', flush=True)\ntime.sleep(60)"
    )
    with pytest.raises(CommandError, match="did not end within 3 s"):
        await runner.run("run", seconds=3.0)
    assert place.exists()


async def test_a_cancelled_call_stops_its_command(tmp_path: Path) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    runner = program(
        f"import pathlib, signal, sys, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(ended)!r}).touch(), sys.exit(0)))\n"
        f"pathlib.Path({str(started)!r}).touch()\ntime.sleep(60)"
    )
    running = asyncio.create_task(runner.run("run"))
    while not started.exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.exists()


async def test_few_commands_run_at_the_same_time(tmp_path: Path) -> None:
    runner = program(
        f"import os, pathlib, time\nplace = pathlib.Path({str(tmp_path)!r})\n"
        f"mine = place / f'running-{{os.getpid()}}'\nmine.touch()\n"
        f"print(len(list(place.glob('running-*'))))\ntime.sleep(0.2)\nmine.unlink()"
    )
    found = await asyncio.gather(*(runner.run("why") for _ in range(10)))
    assert max(int(each.text) for each in found) <= 4


def test_without_the_package_the_extra_is_named(setpoint: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.delitem(sys.modules, "setpoint.cli.mcp.server")
    ran = setpoint("mcp")
    assert ran.code == 1
    assert "pip install 'setpoint[mcp]'" in ran.stderr
