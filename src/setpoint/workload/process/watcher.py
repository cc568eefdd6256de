"""The watcher: cleans up after a control plane and a guardian that were killed together.

A guardian forks one watcher at its start, and never another. The watcher awaits the exit of the control plane and one
end of a socket pair, and waits until the other end closes. If the guardian sent `done` before, or if the control plane
is alive and replaces the guardian, the watcher exits. Otherwise both have ended: the watcher stops every process with
the session's cookie, removes the containers and networks registered with the guardian, and exits.

A process that has cleared its environment has no cookie and is not found, neither here nor by the next command.
"""

import contextlib
import marshal
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any

from setpoint.workload.process.frames import Frames, frame
from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.termination import Stopping, exit_descriptor, finish

# The time that the control plane may outlive its guardian before counting as alive: both may be killed one after the
# other.
TOGETHER_SECONDS = 1.0
# The grace period after the signal.
GRACE_SECONDS = 2.0
_SEND_SECONDS = 1.0
_DONE = "done"


class Watcher:
    """The guardian's connection to its watcher."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self._connection = connection
        connection.settimeout(_SEND_SECONDS)  # a stopped watcher must not block the guardian

    def register(self, key: str, removal: tuple[Any, ...] | None) -> None:
        """Registers a removal under a key; None deletes the registration."""
        self._send((key, removal))

    def dismiss(self) -> None:
        """Ends the watcher: the cleanup is complete."""
        self._send((_DONE, None))
        self._connection.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _send(self, message: tuple[str, Any]) -> None:
        # A killed watcher is not replaced: the next command cleans up, as without a watcher.
        with contextlib.suppress(OSError):
            self._connection.sendall(frame(marshal.dumps(message)))


def start(session: str, *inherited: socket.socket) -> Watcher | None:
    """Forks the watcher of this process and its parent, without the given sockets. Returns None if the parent has
    ended."""
    control_plane = _parent()
    if control_plane is None:
        return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if pid:
        theirs.close()
        return Watcher(pid, ours)
    try:
        ours.close()
        for each in inherited:
            each.close()
        os.setsid()  # not affected by terminal signals to the guardian's group
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _watch(theirs, control_plane, session)
    finally:
        os._exit(0)


def _parent() -> Identity | None:
    """Returns the parent process, or None if the original parent has ended."""
    parent = os.getppid()
    return identity_of(parent) if parent > 1 else None


def _watch(connection: socket.socket, control_plane: Identity, session: str) -> None:
    removals: dict[str, Sequence[Any]] = {}
    # After the fork: a thread that awaits the exit would not survive the fork.
    ended = exit_descriptor(control_plane)
    frames = Frames(connection)
    while frames.receive():
        for data, _ in frames.messages():
            key, removal = marshal.loads(data)
            if key == _DONE:
                return
            if removal is None:
                removals.pop(key, None)
            else:
                removals[key] = removal
    poll = select.poll()
    if ended is not None:
        poll.register(ended, select.POLLIN)
    if ended is None or poll.poll(TOGETHER_SECONDS * 1000):
        _clean_up(session, removals)


def _clean_up(session: str, removals: dict[str, Sequence[Any]]) -> None:
    from threading import Thread

    from setpoint.workload.process.guardian import Removal
    from setpoint.workload.process.removal import remove

    removing = [Thread(target=remove, args=(Removal(*what),)) for what in removals.values()]
    for thread in removing:
        thread.start()
    spare = frozenset((os.getpid(),))
    finish(Stopping(None, f"{session}/", signal.SIGTERM, GRACE_SECONDS, now=time.monotonic(), spare=spare))
    for thread in removing:
        thread.join()
