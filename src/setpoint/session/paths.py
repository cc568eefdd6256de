"""What a session keeps on disk, and where. The directory outlives the session: it holds the past of the app."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Self

from setpoint.session.locks import locked
from setpoint.session.registry import TOLD, Session, state_directory

# As much of a log as its last line may take.
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
        """Every revision, of this session and of those before it."""
        return self.data / "store.sqlite3"

    @property
    def workloads(self) -> Path:
        """The output of what runs."""
        return self.data / "workloads"

    @property
    def applied(self) -> Path:
        """What was applied last; it is there from the first time on until all of it has come to an end."""
        return self.data / "applied.json"

    @property
    def attended(self) -> Path:
        """Whose end is the end of the session, too: the process that shows it in a terminal. None when detached."""
        return self.data / "attended"

    @property
    def record(self) -> Path:
        """What the session was, once it has ended."""
        return self.data / TOLD

    @property
    def lock(self) -> Path:
        """Held by the host for as long as it runs."""
        return self.data / "lock"

    @property
    def log(self) -> Path:
        """What the host has to say."""
        return self.data / "host.log"

    @property
    def crashed(self) -> Path:
        """The past of a session that was not ended, moved aside by the next one."""
        return self.data / "crashed"

    def held(self) -> AbstractContextManager[bool]:
        """Whether no host has the session, whatever its process is called where we are; none that had it before can
        take it meanwhile."""
        # Made where there is none, it would look like a sign of life.
        return locked(self.lock, make=False)

    def last_line(self) -> str:
        """The last line of the log; nothing where there is none."""
        lines = end_of(self.log, _LAST_BYTES).split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def end_of(path: Path, most: int) -> str:
    """The text of a file, or so many bytes of its end where it is longer; nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
