"""The layout of the file, and the migration of files of older layouts.

`item` is the state: one row per key, also for a deleted key that has entries. `entry` is the log: append-only except
for compaction and purges; a value is mostly a difference from the entry before, which the row references. Only
self-contained entries (whole values, deletions and tombstones, forms below 3) are in the index by key, so that most
commits need not update the index. `actor` has one row per actor. `meta` has one row.

A new file is created under another name and renamed, so that a file is always a complete store.
"""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from setpoint.store.bounds import Bounds
from setpoint.store.files import make_file
from setpoint.store.sqlite.checkpoint import LONG
from setpoint.store.sqlite.errors import FAILURES, Damaged, UnknownLayout, translate
from setpoint.store.sqlite.rows import ITEM_COLUMNS, ItemRow, MetaRow, item_checksum

Durability = Literal["full", "normal", "off"]

LAYOUT = 3
BUSY_TIMEOUT = 10  # seconds
APPLICATION = 0x53745074  # "StPt", in SQLite's header: identifies a store for `file` and for this module

_TABLES = """
CREATE TABLE meta (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    oldest INTEGER NOT NULL,
    swept INTEGER NOT NULL,
    restored INTEGER NOT NULL,
    gaps TEXT NOT NULL,
    purged INTEGER NOT NULL,
    scrub INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE actor (id INTEGER PRIMARY KEY, data BLOB NOT NULL UNIQUE);
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    entry INTEGER NOT NULL,
    created INTEGER NOT NULL,
    expires REAL,
    depth INTEGER NOT NULL,
    live INTEGER NOT NULL,
    value BLOB,
    checksum INTEGER NOT NULL
);
CREATE INDEX item_live ON item (key, live) WHERE live;
CREATE INDEX item_expires ON item (expires) WHERE expires IS NOT NULL;
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    created INTEGER NOT NULL,
    time REAL NOT NULL,
    actor INTEGER NOT NULL,
    cause BLOB,
    form INTEGER NOT NULL,
    value BLOB,
    checksum INTEGER NOT NULL
);
CREATE INDEX entry_key ON entry (key) WHERE form < 3;
"""


def connect(path: Path, durability: Durability = "full") -> sqlite3.Connection:
    """Opens a connection that begins and ends transactions only explicitly, and never checkpoints by itself."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_TIMEOUT,
    )
    try:
        connection.execute(f"PRAGMA synchronous = {durability}")
        connection.execute("PRAGMA secure_delete = FAST")  # only without extra page writes; a scrub does the rest
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA journal_size_limit = {LONG}")
        connection.execute("PRAGMA cache_size = -8000")
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(path: Path, durability: Durability) -> None:
    """Creates a missing file, and migrates an older one to the current layout. Raises Damaged or UnknownLayout."""
    if not path.exists():
        _create(path, durability)
        return
    if path.stat().st_size == 0:
        raise Damaged(path, "it is empty, which a store never is")
    try:
        connection = connect(path, durability)
        try:
            _migrate(path, connection)
        finally:
            connection.close()
    except FAILURES as error:
        raise translate(error, path) from error


def _create(path: Path, durability: Durability) -> None:
    made = path.with_name(path.name + ".new")
    for leftover in (made, made.with_name(made.name + "-wal"), made.with_name(made.name + "-shm")):
        leftover.unlink(missing_ok=True)
    # SQLite gives its auxiliary files the mode of the database.
    make_file(made)
    try:
        connection = sqlite3.connect(made, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {durability}")
            connection.executescript(f"BEGIN; {_TABLES}")
            connection.execute("INSERT INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?)", MetaRow.of(Bounds(0, 0), 0, 0))
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
            connection.execute("COMMIT")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translate(error, path) from error
    if durability != "off":
        _sync(made)
    made.rename(path)
    if durability != "off":
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _migrate(path: Path, connection: sqlite3.Connection) -> None:
    application, layout = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise UnknownLayout(f"{path} is an SQLite file, but not a store of Setpoint; choose another file")
    if layout > LAYOUT or layout < min(STEPS):
        raise UnknownLayout(
            f"{path} has layout {layout}, and this version of Setpoint knows {min(STEPS)} to {LAYOUT}; use a newer one"
        )
    while layout < LAYOUT:
        connection.execute("BEGIN IMMEDIATE")
        try:
            STEPS[layout](connection)
            layout += 1
            connection.execute(f"PRAGMA user_version = {layout}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _from_1(connection: sqlite3.Connection) -> None:
    """Migrates layout 1, which had checksums on entries only, detected live items by their value, had every entry in
    the index by key, and did not support restoring."""
    connection.execute("ALTER TABLE meta ADD COLUMN restored INTEGER NOT NULL DEFAULT 0")
    connection.execute("ALTER TABLE meta ADD COLUMN gaps TEXT NOT NULL DEFAULT '[]'")
    connection.execute("ALTER TABLE meta ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
    oldest, swept = connection.execute("SELECT oldest, swept FROM meta").fetchone()
    connection.execute("UPDATE meta SET checksum = ?", (MetaRow.of(Bounds(oldest, 0), swept, 0).checksum,))
    connection.execute("ALTER TABLE item ADD COLUMN live INTEGER NOT NULL DEFAULT 0")
    connection.execute("ALTER TABLE item ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
    connection.execute("UPDATE item SET live = value IS NOT NULL")
    connection.execute("DROP INDEX entry_key")
    connection.execute("CREATE INDEX entry_key ON entry (key) WHERE form < 3")
    connection.execute("DROP INDEX item_live")
    connection.execute("CREATE INDEX item_live ON item (key, live) WHERE live")
    for (id,) in connection.execute("SELECT id FROM item").fetchall():  # noqa: A001 - the column's own name
        row = ItemRow._make(connection.execute(f"SELECT {ITEM_COLUMNS} FROM item WHERE id = ?", (id,)).fetchone())
        checksum = item_checksum(row.key, row.entry, row.created, row.expires, row.depth, row.value)
        connection.execute("UPDATE item SET checksum = ? WHERE id = ?", (checksum, row.id))


def _from_2(connection: sqlite3.Connection) -> None:
    """Migrates layout 2, which did not support purges."""
    connection.execute("ALTER TABLE meta ADD COLUMN purged INTEGER NOT NULL DEFAULT 0")
    connection.execute("ALTER TABLE meta ADD COLUMN scrub INTEGER NOT NULL DEFAULT 0")


# The migration from each older layout to the next; each step is one transaction.
STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _from_1, 2: _from_2}
