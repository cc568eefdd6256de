"""The processes that an ended process leaves behind, with real processes that keep a port: they end before a successor
starts, with the signal and the grace period of the object."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.ports import free_ports
from tests.workload.app import GROUP, PYTHON, App, app, gone

from setpoint.objects.errors import APIError, BadRequest, NotFound
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.process.identity import stat

# Takes a port, fails if another process has the port, and leaves a child behind that keeps it. The first run then ends
# with an exit code; the later ones stay.
LEAVES = """
import os, pathlib, signal, socket, subprocess, sys
port, directory, code = int(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", port))
server.listen()
child = '''
import pathlib, signal, sys
def end(number, _):
    pathlib.Path(sys.argv[1], "asked").write_text(signal.Signals(number).name)
    sys.exit()
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, end)
print("there", flush=True)
while True:
    signal.pause()
'''
if not (directory / "child").exists():
    left = subprocess.Popen(
        [sys.executable, "-c", child, directory], pass_fds=[server.fileno()], stdout=subprocess.PIPE, **HOW
    )
    left.stdout.readline()
    (directory / "child").write_text(str(left.pid))
    if code >= 0:
        os._exit(code)
print("up", flush=True)
while True:
    signal.pause()
"""
DAEMON = "start_new_session=True"
BARE = "env={}"
QUICK = {"initial": "10ms", "max": "20ms"}


def leaving(directory: Path, how: str = DAEMON, code: int = 1) -> Object:
    """The spec of an Executable whose first run leaves a child behind."""
    program = LEAVES.replace("HOW", f"dict({how})")
    args = ["-c", program, str(free_ports(1)[0]), str(directory), str(code)]
    return {"executablePath": PYTHON, "args": args, "stopSignal": "SIGINT", "restartBackoff": QUICK}


def child_of(directory: Path) -> int:
    return int((directory / "child").read_text())


async def running(world: App, name: str, times: int = 1) -> Object:
    """The Executable, as soon as it runs after at least so many restarts."""
    found: Object = await world.until(
        "Executable",
        name,
        lambda tree: (
            (tree.get("status") or {}).get("state") == "Running" and tree["status"].get("restartCount", 0) >= times
        ),
    )
    return found


def assert_ended(directory: Path) -> None:
    assert (directory / "asked").read_text() == "SIGINT"
    assert not is_running(child_of(directory))


def is_running(pid: int) -> bool:
    """False for a process that has ended, even if the first process of the machine has not collected it yet."""
    found = stat(pid)
    return found is not None and found.state != "Z"


@pytest.mark.parametrize("how", [DAEMON, BARE, f"{BARE}, process_group=0"])
async def test_the_next_attempt_starts_after_all_children_of_the_last_one_have_ended(tmp_path: Path, how: str) -> None:
    async with app(tmp_path) as world:
        await world.make("Executable", "web", {**leaving(tmp_path, how), "restartPolicy": "OnFailure"})
        await running(world, "web")
        assert_ended(tmp_path)


async def test_a_child_that_does_not_end_is_killed_and_reported_meanwhile(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        spec = {**leaving(tmp_path), "restartPolicy": "Always", "stopTimeout": "1s", "stopSignal": "SIGWINCH"}
        await world.make("Executable", "web", spec)
        found = await world.ready("Executable", "web", "False", "EndingChildren")
        assert found["status"]["exitCode"] == 1
        assert found["status"]["state"] == "Stopping"
        await running(world, "web")
        assert not is_running(child_of(tmp_path))


async def test_the_exit_is_reported_with_the_state_that_follows(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        spec = {**leaving(tmp_path), "restartPolicy": "Always", "stopTimeout": "1s", "stopSignal": "SIGWINCH"}
        await world.make("Executable", "web", spec)
        found = await world.ready("Executable", "web", "False", "EndingChildren")
        seen = set()
        for revision in range(1, int(found["metadata"]["resourceVersion"]) + 1):
            with suppress(APIError):
                earlier = await world.client.get(f"{GROUP}/Executable", "web", at=revision)
                status = earlier.get("status") or {}
                seen.add((status.get("state"), status.get("exitCode"), "finishTimestamp" in status))
        assert {("Running", None, False), ("Stopping", 1, True)} <= seen
        assert ("Running", 1, True) not in seen


async def test_a_retry_of_a_task_starts_after_the_children_of_the_last_attempt(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        spec = {"template": {"executable": leaving(tmp_path)}, "backoffLimit": 1}
        await world.client.create(
            {"apiVersion": "setpoint.dev/v1", "kind": "Task", "metadata": {"name": "job"}, "spec": spec}
        )
        await _any_running(world)
        assert_ended(tmp_path)


async def test_a_replica_is_replaced_after_its_children_have_ended(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        spec = {"replicas": 1, "replaceFailed": True, "template": {"spec": leaving(tmp_path)}}
        await world.make("ExecutableReplicaSet", "web", spec)
        await _any_running(world)
        assert_ended(tmp_path)


async def _any_running(world: App) -> None:
    """Returns when a second Executable of a task or set runs; fails if the port was not free for it."""

    async def second() -> Object | None:
        found = (await world.client.list(f"{GROUP}/Executable")).items
        newest = max(found, key=lambda tree: tree["metadata"]["creationTimestamp"], default=None)
        logs = []
        for tree in found:
            with suppress(NotFound, BadRequest):  # replaced meanwhile, or being deleted with its log
                logs.append(await world.log(tree["metadata"]["name"]))
        assert not any("Address already in use" in text for text in logs)
        return newest if any("up\n" in text for text in logs) else None

    async with asyncio.timeout(60):
        while await second() is None:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("code", [0, 3])
async def test_without_a_successor_a_daemon_stays_until_a_restart(tmp_path: Path, code: int) -> None:
    async with app(tmp_path) as world:
        await world.make("Executable", "web", leaving(tmp_path, code=code))
        await world.state("Executable", "web", "Finished")
        os.kill(child_of(tmp_path), 0)
        await world.patch("Executable", "web", metadata={"annotations": {RESTART_REQUESTED: "1"}})
        await running(world, "web")
        assert_ended(tmp_path)


async def test_a_file_change_ends_the_children_of_an_ended_process(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    async with app(tmp_path) as world:
        watch = {"paths": ["main.py"], "debounce": "10ms"}
        await world.make("Executable", "web", {**leaving(tmp_path), "watch": watch})
        await world.until("Executable", "web", lambda tree: _watching(tree) and tree["status"]["state"] == "Finished")
        (tmp_path / "main.py").write_text("changed")
        await running(world, "web")
        assert_ended(tmp_path)


def _watching(tree: Any) -> bool:
    return any(each["type"] == "Watching" for each in (tree.get("status") or {}).get("conditions") or ())


async def test_a_failed_liveness_probe_starts_the_next_attempt_after_children_in_other_sessions(tmp_path: Path) -> None:
    probe = {
        "name": "alive",
        "type": "Exec",
        "role": "Liveness",
        "execProbe": {"command": ["sh", "-c", "test ! -e child || test -e healthy"]},
        "schedule": {"interval": "100ms"},
    }
    spec = leaving(tmp_path, code=-1)
    # The child takes its time, and has the port meanwhile.
    wait = "import time\n    while not pathlib.Path(sys.argv[1], 'go').exists(): time.sleep(0.01)\n    sys.exit()"
    spec["args"][1] = spec["args"][1].replace("sys.exit()", wait)
    async with app(tmp_path) as world:
        await world.make("Executable", "web", {**spec, "healthProbes": [probe], "stopTimeout": "100s"})
        async with asyncio.timeout(60):
            while not (tmp_path / "asked").exists():
                await asyncio.sleep(0.01)
        (tmp_path / "healthy").touch()
        leader = (await world.get("Executable", "web"))["status"]["pid"]
        await gone(leader)
        # The end of the leader is reported before the output of a process that starts later.
        await world.python("other")
        await world.first_line("other")
        found = await world.get("Executable", "web")
        assert (found["status"]["state"], found["status"].get("restartCount", 0)) == ("Stopping", 0)
        assert is_running(child_of(tmp_path))
        (tmp_path / "go").touch()
        found = await running(world, "web")
        assert found["status"]["restartCount"] == 1, "an attempt that finds the port in use ends"
        assert_ended(tmp_path)


@pytest.mark.parametrize("change", ["stop", "suspend", "delete"])
async def test_a_stop_and_a_deletion_end_the_children_of_an_ended_process(tmp_path: Path, change: str) -> None:
    async with app(tmp_path) as world:
        await world.make("Executable", "web", leaving(tmp_path))
        await world.state("Executable", "web", "Finished")
        if change == "delete":
            await world.delete("Executable", "web")
            assert_ended(tmp_path)
        else:
            await world.patch("Executable", "web", spec={change: True})
            await gone(child_of(tmp_path))


async def test_a_kept_process_that_crashed_without_a_control_plane_leaves_no_children(tmp_path: Path) -> None:
    spec = {**leaving(tmp_path, BARE, code=-1), "persistent": True}
    async with app(tmp_path) as world:
        await world.make("Executable", "web", spec)
        pid = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        await world.first_line("web")
    os.kill(pid, 9)
    await gone(pid)
    os.kill(child_of(tmp_path), 0)
    async with app(tmp_path) as world:
        await world.make("Executable", "web", spec)
        await running(world, "web", 0)
        assert await world.first_line("web") == "up"
        assert_ended(tmp_path)
        await world.patch("Executable", "web", spec={"stop": True})
        await world.state("Executable", "web", "Finished")
