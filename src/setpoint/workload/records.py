"""What this user's control planes know of what outlives them: persistent workloads, who takes care of each, and ports.

It is a small SQLite file that several control planes share. A thing is taken care of by one at a time: a lease names
the process that holds it, and a process that is gone holds nothing. A file that cannot be used (locked, read-only,
damaged, of a newer version) is done without: what is recorded is then forgotten with us, and `problem` says why.
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
# How long another control plane may be at it before we do without.
_BUSY_SECONDS = 0.5
_TABLES = """
CREATE TABLE IF NOT EXISTS kept (kind TEXT, name TEXT, workload TEXT, record TEXT, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS leases (kind TEXT, name TEXT, holder TEXT, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS ports (owner TEXT PRIMARY KEY, port INTEGER);
"""


class Kept(NamedTuple):
    """A persistent workload, and what is recorded of it."""

    kind: str
    name: str
    workload: str
    record: Object


class Records:
    """The records, as one control plane reads and writes them. `holder` is its process, which may have several of them:
    `session` tells these apart."""

    def __init__(self, path: Path | None, holder: Identity, session: str = "") -> None:
        self._holder = f"{holder.text()}/{session}"
        self.problem = ""
        # Whether others will find what is recorded.
        self.lasting = True
        self._connection = self._opened(path)
        self.ports: MutableMapping[str, int] = _Ports(self)

    def _opened(self, path: Path | None) -> sqlite3.Connection:
        if path is not None:
            try:
                return _open(path)
            except (OSError, sqlite3.Error, _NewerError) as error:
                self.problem = f"{path} cannot be used ({error}): what outlives this control plane is not recorded"
        self.lasting = False
        return _prepared(sqlite3.connect(":memory:", isolation_level=None))

    def close(self) -> None:
        """Gives back what is held, and ends."""
        self.run("DELETE FROM leases WHERE holder = ?", self._holder)
        self._connection.close()

    # What is kept

    def kept(self, kind: str, name: str) -> Object | None:
        """What is recorded of a thing."""
        for (record,) in self.run("SELECT record FROM kept WHERE kind = ? AND name = ?", kind, name):
            found: Object = msgspec.json.decode(record)
            return found
        return None

    def all_kept(self, workload: str = "") -> list[Kept]:
        """Everything that is recorded, or what belongs to one workload."""
        rows = self.run(
            "SELECT kind, name, workload, record FROM kept WHERE ? IN ('', workload) ORDER BY 1, 2", workload
        )
        return [Kept(kind, name, owner, msgspec.json.decode(record)) for kind, name, owner, record in rows]

    def keep(self, kind: str, name: str, record: Mapping[str, object], workload: str = "") -> bool:
        """Records a thing, in the place of what was recorded before. False: that was not possible."""
        text = msgspec.json.encode(record).decode()
        before = self.problem
        self.run("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", kind, name, workload, text)
        return self.problem == before

    def drop(self, kind: str, name: str) -> None:
        """Forgets a thing."""
        self.run("DELETE FROM kept WHERE kind = ? AND name = ?", kind, name)

    # Who takes care

    def take(self, kind: str, name: str) -> str:
        """Takes a thing into our care. Who has it instead, if somebody who lives does; nothing: we have it."""
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

    def give_back(self, kind: str, name: str) -> None:
        """Lets go of a thing."""
        self.run("DELETE FROM leases WHERE kind = ? AND name = ? AND holder = ?", kind, name, self._holder)

    def run(self, statement: str, *values: object) -> list[tuple[str, ...]]:
        """The rows that a statement gives. Where the file has become unusable there are none, and `problem` says so."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.problem = f"the records of persistent workloads cannot be used: {error}"
            return []


def records_path(environ: Mapping[str, str]) -> Path:
    """Where a user's control planes record what outlives them."""
    if given := environ.get("DCP_STATE_STORE_PATH"):
        return Path(given)
    state = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "setpoint" / "workloads.sqlite3"


class _NewerError(Exception):
    """The file is of a version that we do not know."""


def _open(path: Path) -> sqlite3.Connection:
    make_directory(path.parent)
    # Only our own user: environments may be recorded.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise _NewerError(f"a newer Setpoint made it: version {version}")
        # Safe from whatever happens to us. Should the machine lose power the last of it may be lost, and with it what
        # that told of is gone; to wait for the disk at every port would take longer than to start what listens there.
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
    """The ports that owners had."""

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
