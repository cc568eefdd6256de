"""The records that the control planes of a user share: persistent workloads, their leases, and ports.

The records are a small SQLite file. One control plane at a time manages a workload: a lease names the holding process,
and a lease of an ended process is void. If the file cannot be used (locked, read-only, damaged, of a newer version),
the records are kept in memory only, and `problem` has the reason.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from setpoint.objects.tree import Object
from setpoint.store.files import make_directory
from setpoint.workload.process.identity import Identity, is_alive, parse

VERSION = 1
# The time to wait for the lock of another control plane.
_BUSY_SECONDS = 0.5
_TABLES = """
CREATE TABLE IF NOT EXISTS kept (kind TEXT, name TEXT, workload TEXT, record TEXT, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS leases (kind TEXT, name TEXT, holder TEXT, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS ports (owner TEXT PRIMARY KEY, port INTEGER);
"""


class PersistentWorkload(NamedTuple):
    """A persistent workload with its record."""

    kind: str
    name: str
    workload: str
    record: Object


class Records:
    """The records of one control plane. `holder` is its process, which may have several control planes: `session`
    distinguishes them."""

    def __init__(self, path: Path | None, holder: Identity, session: str = "") -> None:
        self._holder = f"{holder.text()}/{session}"
        self.problem = ""
        # True: the records survive this control plane.
        self.lasting = True
        self._connection = self._opened(path)
        self.ports: MutableMapping[str, int] = _Ports(self)

    def _opened(self, path: Path | None) -> sqlite3.Connection:
        if path is not None:
            try:
                return _open(path)
            except (OSError, sqlite3.Error, _NewerError) as error:
                self.problem = f"{path} cannot be used ({error}): persistent workloads are not recorded"
        self.lasting = False
        return _prepared(sqlite3.connect(":memory:", isolation_level=None))

    def close(self) -> None:
        """Releases all leases and closes the file."""
        self.run("DELETE FROM leases WHERE holder = ?", self._holder)
        self._connection.close()

    # Persistent workloads

    def kept(self, kind: str, name: str) -> Object | None:
        """Returns the record of a workload, or None."""
        for (record,) in self.run("SELECT record FROM kept WHERE kind = ? AND name = ?", kind, name):
            found: Object = msgspec.json.decode(record)
            return found
        return None

    def all_kept(self, workload: str = "") -> list[PersistentWorkload]:
        """Returns all records, or those of one workload id."""
        rows = self.run(
            "SELECT kind, name, workload, record FROM kept WHERE ? IN ('', workload) ORDER BY 1, 2", workload
        )
        return [
            PersistentWorkload(kind, name, owner, msgspec.json.decode(record)) for kind, name, owner, record in rows
        ]

    def keep(self, kind: str, name: str, record: Mapping[str, object], workload: str = "") -> bool:
        """Records a workload, and replaces its previous record. Returns False on failure."""
        text = msgspec.json.encode(record).decode()
        before = self.problem
        self.run("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", kind, name, workload, text)
        return self.problem == before

    def drop(self, kind: str, name: str) -> None:
        """Deletes the record of a workload."""
        self.run("DELETE FROM kept WHERE kind = ? AND name = ?", kind, name)

    # Leases

    def acquire(self, kind: str, name: str) -> str:
        """Acquires the lease of a workload. Returns a description of the holder if another living process holds the
        lease; an empty string on success."""
        with suppress(sqlite3.Error):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            for (holder,) in self.run("SELECT holder FROM leases WHERE kind = ? AND name = ?", kind, name):
                identity = parse(holder.partition("/")[0])
                if holder != self._holder and identity is not None and is_alive(identity):
                    return f"the control plane with pid {identity.pid}"
            self.run("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", kind, name, self._holder)
            return ""
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute("COMMIT")

    def release(self, kind: str, name: str) -> None:
        """Releases the lease of a workload."""
        self.run("DELETE FROM leases WHERE kind = ? AND name = ? AND holder = ?", kind, name, self._holder)

    def run(self, statement: str, *values: object) -> list[tuple[str, ...]]:
        """Returns the rows of a statement. If the file has become unusable, returns none and sets `problem`."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.problem = f"the records of persistent workloads cannot be used: {error}"
            return []


def records_path(environ: Mapping[str, str]) -> Path:
    """Returns the path of a user's records."""
    if given := environ.get("DCP_STATE_STORE_PATH"):
        return Path(given)
    state = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "setpoint" / "workloads.sqlite3"


class _NewerError(Exception):
    """The file has a newer, unknown version."""


def _open(path: Path) -> sqlite3.Connection:
    make_directory(path.parent)
    # Readable only by our own user: environments may be recorded.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise _NewerError(f"written by a newer version of Setpoint: version {version}")
        # Safe against a crash of the process. After a power failure the last records may be lost, but so are the
        # recorded resources; a disk sync for every port would take longer than the start of the process that listens.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return _prepared(connection)
    except BaseException:
        connection.close()
        raise


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
    return connection


class _Ports(MutableMapping[str, int]):
    """The ports of owners."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def __getitem__(self, owner: str) -> int:
        for (port,) in self._records.run("SELECT port FROM ports WHERE owner = ?", owner):
            return int(port)
        raise KeyError(owner)

    def __setitem__(self, owner: str, port: int) -> None:
        self._records.run("INSERT OR REPLACE INTO ports VALUES (?, ?)", owner, port)

    def __delitem__(self, owner: str) -> None:
        self._records.run("DELETE FROM ports WHERE owner = ?", owner)

    def __iter__(self) -> Iterator[str]:
        return (owner for (owner,) in self._records.run("SELECT owner FROM ports ORDER BY 1"))

    def __len__(self) -> int:
        return int(self._records.run("SELECT count(*) FROM ports")[0][0])
