"""Moving the write-ahead log into the file, off the commits' path.

A checkpoint copies and syncs megabytes. It runs on a thread and a connection of its own, beside the writer. Only its
tail, what was committed while it ran, is left to the writer between two transactions; with that done, SQLite begins
the log anew instead of letting it grow.
"""

import logging
import sqlite3
import threading
from pathlib import Path

_logger = logging.getLogger("setpoint.store")

# How long, in bytes, the log may grow before it is moved: what it is cut to when SQLite begins it anew.
LONG = 16 * 1024 * 1024
# How many pages are few enough for the writer.
_TAIL = 2000


class Checkpointer:
    """The thread. The writer says when it has committed, and lends a hand at the end."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._log = path.with_name(path.name + "-wal")
        self._connection = connection
        self._wanted = threading.Event()
        self._closing = False
        self._tail_is_left = False
        self._commits = 0
        self._thread = threading.Thread(target=self._run, name=f"checkpointer of {path.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def notice(self) -> None:
        """There was a transaction; now and then, looks whether the log has become long."""
        self._commits += 1
        if self._commits >= 50 and not self._wanted.is_set():
            self._commits = 0
            if _size(self._log) > LONG:
                self._wanted.set()

    def finish_if_asked(self, connection: sqlite3.Connection) -> None:
        """Moves the tail; the writer calls it between two transactions."""
        if self._tail_is_left:
            self._tail_is_left = False
            _checkpoint(connection)

    def close(self) -> None:
        self._closing = True
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._closing:
                return
            left = _checkpoint(self._connection)
            if left is not None and left < _TAIL:
                self._tail_is_left = True


def _checkpoint(connection: sqlite3.Connection) -> int | None:
    """Moves what can be moved without waiting for anyone; how many pages are left, or None if it failed."""
    try:
        _, pages, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error as error:
        # Nothing is lost: everything is in the log still, and the next checkpoint tries again.
        _logger.warning("the write-ahead log could not be moved into the file: %s; trying again later", error)
        return None
    return int(pages - moved)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
