"""Whether a file is what was written: SQLite's own structures, every checksum, and a log without holes.

A small file is checked before it is opened. A large one is checked in the background while it is in use, in steps that
leave room for others; what it finds closes the store.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from setpoint.store.sqlite.delta import is_difference
from setpoint.store.sqlite.errors import FAILURES, Damaged, translate
from setpoint.store.sqlite.reader import Reader
from setpoint.store.sqlite.rows import ENTRY_COLUMNS, ITEM_COLUMNS, EntryRow, ItemRow, revision_of

# Files up to this many bytes are checked before they are opened, which takes well under a second.
SMALL = 16 * 1024 * 1024
_STEP = 500  # rows


def check(
    path: Path, connection: sqlite3.Connection, pause: Callable[[], bool] = lambda: True, *, sparse: bool = False
) -> None:
    """Raises Damaged if anything is wrong. `pause` is called between steps; when it says no, the check ends early. In a
    `sparse` log revisions may be missing."""
    try:
        connection.execute("BEGIN")  # all of it as of one moment, whatever is committed meanwhile
        findings = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
        if findings != ["ok"]:
            raise Damaged(path, "; ".join(findings).replace("\n", " "))
        if pause():
            _check_rows(path, connection, pause, sparse)
        connection.execute("COMMIT")
    except FAILURES as error:
        raise translate(error, path) from error


def check_length(path: Path, connection: sqlite3.Connection) -> None:
    """Raises Damaged if a file whose write-ahead log is empty does not end with a page: something was cut off, though
    SQLite would take what is missing for zeros."""
    try:
        pages, page_size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    except FAILURES as error:
        raise translate(error, path) from error
    size = path.stat().st_size
    if size != pages * page_size:
        raise Damaged(path, f"it has {size} bytes instead of {pages * page_size}")


def _check_rows(path: Path, connection: sqlite3.Connection, pause: Callable[[], bool], sparse: bool) -> None:
    bounds = Reader(path, connection).bounds()
    restored = dict(bounds.gaps)
    expected = bounds.oldest + 1  # the revision that the next entry after the oldest has to be of
    newest: dict[int, int] = {}  # the newest entry of each key so far
    after = -1
    while True:
        rows = connection.execute(f"SELECT {ENTRY_COLUMNS} FROM entry WHERE id > ? ORDER BY id LIMIT {_STEP}", (after,))
        entries = [EntryRow._make(row) for row in rows]
        if not entries:
            break
        for entry in entries:
            if not entry.is_sound():
                raise Damaged(path, f"the checksum of an entry of revision {entry.revision} does not match")
            revision = entry.revision
            while revision > expected and expected - 1 in restored:
                expected = restored[expected - 1] + 1
            if revision > expected and not sparse:
                raise Damaged(path, f"revision {expected} is missing from the log")
            if revision >= expected:
                expected = revision + 1
            known = newest.get(entry.key, 0)
            forgotten = not is_difference(entry.form) and revision_of(entry.previous) <= bounds.oldest
            if entry.previous != known and entry.previous and not forgotten:
                raise Damaged(path, f"what revision {revision} replaced is missing")
            newest[entry.key] = entry.id
        after = entries[-1].id
        if not pause():
            return
    last = ""
    while True:
        rows = connection.execute(f"SELECT {ITEM_COLUMNS} FROM item WHERE key > ? ORDER BY key LIMIT {_STEP}", (last,))
        items = [ItemRow._make(row) for row in rows]
        if not items:
            return
        for item in items:
            if not item.is_sound():
                raise Damaged(path, f"the checksum of the key {item.key!r} does not match")
            if newest.get(item.id) != item.entry:
                raise Damaged(path, f"the log does not know the key {item.key!r} as of revision {item.revision}")
        last = items[-1].key
        if not pause():
            return
