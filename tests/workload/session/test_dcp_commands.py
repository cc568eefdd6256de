"""DCP's small commands: what they print, and which processes they end."""

import importlib.resources
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.workload.app import app, identity_time
from tests.workload.session.instances import dcp as command
from tests.workload.session.instances import environment, is_alive, until

from setpoint.cli.dcp.group import dcp
from setpoint.cli.dcp.process_monitor import process_of
from setpoint.machine.chosen import system
from setpoint.workload.process.identity import identity_of

# A process with a child; both say who they are.
TREE = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
print(child.pid, flush=True)
time.sleep(1000)
"""


def ran(*arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(dcp, arguments, env=environ)


def tree() -> tuple["subprocess.Popen[str]", int]:
    """A process, and the pid of its child."""
    process = subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def ended(process: "subprocess.Popen[str]") -> None:
    process.communicate(timeout=20)


def test_the_version_has_the_commit_and_the_time_of_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = {"commitHash": "abc", "buildTimestamp": "2026-01-02T03:04:05Z"}
    (tmp_path / "build.json").write_text(json.dumps(stamp))
    monkeypatch.setattr(importlib.resources, "files", lambda package: tmp_path)
    told = json.loads(ran("version").output)
    assert {name: told[name] for name in stamp} == stamp


def test_the_version_is_one_that_clients_of_dcp_accept() -> None:
    told = json.loads(ran("version").output)
    assert tuple(map(int, told["version"].split("."))) >= (0, 2, 0)
    assert told["setpointVersion"]


def test_info_says_why_there_is_no_engine_and_what_to_do(tmp_path: Path) -> None:
    done = ran("info", "--diagnostics", "--timeout", "1s", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    told = json.loads(done.output)
    assert done.exit_code == 0
    assert (told["os"], told["containers"]["running"]) == ("linux", False)
    assert str(tmp_path) in told["containers"]["error"]
    assert "--timeout" in ran("info", "--timeout", "soon").output


def test_a_tree_is_stopped_by_its_root_if_that_is_the_one_that_is_meant() -> None:
    process, child = tree()
    identity = identity_of(process.pid)
    assert identity is not None
    other = ran("stop-process-tree", "--pid", str(process.pid), "--process-start-time", "0001-01-01T00:00:00.100Z")
    assert (other.exit_code, is_alive(child)) == (1, True)
    done = ran("stop-process-tree", "--pid", str(process.pid), "--process-start-time", identity_time(identity))
    ended(process)
    assert (done.exit_code, is_alive(child)) == (0, False)


def test_without_descendants_only_the_root_is_stopped() -> None:
    process, child = tree()
    # Without somebody who waits for it, it would be there as a zombie until the end.
    done = subprocess.Popen(command("stop-process-tree", "--pid", str(process.pid), "--skip-descendants"))
    ended_by = process.wait(20)
    assert done.wait(20) == 0
    assert (ended_by, is_alive(child)) == (-signal.SIGTERM, True)
    os.kill(child, signal.SIGKILL)
    process.communicate()


def test_a_process_goes_with_the_one_it_is_tied_to(tmp_path: Path) -> None:
    process, child = tree()
    with subprocess.Popen(["sleep", "1000"]) as owner:
        tied = subprocess.Popen(command("monitor-process", "--monitor", str(owner.pid), "--child", str(process.pid)))
        owner.kill()
    ended(process)
    assert tied.wait(20) == 0
    assert not is_alive(child)


def test_a_forked_process_is_printed_and_runs_on(tmp_path: Path) -> None:
    done = subprocess.run(
        command("fork-process", "--", "sleep", "1000"), capture_output=True, text=True, env=environment(tmp_path)
    )
    pid = int(done.stdout)
    try:
        assert (done.returncode, is_alive(pid)) == (0, True)
    finally:
        os.kill(pid, signal.SIGKILL)
    assert "No such file" in ran("fork-process", "--", "/no/such/program").output


def test_a_process_is_known_by_the_time_of_its_start_in_either_form() -> None:
    identity = identity_of(os.getpid())
    assert identity is not None
    assert process_of(os.getpid(), identity_time(identity), "--time") == identity
    assert process_of(os.getpid(), "", "--time") == identity
    started = system.boot_time() + system.since_boot(identity.started)
    done = subprocess.run(["date", "-u", "-d", f"@{started:.3f}", "+%FT%T.%3NZ"], capture_output=True, text=True)
    assert process_of(os.getpid(), done.stdout.strip(), "--time") == identity
    assert process_of(os.getpid(), "2001-01-01T00:00:00Z", "--time") is None


def test_what_a_workload_left_on_purpose_is_cleaned_up_and_nothing_else(tmp_path: Path) -> None:
    import asyncio

    async def leave(workload: str) -> int:
        async with app(tmp_path, workload_id=workload) as world:
            await world.python(f"db-{workload}", persistent=True)
            pid: int = (await world.state("Executable", f"db-{workload}", "Running"))["status"]["pid"]
            return pid

    mine, others = asyncio.run(leave("mine")), asyncio.run(leave("others"))
    records = {"DCP_STATE_STORE_PATH": str(tmp_path / "records.sqlite3")}
    done = ran("cleanup", "mine", **records)
    assert json.loads(done.output) == {
        "workloadId": "mine",
        "stopped": {"containers": 0, "executables": 1, "networks": 0},
    }
    until(lambda: not is_alive(mine))
    assert is_alive(others)
    again = json.loads(ran("cleanup", "mine", **records).output)
    assert again["stopped"]["executables"] == 0
    assert ran("cleanup", "others", **records).exit_code == 0
    until(lambda: not is_alive(others))


def test_what_somebody_takes_care_of_is_left_alone_and_reported(tmp_path: Path) -> None:
    import asyncio

    async def tried() -> "subprocess.CompletedProcess[str]":
        async with app(tmp_path, workload_id="mine") as world:
            await world.python("db", persistent=True)
            await world.state("Executable", "db", "Running")
            env = environment(tmp_path, DCP_STATE_STORE_PATH=str(tmp_path / "records.sqlite3"))
            return await asyncio.to_thread(
                subprocess.run, command("cleanup", "mine"), capture_output=True, text=True, env=env
            )

    done = asyncio.run(tried())
    [failure] = json.loads(done.stdout)["failures"]
    assert (done.returncode, failure["kind"], failure["resourceKey"]) == (1, "executables", "db")
    assert f"the control plane with pid {os.getpid()} manages this resource" in failure["error"]
    assert ran("cleanup", "mine", DCP_STATE_STORE_PATH=str(tmp_path / "records.sqlite3")).exit_code == 0


def test_records_that_cannot_be_read_are_no_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "newer.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = ran("cleanup", "mine", DCP_STATE_STORE_PATH=str(path))
    assert done.exit_code == 1
    assert "written by a newer version of Setpoint" in done.output


@pytest.mark.parametrize("text", ["", "   "])
def test_a_workload_has_a_name(text: str) -> None:
    assert "the workload id is empty" in ran("cleanup", text).output
