"""The identity of a process: its pid together with its start time, in ticks since boot.

A pid alone is reused sooner or later; with its start time the identity is unique and independent of clock changes. The
text form includes the boot id, so that an identity written before a reboot never matches a process after the reboot.
"""

import os
from functools import cache
from typing import NamedTuple


class Identity(NamedTuple):
    """The identity of one process, different from other processes with the same pid."""

    pid: int
    started: int

    def text(self) -> str:
        return f"{self.pid}:{self.started}:{boot_id()}"


class Stat(NamedTuple):
    """The fields of /proc/PID/stat."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: int

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
    """Returns the identity of the process with this pid; None if there is none, or on systems without /proc."""
    found = stat(pid)
    return found.identity if found is not None else None


def is_alive(identity: Identity) -> bool:
    """Returns True if this process runs. A zombie does not count as running."""
    found = stat(identity.pid)
    return found is not None and found.started == identity.started and found.state not in "ZX"


def stat(pid: int | str) -> Stat | None:
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        line = os.read(descriptor, 1024)
    except OSError:
        return None  # the process ended meanwhile
    finally:
        os.close(descriptor)
    if b")" not in line:
        return None
    # The program name is in parentheses and may contain any characters, including parentheses and spaces.
    fields = line[line.rindex(b")") + 2 :].split()
    return Stat(int(pid), fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


@cache
def boot_id() -> str:
    """Returns the id of the current boot."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""
