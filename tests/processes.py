"""The state of processes of this machine, for tests."""

from pathlib import Path


def has_ended(pid: int) -> bool:
    """Returns True if no process has this id, or if the process only waits to be reaped."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the process may end between open and read
        return True
