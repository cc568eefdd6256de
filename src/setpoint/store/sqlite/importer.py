"""Creates a file with the past of another store: the same revisions, times, actors and causes."""

from collections.abc import Iterable
from pathlib import Path

from setpoint.store.bounds import Bounds
from setpoint.store.contract import LogEntry
from setpoint.store.sqlite.errors import FAILURES, translate
from setpoint.store.sqlite.journal import Journal
from setpoint.store.sqlite.layout import connect, prepare
from setpoint.store.sqlite.reader import Reader


def fill(path: Path, entries: Iterable[LogEntry], bounds: Bounds) -> None:
    """Creates the file of a store from entries, in the order of their log, which are read one by one. Passes on the
    exceptions of reading them; the file is then unusable, as after a full disk. Raises StoreError."""
    prepare(path, "off")
    try:
        connection = connect(path, "off")
        try:
            journal = Journal(Reader(path, connection))
            connection.execute("BEGIN IMMEDIATE")
            journal.fill(entries, {})
            journal.begin_at(bounds)
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
    except FAILURES as error:
        raise translate(error, path) from error
