"""How one tree of processes is stopped: asked once, given time, then killed until nothing of it is left.

Everything in the tree gets the signal, also daemons that have left the session and what is forked while we wait; what
is suspended is woken to hear it. A group gets a signal as a whole, so that nobody can slip away by forking. Whoever is
there when the time is up is killed, snapshot after snapshot, until one finds nobody.

This runs in the guardian: it knows real time only, and never waits itself. `step` is called when all whom `watched`
names have ended, or when `due` has come.
"""

import os
import select
import signal
import time

from setpoint.workload.process.identity import Identity, Stat, identity_of
from setpoint.workload.process.process_table import Table

# How long the kernel may take to end what was killed, and how often we look meanwhile.
KILL_SECONDS = 5.0
LOOK_SECONDS = 0.05


class Stopping:
    """One tree on its way out; `done` when nothing of it is left, or nothing more can be done."""

    def __init__(
        self,
        root: Identity | None,
        cookie: str,
        number: int,
        grace: float,
        *,
        now: float,
        spare: frozenset[int],
        known: frozenset[Identity] = frozenset(),
    ) -> None:
        self._root, self._cookie, self._signal, self._spare = root, cookie, number, spare
        self._deadline = now if number == signal.SIGKILL else now + grace
        self._known = set(known)
        self._asked: set[Identity] = set()
        self._killed: dict[Identity, str] = {}
        self._left: dict[Identity, str] = {}
        self.due = now
        self.done = False
        # pidfds of those who are expected to end.
        self.watched: dict[int, Identity] = {}

    def report(self) -> dict[str, list[tuple[int, str]] | int]:
        """How many were asked, who had to be killed, and who is still there; these with pid and name."""
        return {
            "asked": len(self._asked),
            "killed": [(identity.pid, name) for identity, name in self._killed.items() if identity not in self._left],
            "left": [(identity.pid, name) for identity, name in self._left.items()],
        }

    def ended(self, descriptor: int, now: float) -> None:
        """A watched process has ended."""
        os.close(descriptor)
        del self.watched[descriptor]
        if not self.watched:
            self.due = now

    def step(self, now: float, table: Table) -> None:
        members = table.tree(self._root, self._cookie, self._known)
        there = [found for pid, found in members.items() if pid not in self._spare]
        self._known.update(found.identity for found in there)
        if not there:
            self._finish()
        elif now < self._deadline:
            fresh = [found for found in there if found.identity not in self._asked]
            self._asked.update(found.identity for found in fresh)
            self._send(self._signal, fresh, table)
            for found in fresh:
                _signal(found.pid, signal.SIGCONT)
            self._watch(fresh)
            self.due = self._deadline if self.watched else now
        elif now < self._deadline + KILL_SECONDS:
            fresh = [found for found in there if found.identity not in self._killed]
            self._killed.update((found.identity, program_of(found.pid)) for found in fresh)
            self._send(signal.SIGKILL, there, table)
            self._watch(fresh)
            # Somebody new may have forked since: look again at once, and only then wait for the kernel.
            self.due = now if fresh else now + LOOK_SECONDS
        else:
            self._left = {found.identity: program_of(found.pid) for found in there}
            self._finish()

    def _send(self, number: int, to: list[Stat], table: Table) -> None:
        wanted = {found.pid for found in to}
        for group in {found.group for found in to}:
            # Only where the whole group is meant.
            in_group = {found.pid for found in table.stats.values() if found.group == group}
            if group > 1 and in_group <= wanted and _signal(-group, number):
                wanted -= in_group
        for pid in wanted:
            _signal(pid, number)

    def _watch(self, fresh: list[Stat]) -> None:
        watched = set(self.watched.values())
        for found in fresh:
            if found.identity not in watched and (descriptor := pidfd(found.identity)) is not None:
                self.watched[descriptor] = found.identity

    def _finish(self) -> None:
        self.done = True
        for descriptor in self.watched:
            os.close(descriptor)
        self.watched.clear()


def finish(stop: Stopping) -> None:
    """Stops a tree and returns when that is done: for processes that have nothing else to do."""
    while not stop.done:
        poll = select.poll()
        for descriptor in stop.watched:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(max(0.0, stop.due - time.monotonic()) * 1000):
            stop.ended(descriptor, time.monotonic())
        if stop.due <= time.monotonic():
            stop.step(time.monotonic(), Table())


def pidfd(identity: Identity) -> int | None:
    """A descriptor that becomes readable when this process ends; None when it has."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except OSError:
        return None
    if identity_of(identity.pid) != identity:
        os.close(descriptor)
        return None
    return descriptor


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False  # it has ended, or has become somebody else's
    return True


def program_of(pid: int) -> str:
    """What a process calls itself; empty when it has ended."""
    try:
        with open(f"/proc/{pid}/comm", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
