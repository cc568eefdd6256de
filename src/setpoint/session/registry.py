"""Sessions: which apps run on this machine, in which directory, and how to reach each.

Every session is a file of its own in the user's state directory, written at once and readable by its user alone. It
names the process that serves it so that no other process with the same pid is ever taken for it; a session whose
process is gone is dead, and whoever comes by may clear it away.
"""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from setpoint.workload.process.identity import identity_of, is_alive, parse

_SUFFIX = ".json"
# What the directory of a session that has ended says of it.
TOLD = "session.json"


class Session(msgspec.Struct, frozen=True, rename="camel"):
    """One app that runs, or ran."""

    app: str
    # Where its file is; commands in this directory or below it mean this session.
    directory: str
    # The process that serves it, as `Identity.text` writes it.
    process: str
    kubeconfig: str
    url: str
    dashboard: str = ""
    # RFC 3339.
    started: str = ""
    # The directory of its own, with its store and its logs.
    data: str = ""
    # The app file, and the variants of it that were chosen.
    file: str = ""
    profiles: tuple[str, ...] = ()
    # The archive it was opened from, to be read only, and the moment that was made at: there it is always that late.
    imported: str = ""
    exported: str = ""
    # Of one that is no more: when it ended, as far as that is known, and whether somebody had asked for it.
    ended: str = ""
    crashed: bool = False

    @property
    def id(self) -> str:
        return session_id(self.app, self.directory)

    @property
    def pid(self) -> int:
        return int(self.process.partition(":")[0])

    @property
    def is_alive(self) -> bool:
        """Whether its process still runs."""
        found = parse(self.process)
        return found is not None and is_alive(found)

    def is_called(self, name: str) -> bool:
        """Whether a name means it: its app's, or its id."""
        return name in (self.app, self.id)

    def is_at(self, directory: Path) -> bool:
        """Whether it is of a directory, or of one above it."""
        place = directory.resolve()
        return Path(self.directory) in (place, *place.parents)


def session_id(app: str, directory: str) -> str:
    """A name that no other session has: the app's, and four digits that stand for the directory."""
    return f"{app}-{sha256(directory.encode()).hexdigest()[:4]}"


def process_identity() -> str:
    """This very process, for a session that it serves."""
    found = identity_of(os.getpid())
    return found.text() if found is not None else f"{os.getpid()}:0:"


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where Setpoint keeps what it knows of this user's sessions."""
    state = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME") or Path.home()) / ".local" / "state"
    return Path(state) / "setpoint"


class Sessions:
    """All sessions of a user, by the files in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "sessions"

    @property
    def directory(self) -> Path:
        """Where their files are, and each one's directory by its id."""
        return self._directory

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Those of the user whose environment this is."""
        return cls(state_directory(environ))

    def add(self, session: Session) -> None:
        """Records a session, in the place of an earlier one of the same app and directory. Raises OSError."""
        from setpoint.server import secret_files
        from setpoint.store.files import make_directory

        make_directory(self._directory)
        secret_files.write(self._path(session), msgspec.json.encode(session))

    def remove(self, session: Session, *, ended: str = "", crashed: bool = False) -> None:
        """Forgets that a session runs, unless another one has taken its place since. Its own directory, if it has one,
        tells from then on what it was: `past` finds it. Raises OSError."""
        from setpoint.server import secret_files

        if self._read(self._path(session)) != session:
            return
        if session.data and Path(session.data).is_dir():
            told = msgspec.structs.replace(session, ended=ended, crashed=crashed)
            secret_files.write(Path(session.data) / TOLD, msgspec.json.encode(told))
        self._path(session).unlink(missing_ok=True)

    def all(self) -> list[Session]:
        """Every session that is recorded, dead ones too, the oldest first. A file that is none is passed over."""
        try:
            paths = [path for path in self._directory.iterdir() if path.suffix == _SUFFIX]
        except OSError:
            return []
        found = [session for path in paths if (session := self._read(path)) is not None]
        return sorted(found, key=lambda session: (session.started, session.id))

    def alive(self) -> list[Session]:
        return [session for session in self.all() if session.is_alive]

    def dead(self) -> list[Session]:
        return [session for session in self.all() if not session.is_alive]

    def past(self) -> list[Session]:
        """Those that have ended and left a directory, the oldest first."""
        running = {session.id for session in self.all()}
        try:
            paths = [path / TOLD for path in self._directory.iterdir() if path.is_dir()]
        except OSError:
            return []
        found = [session for path in paths if (session := self._read(path)) is not None and session.id not in running]
        return sorted(found, key=lambda session: (session.started, session.id))

    def here(self, directory: Path, app: str = "") -> list[Session]:
        """The running sessions of a directory: those of the nearest one at or above it that has any."""
        running = [session for session in self.alive() if app in ("", session.app)]
        for place in (directory.resolve(), *directory.resolve().parents):
            if found := [session for session in running if Path(session.directory) == place]:
                return found
        return []

    def named(self, name: str) -> list[Session]:
        """The running sessions that a name means."""
        return [session for session in self.alive() if session.is_called(name)]

    def _path(self, session: Session) -> Path:
        return self._directory / f"{session.id}{_SUFFIX}"

    def _read(self, path: Path) -> Session | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Session)
        except (OSError, msgspec.DecodeError):
            return None
