"""Executables that an IDE runs: against an IDE of the test's own, over real sockets."""

import asyncio
import os
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.workload.app import PYTHON, App, app, condition_of
from tests.workload.ide.editor import TOKEN, Editor, editor

from setpoint.server.certificate_pair import load_pair
from setpoint.server.edge.certificates import Authority
from setpoint.server.edge.tls import server_context
from setpoint.workload.ide import runner

LAUNCH = "executable.usvc-dev.developer.microsoft.com/launch-configurations"
PROJECT = '[{"type": "project", "project_path": "/app/web.csproj", "mode": "Debug"}]'


@asynccontextmanager
async def under(ide: Editor, directory: Path, **environ: str) -> AsyncIterator[App]:
    """A control plane that an IDE has started."""
    told = {"DEBUG_SESSION_PORT": f"localhost:{ide.port}", "DEBUG_SESSION_TOKEN": TOKEN, **environ}
    async with app(directory, environ={"PATH": os.environ["PATH"], **told}) as world:
        yield world


async def make(world: App, launch: str = PROJECT, **spec: Any) -> None:
    annotations = {LAUNCH: launch} if launch else {}
    body = {"executablePath": PYTHON, "executionType": "IDE", **spec}
    await world.make("Executable", "web", body, annotations=annotations)


async def test_an_ide_runs_an_executable_and_tells_of_it(tmp_path: Path) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        await make(world, args=["--port", "1"], env=[{"name": "WHO", "value": "ada"}])
        found = await world.state("Executable", "web", "Running")
        assert found["status"]["executionID"] == "session-1"
        assert "pid" not in found["status"]
        method, target, headers, body = ide.requests[-1]
        assert (method, target) == ("PUT", "/run_session?api-version=2024-04-23")
        assert headers["microsoft-developer-dcp-instance-id"]
        assert body["launch_configurations"][0]["project_path"] == "/app/web.csproj"
        assert {"name": "WHO", "value": "ada"} in body["env"]
        assert body["args"] == ["--port", "1"]
        ide.tell("processRestarted", "session-1", pid=4242)
        await world.until("Executable", "web", lambda tree: tree["status"].get("pid") == 4242)
        ide.tell("serviceLogs", "session-1", is_std_err=False, log_message="hello")
        ide.tell("serviceLogs", "session-1", is_std_err=True, log_message="oops\n")
        ide.tell("sessionMessage", "session-1", level="error", code="E1", message="a breakpoint is bad")
        ide.tell("somethingNew", "session-1", wisdom=1)
        ide.tell("sessionTerminated", "session-1", exit_code=3)
        found = await world.state("Executable", "web", "Finished")
        assert found["status"]["exitCode"] == 3
        assert await world.log("web") == "hello\n"
        assert await world.log("web", source="stderr") == "oops\n"
        assert "error: E1: a breakpoint is bad" in await world.log("web", source="system")


async def test_what_is_told_before_the_answer_is_not_lost(tmp_path: Path) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        ide.early = [
            {"kind": "processRestarted", "more": {"pid": 7}},
            {"kind": "serviceLogs", "more": {"is_std_err": False, "log_message": "quick"}},
            {"kind": "sessionTerminated", "more": {"exit_code": 0}},
        ]
        await make(world)
        found = await world.state("Executable", "web", "Finished")
        assert found["status"]["exitCode"] == 0
        assert await world.log("web") == "quick\n"


@pytest.mark.parametrize("ends", [True, False])
async def test_stopping_it_ends_the_session(tmp_path: Path, ends: bool) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        await make(world)
        await world.state("Executable", "web", "Running")
        ide.ends_on_stop = ends
        await world.patch("Executable", "web", spec={"stop": True})
        found = await world.state("Executable", "web", "Finished")
        assert ide.stopped == ["session-1"]
        # A session that the IDE does not know any more has ended, nobody knows how.
        assert found["status"].get("exitCode") == (143 if ends else None)


async def test_sessions_end_with_the_control_plane(tmp_path: Path) -> None:
    async with editor() as ide:
        async with under(ide, tmp_path) as world:
            await make(world)
            await world.state("Executable", "web", "Running")
        assert ide.stopped == ["session-1"]


async def test_a_connection_that_breaks_is_made_anew(tmp_path: Path) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        await make(world)
        await world.state("Executable", "web", "Running")
        ide.hang_up()
        async with asyncio.timeout(10):
            await ide.connected.wait()
        ide.tell("sessionTerminated", "session-1", exit_code=0)
        await world.state("Executable", "web", "Finished")


async def test_a_paused_ide_ends_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_PING_SECONDS", 0.005)
    async with editor() as ide, under(ide, tmp_path) as world:
        await make(world)
        await world.state("Executable", "web", "Running")
        ide.is_paused, before = True, ide.pings
        # In a minute, twelve pings remain without an answer.
        async with asyncio.timeout(10):
            while ide.pings < before + 12:
                await asyncio.sleep(0.01)
        assert ide.connections == 1
        ide.is_paused = False
        ide.tell("sessionTerminated", "session-1", exit_code=0)
        await world.state("Executable", "web", "Finished")


async def test_no_arguments_are_left_to_the_ide(tmp_path: Path) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        await make(world)
        await world.state("Executable", "web", "Running")
        assert "args" not in ide.requests[-1][3]


async def failed(world: App) -> dict[str, Any]:
    return condition_of(await world.state("Executable", "web", "FailedToStart"), "Started")


async def test_what_an_ide_refuses_says_why(tmp_path: Path) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        ide.refuses = {
            "error": {"code": "BuildFailed", "message": "it does not build", "details": [{"code": "CS1002"}]}
        }
        await make(world)
        condition = await failed(world)
        assert condition["reason"] == "IDERefused"
        assert "BuildFailed: it does not build; CS1002" in condition["message"]


@pytest.mark.parametrize(
    ("launch", "reason", "message"),
    [
        ("", "NoLaunchConfiguration", "launch-configurations"),
        ("{", "NoLaunchConfiguration", "is not valid JSON"),
        ("[]", "NoLaunchConfiguration", "must be a list"),
        ('[{"type": "node"}]', "UnsupportedLaunchConfiguration", "project, python, but not node"),
    ],
)
async def test_what_an_ide_cannot_launch_says_why(tmp_path: Path, launch: str, reason: str, message: str) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        await make(world, launch)
        condition = await failed(world)
        assert condition["reason"] == reason
        assert message in condition["message"]


@pytest.mark.parametrize(
    ("change", "environ", "message"),
    [
        ({"protocols_supported": ["1999-01-01"]}, {}, "the IDE supports 1999-01-01"),
        ({}, {"DEBUG_SESSION_TOKEN": "wrong"}, "the IDE supports no known version"),
        ({}, {"DEBUG_SESSION_PORT": "1"}, "cannot be reached"),
        ({}, {"DEBUG_SESSION_PORT": "eighty"}, "not a valid port"),
        ({}, {"DEBUG_SESSION_SERVER_CERTIFICATE": "xyz"}, "not a valid certificate"),
    ],
)
async def test_an_ide_that_cannot_be_used_is_no_end_where_there_is_another_way(
    tmp_path: Path, change: dict[str, Any], environ: dict[str, str], message: str
) -> None:
    async with editor() as ide, under(ide, tmp_path, **environ) as world:
        ide.info.update(change)
        await make(world)
        condition = await failed(world)
        assert condition["reason"] == "IDENotAvailable"
        assert message in condition["message"]
        await world.python(
            "other", executionType="IDE", fallbackExecutionTypes=["Process"], annotations={LAUNCH: PROJECT}
        )
        await world.state("Executable", "other", "Running")


async def test_an_ide_that_does_not_say_what_it_launches_launches_projects(tmp_path: Path) -> None:
    async with editor() as ide, under(ide, tmp_path) as world:
        ide.info = {"protocols_supported": ["2024-03-03"]}
        await make(world)
        await world.state("Executable", "web", "Running")
        assert ide.requests[-1][1] == "/run_session?api-version=2024-03-03"


def certified() -> tuple[ssl.SSLContext, bytes]:
    """What a server with a certificate of its own needs, and that certificate."""
    now = datetime.now(UTC)
    pair = Authority.create(now).issue_server(["localhost"], now)
    context = server_context()
    load_pair(context, pair.certificate + pair.key)
    return context, ssl.PEM_cert_to_DER_cert(pair.certificate.decode())


async def test_the_certificate_of_an_ide_is_the_only_one_that_is_trusted(tmp_path: Path) -> None:
    context, der = certified()
    other, _ = certified()
    encoded = b64encode(der).decode()
    async with editor(context) as ide, under(ide, tmp_path, DEBUG_SESSION_SERVER_CERTIFICATE=encoded) as world:
        await make(world)
        await world.state("Executable", "web", "Running")
    async with editor(other) as ide, under(ide, tmp_path, DEBUG_SESSION_SERVER_CERTIFICATE=encoded) as world:
        await make(world)
        assert "cannot be reached" in (await failed(world))["message"]
