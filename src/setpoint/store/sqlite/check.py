"""Verifies a file: SQLite's own structures, every checksum, and a log without gaps.

A small file is checked before the store opens. A large one is checked in the background while the store is in use, in
steps that let other work run; damage closes the store.
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
    """Raises Damaged if a check fails. `pause` is called between steps; the check ends early when `pause` returns
    False. In a `sparse` log revisions may be missing."""
    try:
        connection.execute("BEGIN")  # a consistent view, whatever is committed meanwhile
        findings = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
        if findings != ["ok"]:
            raise Damaged(path, "; ".join(findings).replace("\n", " "))
        if pause():
            _check_rows(path, connection, pause, sparse)
        connection.execute("COMMIT")
    except FAILURES as error:
        raise translate(error, path) from error


def check_length(path: Path, connection: sqlite3.Connection) -> None:
    """Raises Damaged if a file with an empty write-ahead log does not end at a page boundary: the file was truncated,
    though SQLite would read the missing bytes as zeros."""
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
    expected = bounds.oldest + 1  # the expected revision of the next entry after the oldest
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
