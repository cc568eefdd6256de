"""Commands in simulated containers, and attaching to them, over sockets in the same process, in virtual time."""

import asyncio
from typing import Any

import pytest
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.client.channels import Process
from setpoint.client.transport import Call
from setpoint.objects.errors import APIError, BadRequest, Forbidden, InternalError
from setpoint.system.nodes import scripted_command
from setpoint.testing import Behaviour, ExecCall, ExecResult, LogLine, simulated

PATH = "/api/v1/namespaces/default/pods/web"


def scripted(behaviour: Behaviour) -> Any:
    return simulated(scripts={"app=web": lambda run: behaviour})


def shell(call: ExecCall) -> ExecResult:
    if call.command == ("cat",):
        return ExecResult(stdout=call.stdin)
    if call.command == ("fail",):
        raise ValueError("no such table")
    return ExecResult(stdout=" ".join(call.command), stderr="warned", exit_code=3)


async def talk(call: ExecCall) -> ExecResult:
    size = await call.streams.next_size()
    await call.streams.write(f"{size.columns}x{size.rows}$ ".encode())
    while (line := await call.streams.read()) != b"exit":
        await call.streams.write(line.upper())
        await call.streams.write(b"!", stderr=True)
    return ExecResult(exit_code=7)


async def test_a_function_answers_a_command() -> None:
    async with testing.world(nodes=scripted(Behaviour(exec=shell)), objects=[pod("web")]) as world:
        await world.settle()
        done = await world.client.exec("web", "default", command=["ls", "-l"])
        assert done == (3, b"ls -l", b"warned")
        data = b"x" * 200_000
        assert await world.client.exec("web", "default", command=["cat"], stdin=data) == (0, data, b"")
        with pytest.raises(InternalError, match="the script of container web failed: ValueError: no such table"):
            await world.client.exec("web", "default", command=["fail"])


async def test_a_coroutine_talks_with_a_terminal() -> None:
    async with testing.world(nodes=scripted(Behaviour(exec=talk)), objects=[pod("web")]) as world:
        await world.settle()
        async with world.client.open_exec("web", "default", command=["sh"], stdin=True, tty=True) as process:
            await process.resize(80, 25)
            await process.write(b"hello")
            assert await output(process, 3) == b"80x25$ HELLO!"
            await process.write(b"exit")
            assert [each async for each in process] == []
            assert process.exit_code == 7


async def output(process: Process, number: int) -> bytes:
    """The next pieces of output."""
    pieces = aiter(process)
    return b"".join([(await anext(pieces)).data for _ in range(number)])


async def test_commands_need_a_script_and_a_running_container() -> None:
    async with testing.world(nodes="simulated", objects=[pod("web")]) as world:
        await world.settle()
        text = r"container web runs no commands: answer them with a script, Behaviour\(exec=FUNCTION\)"
        with pytest.raises(BadRequest, match=text):
            await world.client.exec("web", "default", command=["ls"])
        with pytest.raises(BadRequest, match="container x is not valid for pod web"):
            await world.client.exec("web", "default", command=["ls"], container="x")
    async with testing.world(nodes=scripted(Behaviour(pull_error="none")), objects=[pod("web")]) as world:
        await world.settle()
        with pytest.raises(InternalError, match=r'container not found \("web"\)'):
            await world.client.exec("web", "default", command=["ls"])


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ([("command", "ls")], 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ([("stdout", "true")], 400, "command: required, once for each word of the command"),
        ([("stdout", "true"), ("command", "ls")], 400, "exec requires a WebSocket with the protocol v5.channel.k8s.io"),
    ],
)
async def test_an_incomplete_request_for_a_command_is_refused(query: Any, status: int, text: str) -> None:
    async with testing.world(nodes=scripted(Behaviour(exec=shell)), objects=[pod("web")]) as world:
        await world.settle()
        with pytest.raises(APIError, match=text) as caught:
            await world.client.send(Call("POST", f"{PATH}/exec", query))
        assert caught.value.code == status


async def test_input_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_command, "MOST_INPUT_BYTES", 10)
    async with testing.world(nodes=scripted(Behaviour(exec=shell)), objects=[pod("web")]) as world:
        await world.settle()
        with pytest.raises(APIError, match="at most 10 bytes"):
            await world.client.exec("web", "default", command=["cat"], stdin=b"x" * 11)


async def test_attaching_shows_later_output_until_the_end() -> None:
    lines = (LogLine(0, "early"), LogLine(3, "out"), LogLine(4, "err", stderr=True))
    behaviour = Behaviour(logs=lines, exit_code=0, after=5)
    async with testing.world(nodes=scripted(behaviour), objects=[pod("web")]) as world:
        await world.settle()
        found: list[tuple[int, bytes]] = []

        async def attach() -> int | None:
            async with world.client.attach("web", "default") as process:
                async for piece in process:
                    found.append(piece)  # noqa: PERF401 - the test reads the list meanwhile
                return process.exit_code

        attached = asyncio.ensure_future(attach())
        await world.advance(3)
        assert found == [(1, b"out\n")]
        await world.advance(2)
        assert await asyncio.wait_for(attached, 5) == 0
        assert found == [(1, b"out\n"), (2, b"err\n")]


async def test_a_user_without_the_right_runs_no_commands() -> None:
    async with testing.world(nodes=scripted(Behaviour(exec=shell)), objects=[pod("web")]) as world:
        await world.settle()
        eve = world.plane.client(user="eve")
        group = "rbac.authorization.k8s.io"
        names = {"apiVersion": f"{group}/v1", "metadata": {"name": "eve"}}
        resources = ["pods", "pods/log", "pods/exec", "pods/attach"]
        # Connecting needs the right to create, also by GET.
        rules = [{"apiGroups": [""], "resources": resources, "verbs": ["get", "list"]}]
        await world.client.create({**names, "kind": "ClusterRole", "rules": rules})
        reference = {"apiGroup": group, "kind": "ClusterRole", "name": "eve"}
        subjects = [{"apiGroup": group, "kind": "User", "name": "eve"}]
        await world.client.create({**names, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects})
        assert await eve.log_text("web", "default") == ""
        with pytest.raises(Forbidden, match='cannot create resource "pods/exec"'):
            await eve.exec("web", "default", command=["ls"])
        with pytest.raises(Forbidden, match='cannot create resource "pods/attach"'):
            async with eve.attach("web", "default"):
                pass
