"""The lock of a store file, within one process: such locks belong to open files, not to processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, ExpectationFailed
from setpoint.store.sqlite import SqliteStore
from setpoint.store.sqlite.errors import DiskFailed, InUse
from setpoint.store.sqlite.lock import Lock


def test_a_second_lock_is_refused_until_the_first_is_released(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    first = Lock.acquire(store)
    with pytest.raises(InUse, match=rf"store\.db is in use by process {os.getpid()} \(.*python") as refused:
        Lock.acquire(store)
    assert refused.value.holder.startswith(f"process {os.getpid()} (")
    assert "\n" not in refused.value.holder
    first.release(clean=True)
    assert list(tmp_path.iterdir()) == []
    Lock.acquire(store).release(clean=True)


def test_a_file_is_locked_under_all_of_its_names(tmp_path: Path) -> None:
    store, other = tmp_path / "store.db", tmp_path / "other.db"
    store.write_bytes(b"data")
    os.link(store, other)
    first, second = Lock.acquire(store), Lock.acquire(other)
    first.lock_file(store)
    with pytest.raises(InUse, match=r"other\.db is in use by another process, which opened the same file"):
        second.lock_file(other)
    first.release(clean=True)
    second.release(clean=True)
    third = Lock.acquire(other)
    third.lock_file(other)
    third.release(clean=True)


def test_a_holder_that_left_no_text_is_refused_all_the_same(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    first = Lock.acquire(store)
    (tmp_path / "store.db.lock").write_bytes(b"")
    with pytest.raises(InUse, match=r"in use by another process; stop it"):
        Lock.acquire(store)
    first.release(clean=True)


def test_the_acknowledged_revision_survives_only_an_unclean_end(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    lock = Lock.acquire(store)
    assert lock.acknowledged == 0
    for revision in (7, 12345):
        lock.acknowledge(revision)
    lock.release(clean=False)
    assert (tmp_path / "store.db.lock").stat().st_mode & 0o777 == 0o600
    for _ in range(2):  # and is not lost by opening the file once more
        lock = Lock.acquire(store)
        assert lock.acknowledged == 12345
        lock.release(clean=False)
    lock = Lock.acquire(store)
    lock.release(clean=True)
    lock = Lock.acquire(store)
    assert lock.acknowledged == 0
    lock.release(clean=True)


def test_the_text_of_a_former_holder_is_replaced(tmp_path: Path) -> None:
    text = tmp_path / "store.db.lock"
    text.write_bytes(b"%020d\n" % 3 + b"process 1 (" + b"x" * 1000 + b")\n")
    lock = Lock.acquire(tmp_path / "store.db")
    assert lock.acknowledged == 3
    first, second = text.read_text().splitlines()
    assert first == f"{3:020d}"
    assert second.startswith(f"process {os.getpid()} (")
    assert len(second) <= len(f"process {os.getpid()} ()") + 200
    lock.release(clean=True)
    text.write_bytes(b"no number")
    lock = Lock.acquire(tmp_path / "store.db")
    assert lock.acknowledged == 0
    lock.release(clean=True)


def test_a_file_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskFailed, match=r"nowhere/store\.db cannot be opened"):
        Lock.acquire(tmp_path / "nowhere" / "store.db")
    lock = Lock.acquire(tmp_path / "store.db")
    with pytest.raises(DiskFailed, match=r"store\.db cannot be locked"):
        lock.lock_file(tmp_path / "store.db")
    lock.release(clean=True)


async def test_a_durable_commit_is_acknowledged_in_the_lock_file(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")

    def acknowledged() -> int:
        return int((tmp_path / "store.db.lock").read_text().splitlines()[0])

    before = acknowledged()
    with pytest.raises(ExpectationFailed):
        await store.commit("/a", b"1", 7, Actor("alice"))
    assert acknowledged() == before, "a refused commit changes nothing"
    revision = await store.commit("/a", b"1", ABSENT, Actor("alice"))
    assert acknowledged() == revision > before
    await store.close()


def test_a_process_that_does_not_close_its_store_ends(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from setpoint.store.sqlite import SqliteStore

async def main():
    global store
    store = await SqliteStore.open(sys.argv[1])

asyncio.run(main())
"""
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "store.db")]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
