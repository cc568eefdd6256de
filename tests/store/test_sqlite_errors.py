"""Errors of SQLite, of the disk and of decoding become errors of the store, each with its remedy."""

import sqlite3
from errno import EACCES, EIO, ENOSPC
from pathlib import Path

import msgspec
import pytest

from setpoint.store.contract import StoreError
from setpoint.store.files import Unsafe
from setpoint.store.sqlite.errors import FAILURES, Damaged, DiskFailed, NoSpace, translate

PATH = Path("somewhere/store.db")


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("as SQLite says")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        (OSError(ENOSPC, "full"), NoSpace, "store.db: no space left on the disk.*Free some space"),
        (OSError(EIO, "broken"), DiskFailed, "store.db: .*broken"),
        (Unsafe(EACCES, "others may write to it", "f"), DiskFailed, "^f: others may write to it$"),
        (msgspec.DecodeError("bad bytes"), Damaged, "cannot be read: bad bytes"),
        (sqlite_error(sqlite3.SQLITE_FULL), NoSpace, "store.db: no space left on the disk"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT), Damaged, "is damaged: as SQLite says.*Restore it"),
        (sqlite_error(sqlite3.SQLITE_NOTADB), Damaged, "is damaged: as SQLite says"),
        # An extended code has the basic one in its lowest byte.
        (sqlite_error(sqlite3.SQLITE_CORRUPT | 1 << 8), Damaged, "is damaged: as SQLite says"),
        (sqlite_error(sqlite3.SQLITE_IOERR | 3 << 8), DiskFailed, "Is the disk full, read-only or failing"),
        (sqlite_error(sqlite3.SQLITE_READONLY), DiskFailed, "nothing was written"),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), DiskFailed, "nothing was written"),
        (sqlite_error(sqlite3.SQLITE_PERM), DiskFailed, "nothing was written"),
        (sqlite_error(sqlite3.SQLITE_BUSY), StoreError, "store.db: SQLite failed: as SQLite says"),
        (sqlite3.ProgrammingError("closed"), StoreError, "store.db: SQLite failed: closed"),
    ],
)
def test_every_failure_has_its_error(error: Exception, expected: type[StoreError], words: str) -> None:
    assert isinstance(error, FAILURES)
    with pytest.raises(StoreError, match=words) as raised:
        raise translate(error, PATH)
    assert type(raised.value) is expected
