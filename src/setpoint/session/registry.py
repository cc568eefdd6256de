"""The registry of sessions: the apps that run on this machine, their directories and addresses.

Each session is a file in the user's state directory, written atomically and readable by its user only. The file
identifies the host process uniquely, even if its pid is reused. A session without its process is dead, and any command
may clean up after the session.
"""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from setpoint.workload.process.identity import identity_of, is_alive, parse

_SUFFIX = ".json"
# The name of the record in the directory of an ended session.
TOLD = "session.json"


class Session(msgspec.Struct, frozen=True, rename="camel"):
    """A running or ended app."""

    app: str
    # The directory of the app file. Commands in this directory or below use this session.
    directory: str
    # The host process, as written by `Identity.text`.
    process: str
    kubeconfig: str
    url: str
    dashboard: str = ""
    # RFC 3339.
    started: str = ""
    # The directory with the store and logs.
    data: str = ""
    # The app file and the enabled profiles.
    file: str = ""
    profiles: tuple[str, ...] = ()
    # The app of which this one is an isolated copy.
    isolated_from: str = ""
    # The archive of an imported session, and the time of its export, at which its clock stands.
    imported: str = ""
    exported: str = ""
    # For ended sessions: the end time if known, and whether the session crashed.
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
        """True if the host process is running."""
        found = parse(self.process)
        return found is not None and is_alive(found)

    def is_called(self, name: str) -> bool:
        """Returns True if the name is the app or the id of the session."""
        return name in (self.app, self.id)

    def is_at(self, directory: Path) -> bool:
        """Returns True if the session belongs to the directory or one of its parents."""
        place = directory.resolve()
        return Path(self.directory) in (place, *place.parents)


def session_id(app: str, directory: str) -> str:
    """Returns the unique id of a session: the app and four hex digits of the directory's hash."""
    return f"{app}-{sha256(directory.encode()).hexdigest()[:4]}"


def process_identity() -> str:
    """Returns the identity of the current process."""
    found = identity_of(os.getpid())
    return found.text() if found is not None else f"{os.getpid()}:0:"


def state_directory(environ: Mapping[str, str]) -> Path:
    """Returns the state directory of the user."""
    state = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME") or Path.home()) / ".local" / "state"
    return Path(state) / "setpoint"


class Sessions:
    """All sessions of a user, stored as files in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "sessions"

    @property
    def directory(self) -> Path:
        """The directory of the session files, and of each session's data directory."""
        return self._directory

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Returns the sessions of the user with this environment."""
        return cls(state_directory(environ))

    def add(self, session: Session) -> None:
        """Records a session. Replaces an earlier one of the same app and directory. Raises OSError."""
        from setpoint.server import secret_files
        from setpoint.store.files import make_directory

        make_directory(self._directory)
        secret_files.write(self._path(session), msgspec.json.encode(session))

    def remove(self, session: Session, *, ended: str = "", crashed: bool = False) -> None:
        """Removes a session from the running ones, unless another has replaced it. Writes the record of the ended
        session to its data directory, where `past` finds it. Raises OSError.
        """
        from setpoint.server import secret_files

        if self._read(self._path(session)) != session:
            return
        if session.data and Path(session.data).is_dir():
            record = msgspec.structs.replace(session, ended=ended, crashed=crashed)
            secret_files.write(Path(session.data) / TOLD, msgspec.json.encode(record))
        self._path(session).unlink(missing_ok=True)

    def all(self) -> list[Session]:
        """Returns all recorded sessions, including dead ones, oldest first. Invalid files are skipped."""
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
        """Returns the ended sessions with a data directory, oldest first."""
        running = {session.id for session in self.all()}
        try:
            paths = [path / TOLD for path in self._directory.iterdir() if path.is_dir()]
        except OSError:
            return []
        found = [session for path in paths if (session := self._read(path)) is not None and session.id not in running]
        return sorted(found, key=lambda session: (session.started, session.id))

    def here(self, directory: Path, app: str = "") -> list[Session]:
        """Returns the running sessions of the nearest directory, at or above the given one, that has any."""
        running = [session for session in self.alive() if app in ("", session.app)]
        for place in (directory.resolve(), *directory.resolve().parents):
            if found := [session for session in running if Path(session.directory) == place]:
                return found
        return []

    def named(self, name: str) -> list[Session]:
        """Returns the running sessions with this app name or id. An id takes precedence."""
        found = [session for session in self.alive() if session.is_called(name)]
        return [session for session in found if session.id == name] or found

    def _path(self, session: Session) -> Path:
        return self._directory / f"{session.id}{_SUFFIX}"

    def _read(self, path: Path) -> Session | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Session)
        except (OSError, msgspec.DecodeError):
            return None
