"""The identity of a process: its pid together with its start time. On Linux, start times are ticks since boot.

A pid alone is reused sooner or later; with its start time the identity is unique and independent of clock changes. The
text form includes the boot id, so that an identity written before a reboot never matches a process after the reboot.
"""

from typing import NamedTuple

from setpoint.machine.chosen import system
from setpoint.machine.layer import ProcessFields


class Identity(NamedTuple):
    """The identity of one process, different from other processes with the same pid."""

    pid: int
    started: int

    def text(self) -> str:
        return f"{self.pid}:{self.started}:{boot_id()}"


class Stat(ProcessFields):
    """The fields of a process."""

    __slots__ = ()

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.started)


def parse(text: str) -> Identity | None:
    """Parses the text form of an identity; returns None if invalid, or from another boot."""
    pid, _, rest = text.partition(":")
    started, _, boot = rest.partition(":")
    if not (pid.isdecimal() and started.isdecimal()) or boot != boot_id():
        return None
    return Identity(int(pid), int(started))


def identity_of(pid: int) -> Identity | None:
    """Returns the identity of the process with this pid; None if there is none."""
    found = stat(pid)
    return found.identity if found is not None else None


def is_alive(identity: Identity) -> bool:
    """Returns True if this process runs. A zombie does not count as running."""
    found = stat(identity.pid)
    return found is not None and found.started == identity.started and found.state not in "ZX"


def stat(pid: int | str) -> Stat | None:
    """Returns the fields of a process; None if ended."""
    found = system.fields(int(pid))
    return None if found is None else Stat(*found)


def boot_id() -> str:
    """Returns the id of the current boot."""
    return system.boot_id()
