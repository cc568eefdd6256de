"""The errors of a store file, each with its remedy."""

import sqlite3
from errno import ENOSPC
from pathlib import Path

import msgspec

from setpoint.store.contract import StoreError
from setpoint.store.files import Unsafe


class Damaged(StoreError):
    """The file, or a row of the file, is damaged. The store did not change the file."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} is damaged: {problem}. Nothing was changed. "
            f"Restore it from a copy or a snapshot, or move it away to begin anew"
        )


class InUse(StoreError):
    """Another process holds the file."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is in use by {holder}; stop it, or choose another file")
        self.holder = holder


class NoSpace(StoreError):
    """There is no space left. The commit changed no data, and the store continues when there is space again."""


class DiskFailed(StoreError):
    """The disk refused to read or write."""


class UnknownLayout(StoreError):
    """The file is not a store, or has a newer layout than this version supports."""


_FULL = "{}: no space left on the disk; nothing was written. Free some space and try again"

# The exceptions that using a file may raise: errors of SQLite and of the disk, and decoding errors of damaged text or
# msgpack.
FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError, msgspec.DecodeError)


def translate(error: Exception, path: Path) -> StoreError:
    """Translates one of those exceptions to an error of the store."""
    if isinstance(error, Unsafe):
        return DiskFailed(str(error))
    if isinstance(error, OSError):
        return NoSpace(_FULL.format(path)) if error.errno == ENOSPC else DiskFailed(f"{path}: {error}")
    if not isinstance(error, sqlite3.Error):
        return Damaged(path, f"it cannot be read: {error}")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return NoSpace(_FULL.format(path))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Damaged(path, str(error))
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return DiskFailed(f"{path}: {error}; nothing was written. Is the disk full, read-only or failing?")
    return StoreError(f"{path}: SQLite failed: {error}")
