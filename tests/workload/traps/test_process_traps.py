"""What has gone wrong with processes elsewhere, tried on a whole control plane."""

import asyncio
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.workload.app import PYTHON, WAITS, app, condition_of, gone
from tests.workload.process.stage import asleep, new_nap, wait_for_end

from setpoint.workload.process.identity import identity_of
from setpoint.workload.records import VERSION

pytestmark = pytest.mark.slow

# Starts a child that has its output, says who that is, and ends.
LEAVES_A_CHILD = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"


@pytest.fixture
def nap() -> str:
    return new_nap()


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process that is nobody's business."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


async def test_an_object_that_is_deleted_while_its_process_starts_leaves_none(tmp_path: Path, nap: str) -> None:
    async with app(tmp_path) as world:
        for hundredths in (0, 0, 1, 1, 2, 3, 5, 8):
            await world.make("Executable", "web", {"executablePath": "sleep", "args": [nap]})
            await asyncio.sleep(hundredths / 100)
            await world.delete("Executable", "web")
            assert asleep(nap) == []
        assert world.workloads.executables.find("web") is None


async def test_those_that_end_at_once_are_all_told_of_with_what_they_said(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        for number in range(20):
            spec = {"executablePath": "sh", "args": ["-c", f"echo {number}; exit {number}"]}
            await world.make("Executable", f"job-{number}", spec)
        for number in range(20):
            found = await world.state("Executable", f"job-{number}", "Finished")
            assert found["status"]["exitCode"] == number
            assert await world.log(f"job-{number}") == f"{number}\n"


async def test_how_a_process_ended_that_was_taken_over_is_said_to_be_unknown(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("db", persistent=True)
        pid = (await world.state("Executable", "db", "Running"))["status"]["pid"]
    async with app(tmp_path) as world:
        await world.python("db", persistent=True)
        await world.state("Executable", "db", "Running")
        os.kill(pid, signal.SIGKILL)
        found = await world.state("Executable", "db", "Finished")
        assert "exitCode" not in found["status"]
        assert "its exit code is unknown" in condition_of(found, "Started")["message"]


async def test_a_child_that_keeps_the_output_open_holds_up_neither_the_end_nor_a_follower(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", LEAVES_A_CHILD)
        following = asyncio.ensure_future(world.log("web", follow=True))
        found = await world.state("Executable", "web", "Finished")
        assert found["status"]["exitCode"] == 0
        child = int(await following)
        await world.delete("Executable", "web")
    # It is a child of the session all the same.
    await gone(child)


async def test_a_pid_that_somebody_else_has_by_now_is_not_taken_over(tmp_path: Path, stranger: int) -> None:
    async with app(tmp_path) as world:
        await world.python("db", persistent=True)
        pid = (await world.state("Executable", "db", "Running"))["status"]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    theirs = identity_of(stranger)
    assert theirs is not None
    reused = theirs._replace(started=theirs.started - 1).text()
    with sqlite3.connect(tmp_path / "records.sqlite3") as records:
        [(text,)] = records.execute("SELECT record FROM kept")
        record = {**msgspec.json.decode(text), "identity": reused}
        records.execute("UPDATE kept SET record = ?", (msgspec.json.encode(record).decode(),))
    records.close()
    async with app(tmp_path) as world:
        await world.python("db", mode="cleanup")
        await world.state("Executable", "db", "NotFound")
        await world.delete("Executable", "db")
        await world.python("db", persistent=True)
        found = await world.state("Executable", "db", "Running")
        assert found["status"]["pid"] not in (pid, stranger)
        await world.patch("Executable", "db", spec={"stop": True})
        await world.state("Executable", "db", "Finished")
    assert identity_of(stranger) == theirs


async def test_of_two_control_planes_one_has_a_persistent_process_and_the_other_says_who(tmp_path: Path) -> None:
    records = tmp_path / "records.sqlite3"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with app(tmp_path / "two", records=records, working_directory=tmp_path) as second:
        async with app(tmp_path / "one", records=records, working_directory=tmp_path) as first:
            await first.python("db", persistent=True)
            pid = (await first.state("Executable", "db", "Running"))["status"]["pid"]
            await second.python("db", persistent=True)
            found = await second.ready("Executable", "db", "False", "HeldElsewhere")
            assert f"pid {os.getpid()} manages this process" in condition_of(found, "Ready")["message"]
            assert found["status"].get("pid") is None
        found = await second.state("Executable", "db", "Running")
        assert found["status"]["pid"] == pid
        await second.patch("Executable", "db", spec={"stop": True})
        await second.state("Executable", "db", "Finished")


@pytest.mark.parametrize("fault", ["newer", "read-only", "damaged"])
async def test_without_usable_records_all_runs_but_nothing_survives_that_nobody_would_find(
    tmp_path: Path, fault: str
) -> None:
    records = tmp_path / "records.sqlite3"
    if fault == "newer":
        with sqlite3.connect(records) as connection:
            connection.execute(f"PRAGMA user_version = {VERSION + 1}")
        connection.close()
    elif fault == "damaged":
        records.write_bytes(b"this is no database" * 100)
    else:
        (tmp_path / "file").touch()
        records = tmp_path / "file" / "records.sqlite3"
    async with app(tmp_path, records=records) as world:
        await world.python("web")
        await world.python("db", persistent=True)
        await world.state("Executable", "web", "Running")
        found = await world.state("Executable", "db", "Running")
        assert "it ends with this control plane" in condition_of(found, "Started")["message"]
        assert str(records) in condition_of(found, "Started")["message"]
        pid = found["status"]["pid"]
        assert await world.first_line("db") == "up"
    assert not Path(f"/proc/{pid}").exists()


async def test_braces_that_are_inherited_are_no_template(tmp_path: Path) -> None:
    code = "import os; print(os.environ['PROMPT'], os.environ['NO_PROXY'])"
    environ = {"PROMPT": '{{ portFor "nobody" }}', "NO_PROXY": "127.0.0.1,localhost", "PATH": os.environ["PATH"]}
    async with app(tmp_path, environ=environ) as world:
        await world.python("web", code)
        await world.state("Executable", "web", "Finished")
        assert await world.log("web") == '{{ portFor "nobody" }} 127.0.0.1,localhost\n'


async def test_a_start_that_comes_while_all_is_stopped_leaves_nothing(tmp_path: Path, nap: str) -> None:
    async with app(tmp_path) as world:

        async def go_on_creating() -> None:
            for number in range(60):
                await world.make("Executable", f"late-{number}", {"executablePath": "sleep", "args": [nap]})

        creating = asyncio.ensure_future(go_on_creating())
        await world.state("Executable", "late-3", "Running")
    creating.cancel()
    await asyncio.gather(creating, return_exceptions=True)
    assert asleep(nap) == []


async def test_a_name_that_is_used_again_at_once_is_another_object_with_another_log(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        pids = set()
        for number in range(5):
            await world.make(
                "Executable", "web", {"executablePath": PYTHON, "args": ["-c", f"print({number}); {WAITS}"]}
            )
            pids.add((await world.state("Executable", "web", "Running"))["status"]["pid"])
            assert await world.first_line("web") == f"{number}"
            await world.delete("Executable", "web")
        assert len(pids) == 5
