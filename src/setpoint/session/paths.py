"""The files of a session. The directory outlives the session, because the directory holds the history of the app."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Self

from setpoint.session.locks import locked
from setpoint.session.registry import TOLD, Session, state_directory

# The maximum length of a last line.
_LAST_BYTES = 4096


class Places(NamedTuple):
    """The files of one session."""

    data: Path

    @classmethod
    def of(cls, environ: Mapping[str, str], session_id: str) -> Self:
        return cls(state_directory(environ) / "sessions" / session_id)

    @classmethod
    def of_session(cls, session: Session) -> Self:
        return cls(Path(session.data))

    @property
    def kubeconfig(self) -> Path:
        return self.data / "kubeconfig"

    @property
    def store(self) -> Path:
        """The store with all revisions of this and earlier runs."""
        return self.data / "store.sqlite3"

    @property
    def workloads(self) -> Path:
        """The logs of workloads."""
        return self.data / "workloads"

    @property
    def telemetry(self) -> Path:
        """The traces, metrics and logs that the services of this and earlier runs exported, with the receiver's key."""
        return self.data / "telemetry"

    @property
    def applied(self) -> Path:
        """The objects applied last; exists from the first apply until the session has ended completely."""
        return self.data / "applied.json"

    @property
    def runs(self) -> Path:
        """The records and objects of earlier runs."""
        return self.data / "runs"

    @property
    def attended(self) -> Path:
        """The process that the session is attached to; missing if detached."""
        return self.data / "attended"

    @property
    def record(self) -> Path:
        """The record of an ended session."""
        return self.data / TOLD

    @property
    def lock(self) -> Path:
        """The lock that the host holds while running."""
        return self.data / "lock"

    @property
    def isolated_ports(self) -> Path:
        """The ports of an isolated copy, by the ports of the app file."""
        return self.data / "isolated-ports.json"

    @property
    def log(self) -> Path:
        """The log of the host."""
        return self.data / "host.log"

    @property
    def crashed(self) -> Path:
        """The data of a crashed session, moved here by the next one."""
        return self.data / "crashed"

    def try_lock(self) -> AbstractContextManager[bool]:
        """Yields True if no host holds the session, even one in another container, and keeps hosts out meanwhile."""
        # Creating the file would look like a heartbeat.
        return locked(self.lock, make=False)

    def last_line(self) -> str:
        """Returns the last line of the log; empty if there is none."""
        lines = end_of(self.log, _LAST_BYTES).split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def end_of(path: Path, most: int) -> str:
    """Returns the last `most` bytes of a file as text; empty if the file cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
