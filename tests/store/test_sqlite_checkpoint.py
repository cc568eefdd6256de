"""The write-ahead log is moved into the file when the log is long: first most of it, and then the tail."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from setpoint.store.sqlite import checkpoint
from setpoint.store.sqlite.checkpoint import Checkpointer


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provides the path of a file whose log is soon long."""
    monkeypatch.setattr(checkpoint, "LONG", 1000)
    return tmp_path / "store.db"


@pytest.fixture
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE row (n)")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    yield connection
    connection.close()


@pytest.fixture
def mover(path: Path, writer: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def add(connection: sqlite3.Connection, rows: int) -> None:
    connection.executemany("INSERT INTO row VALUES (?)", [(n,) for n in range(rows)])


def moved(path: Path) -> int:
    """Returns the number of rows in the file without its log."""
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    connection = sqlite3.connect(copy)
    try:
        found: int = connection.execute("SELECT count(*) FROM row").fetchone()[0]
        return found
    finally:
        connection.close()
        for file in path.parent.glob("copy.db*"):
            file.unlink()


def test_a_long_log_is_moved_after_fifty_transactions(
    path: Path, writer: sqlite3.Connection, mover: sqlite3.Connection
) -> None:
    checkpointer = Checkpointer(path, mover, threaded=False)
    add(writer, 100)
    for _ in range(49):
        checkpointer.notice()
    assert moved(path) == 0
    checkpointer.notice()
    assert moved(path) == 100
    add(writer, 10)
    for _ in range(49):
        checkpointer.notice()
    assert moved(path) == 100
    checkpointer.notice()
    assert moved(path) == 110


def test_a_short_log_is_not_moved(path: Path, writer: sqlite3.Connection, mover: sqlite3.Connection) -> None:
    checkpointer = Checkpointer(path, mover, threaded=False)
    for _ in range(200):
        checkpointer.notice()
    assert moved(path) == 0


def test_the_writer_moves_the_tail_that_a_reader_held_back(
    path: Path, writer: sqlite3.Connection, mover: sqlite3.Connection
) -> None:
    checkpointer = Checkpointer(path, mover, threaded=False)
    checkpointer.finish_if_requested(writer)
    add(writer, 100)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM row").fetchone() == (100,)
    add(writer, 50)
    for _ in range(50):
        checkpointer.notice()
    assert moved(path) < 150, "the reader still needs the older rows"
    reader.close()
    checkpointer.finish_if_requested(writer)
    assert moved(path) == 150
    add(writer, 50)
    checkpointer.finish_if_requested(writer)
    assert moved(path) == 150, "the tail is moved once"


def test_a_checkpoint_that_fails_is_logged_and_leaves_no_tail(
    path: Path, writer: sqlite3.Connection, mover: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    broken = sqlite3.connect(path)
    broken.close()
    checkpointer = Checkpointer(path, broken, threaded=False)
    add(writer, 100)
    for _ in range(50):
        checkpointer.notice()
    assert "the write-ahead log could not be moved into the file" in caplog.text
    checkpointer.finish_if_requested(writer)
    assert moved(path) == 0
