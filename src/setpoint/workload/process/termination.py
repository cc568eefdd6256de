"""Stops a tree of processes: signals once, waits for the grace period, then kills until no process is left.

All processes of the tree get the signal, including daemons that have left the session and children forked meanwhile;
stopped processes are resumed to receive it. A process group is signalled as a whole, so that no process escapes by
forking. Processes that remain after the grace period are killed, snapshot after snapshot, until none is found.

This runs in the guardian, in real time, and never blocks. `step` is called when all `watched` processes have ended, or
at `due`.
"""

import os
import select
import signal
import time

from setpoint.machine.chosen import system
from setpoint.workload.process.identity import Identity, Stat, identity_of
from setpoint.workload.process.process_table import ProcessTable

# The time that the kernel may take to end a killed process, and the polling interval.
KILL_SECONDS = 5.0
LOOK_SECONDS = 0.05


class Stopping:
    """One tree that is being stopped; `done` when no process is left, or the time for the kill has passed."""

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
        self._signalled: set[Identity] = set()
        self._killed: dict[Identity, str] = {}
        self._left: dict[Identity, str] = {}
        self.due = now
        self.done = False
        # The exit descriptors of processes that are expected to end.
        self.watched: dict[int, Identity] = {}

    def report(self) -> dict[str, list[tuple[int, str]] | int]:
        """Returns the number of signalled processes, the killed ones, and those still running, with pid and name."""
        return {
            "asked": len(self._signalled),
            "killed": [(identity.pid, name) for identity, name in self._killed.items() if identity not in self._left],
            "left": [(identity.pid, name) for identity, name in self._left.items()],
        }

    def ended(self, descriptor: int, now: float) -> None:
        """Handles the end of a watched process."""
        os.close(descriptor)
        del self.watched[descriptor]
        if not self.watched:
            self.due = now

    def step(self, now: float, table: ProcessTable) -> None:
        members = table.tree(self._root, self._cookie, self._known)
        there = [found for pid, found in members.items() if pid not in self._spare]
        self._known.update(found.identity for found in there)
        if not there:
            self._finish()
        elif now < self._deadline:
            fresh = [found for found in there if found.identity not in self._signalled]
            self._signalled.update(found.identity for found in fresh)
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
            # New processes may have been forked: look again immediately, and only then wait for the kernel.
            self.due = now if fresh else now + LOOK_SECONDS
        else:
            self._left = {found.identity: program_of(found.pid) for found in there}
            self._finish()

    def _send(self, number: int, to: list[Stat], table: ProcessTable) -> None:
        wanted = {found.pid for found in to}
        for group in {found.group for found in to}:
            # Only if the whole group belongs to the tree.
            in_group = {found.pid for found in table.stats.values() if found.group == group}
            if group > 1 and in_group <= wanted and _signal(-group, number):
                wanted -= in_group
        for pid in wanted:
            _signal(pid, number)

    def _watch(self, fresh: list[Stat]) -> None:
        watched = set(self.watched.values())
        for found in fresh:
            if found.identity not in watched and (descriptor := exit_descriptor(found.identity)) is not None:
                self.watched[descriptor] = found.identity

    def _finish(self) -> None:
        self.done = True
        for descriptor in self.watched:
            os.close(descriptor)
        self.watched.clear()


def finish(stop: Stopping) -> None:
    """Stops a tree and waits for its end, for processes without other work."""
    while not stop.done:
        poll = select.poll()
        for descriptor in stop.watched:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(max(0.0, stop.due - time.monotonic()) * 1000):
            stop.ended(descriptor, time.monotonic())
        if stop.due <= time.monotonic():
            stop.step(time.monotonic(), ProcessTable())


def exit_descriptor(identity: Identity) -> int | None:
    """Returns a descriptor that becomes readable when this process ends; None if the process has ended."""
    descriptor = system.exit_descriptor(identity.pid)
    if descriptor is None:
        return None
    if identity_of(identity.pid) != identity:
        os.close(descriptor)
        return None
    return descriptor


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False  # the process has ended, or has changed its user
    return True


def program_of(pid: int) -> str:
    """Returns the name of a process; empty if ended."""
    return system.program(pid)
