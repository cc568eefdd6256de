"""Which process a pid means: the pid together with the moment the process started, counted in ticks since boot.

A pid alone is used again sooner or later; with its start it is not, and no change of the clock touches it. As text an
identity carries the id of the boot as well, so that what was written down before a reboot never fits a process after.
"""

import os
from functools import cache
from typing import NamedTuple


class Identity(NamedTuple):
    """One process, never another with the same pid."""

    pid: int
    started: int

    def text(self) -> str:
        return f"{self.pid}:{self.started}:{boot_id()}"


class Stat(NamedTuple):
    """What the kernel says of a process in one line."""

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
    """The identity in a text, unless it is of another boot, or no identity at all."""
    pid, _, rest = text.partition(":")
    started, _, boot = rest.partition(":")
    if not (pid.isdecimal() and started.isdecimal()) or boot != boot_id():
        return None
    return Identity(int(pid), int(started))


def identity_of(pid: int) -> Identity | None:
    """Who has this pid now; None for nobody, or a system that does not say."""
    found = stat(pid)
    return found.identity if found is not None else None


def is_alive(identity: Identity) -> bool:
    """Whether this very process runs. One that has ended and waits for its parent to ask does not."""
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
        return None  # it ended between the two
    finally:
        os.close(descriptor)
    if b")" not in line:
        return None
    # The name of the program stands in parentheses and may contain anything, parentheses and spaces as well.
    fields = line[line.rindex(b")") + 2 :].split()
    return Stat(int(pid), fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


@cache
def boot_id() -> str:
    """Which boot of the machine this is."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""
