"""What control planes record for those that come after them."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.records import VERSION, PersistentWorkload, Records

US = identity_of(os.getpid()) or Identity(1, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "workloads.sqlite3"


@pytest.fixture
def somebody() -> Iterator[Identity]:
    """Another process that lives."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = identity_of(process.pid)
        assert found is not None
        yield found
        process.kill()


def test_what_was_recorded_survives_one_that_is_killed(path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from setpoint.workload.process.identity import identity_of
from setpoint.workload.records import Records
records = Records(Path(sys.argv[1]), identity_of(os.getpid()))
assert records.keep("Executable", "db", {"pid": 7})
records.ports["web"] = 20001
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == -9
    records = Records(path, US)
    assert (records.kept("Executable", "db"), dict(records.ports)) == ({"pid": 7}, {"web": 20001})
    records.close()


def test_what_was_recorded_is_there_for_the_next_one(path: Path) -> None:
    first = Records(path, US)
    assert first.keep("Executable", "db", {"pid": 7}, workload="shop")
    first.ports["web"] = 20001
    first.close()
    second = Records(path, US)
    assert second.kept("Executable", "db") == {"pid": 7}
    assert second.all_kept("shop") == second.all_kept() == [PersistentWorkload("Executable", "db", "shop", {"pid": 7})]
    assert second.all_kept("other") == []
    assert dict(second.ports) == {"web": 20001}
    second.drop("Executable", "db")
    del second.ports["web"]
    assert second.kept("Executable", "db") is None
    assert not second.ports
    second.close()


def test_nobody_else_may_read_it(path: Path) -> None:
    Records(path, US).close()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_thing_is_in_the_care_of_one_that_lives(path: Path, somebody: Identity) -> None:
    ours, theirs = Records(path, US), Records(path, somebody)
    assert theirs.acquire("Container", "db") == ""
    assert ours.acquire("Container", "db") == f"the control plane with pid {somebody.pid}"
    assert ours.acquire("Container", "cache") == ""
    theirs.release("Container", "db")
    assert ours.acquire("Container", "db") == ""
    assert ours.acquire("Container", "db") == ""
    ours.close()
    assert theirs.acquire("Container", "cache") == ""
    theirs.close()


def test_one_that_is_gone_holds_nothing(path: Path) -> None:
    gone = Records(path, Identity(US.pid, US.started + 1))  # the same pid, another process
    assert gone.acquire("Container", "db") == ""
    ours = Records(path, US)
    assert ours.acquire("Container", "db") == ""
    ours.close()
    gone.close()


def test_a_newer_file_is_left_as_it_is_and_done_without(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    records = Records(path, US)
    assert f"written by a newer version of Setpoint: version {VERSION + 1}" in records.problem
    records.keep("Executable", "db", {"pid": 7})
    assert records.kept("Executable", "db") == {"pid": 7}
    assert records.acquire("Executable", "db") == ""
    records.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()


def test_a_damaged_or_unreachable_file_is_done_without(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 100)
    for place in (path, tmp_path / "state" / "workloads.sqlite3" / "below-a-file"):
        records = Records(place, US)
        assert "are not recorded" in records.problem
        records.ports["web"] = 1
        assert records.ports["web"] == 1
        records.close()


def test_a_file_that_another_holds_for_long_is_done_without(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.workload.records._BUSY_SECONDS", 0.01)
    Records(path, US).close()
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        records = Records(path, US)
        assert "locked" in records.problem
        other.execute("COMMIT")
    other.close()
    records.close()


def test_without_a_file_nothing_outlives_us() -> None:
    records = Records(None, US)
    assert records.problem == ""
    assert records.keep("Executable", "db", {})
    records.close()
