"""Moves the write-ahead log into the file, outside of the commits.

A checkpoint copies and syncs megabytes. The checkpoint runs on its own thread and connection, beside the writer. Only
its tail, the pages committed meanwhile, is left to the writer between two transactions; after that, SQLite restarts the
log instead of growing the log further.
"""

import logging
import sqlite3
import threading
from pathlib import Path

_logger = logging.getLogger("setpoint.store")

# The size of the log, in bytes, that triggers a checkpoint and to which SQLite truncates the log on a restart.
LONG = 16 * 1024 * 1024
# The number of pages that the writer may move itself.
_TAIL = 2000


class Checkpointer:
    """The checkpoint thread. The writer reports its commits, and moves the tail."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, threaded: bool = True) -> None:
        self._log = path.with_name(path.name + "-wal")
        self._connection = connection
        self._wanted = threading.Event()
        self._closing = False
        self._tail_is_left = False
        self._commits = 0
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._run, name=f"checkpointer of {path.name}", daemon=True)

    def start(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def notice(self) -> None:
        """Counts a transaction; every 50 transactions, checks whether the log has become too long."""
        self._commits += 1
        if self._commits >= 50 and not self._wanted.is_set():
            self._commits = 0
            if _size(self._log) > LONG:
                if self._thread is None:
                    self._move()
                else:
                    self._wanted.set()

    def finish_if_requested(self, connection: sqlite3.Connection) -> None:
        """Moves the tail, if one is left; the writer calls this method between two transactions."""
        if self._tail_is_left:
            self._tail_is_left = False
            _checkpoint(connection)

    def close(self) -> None:
        self._closing = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._closing:
                return
            self._move()

    def _move(self) -> None:
        left = _checkpoint(self._connection)
        if left is not None and left < _TAIL:
            self._tail_is_left = True


def _checkpoint(connection: sqlite3.Connection) -> int | None:
    """Moves the pages that can be moved without waiting; returns the number of pages left, or None after a failure."""
    try:
        _, pages, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error as error:
        # All data is still in the log, and the next checkpoint tries again.
        _logger.warning("the write-ahead log could not be moved into the file: %s; trying again later", error)
        return None
    return int(pages - moved)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
