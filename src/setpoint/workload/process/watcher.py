"""The watcher: cleans up after a control plane and a guardian that were killed together.

A guardian forks one watcher when it starts, and never another. The watcher holds a pidfd of the control plane and one
end of a socket pair. It does nothing until the other end closes. If the guardian said `done` before, or if the control
plane lives on and so replaces the guardian, it ends. Otherwise both are gone: it stops every process that carries the
session's cookie, removes the containers and networks that the guardian was told of, and ends.

A process that has cleared its environment carries no cookie and is out of its reach, as it is for the next command.
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

from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.termination import Stopping, finish, pidfd

# How long the control plane may outlive its guardian before it counts as alive: whoever kills both does so one by one.
TOGETHER_SECONDS = 1.0
# How long what is stopped has after the signal.
GRACE_SECONDS = 2.0
_MESSAGE_BYTES = 1 << 16
_DONE = "done"


class Watcher:
    """The guardian's end of its watcher."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self._connection = connection

    def tell(self, key: str, removal: tuple[Any, ...] | None) -> None:
        """Tells what to remove at the end under a key; None to remove nothing under it."""
        self._send((key, removal))

    def dismiss(self) -> None:
        """Ends the watcher: everything is cleaned up."""
        self._send((_DONE, None))
        self._connection.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _send(self, message: tuple[str, Any]) -> None:
        # A watcher that was killed is not replaced: the next command cleans up, as it would without any.
        with contextlib.suppress(OSError):
            self._connection.send(marshal.dumps(message), socket.MSG_DONTWAIT)


def start(session: str, *inherited: socket.socket) -> Watcher | None:
    """Forks the watcher of this process and its parent, without the given sockets; None where the parent is gone."""
    control_plane = _parent()
    if control_plane is None:
        return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid:
        theirs.close()
        os.close(control_plane)
        return Watcher(pid, ours)
    try:
        ours.close()
        for each in inherited:
            each.close()
        os.setsid()  # what a terminal sends to the guardian's group is not for us
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _watch(theirs, control_plane, session)
    finally:
        os._exit(0)


def _parent() -> int | None:
    """Returns a pidfd of the parent process, if that is the one that started us."""
    parent = os.getppid()
    identity = identity_of(parent) if parent > 1 else None
    return None if identity is None else pidfd(Identity(*identity))


def _watch(connection: socket.socket, control_plane: int, session: str) -> None:
    removals: dict[str, Sequence[Any]] = {}
    while data := connection.recv(_MESSAGE_BYTES):
        key, removal = marshal.loads(data)
        if key == _DONE:
            return
        if removal is None:
            removals.pop(key, None)
        else:
            removals[key] = removal
    poll = select.poll()
    poll.register(control_plane, select.POLLIN)
    if poll.poll(TOGETHER_SECONDS * 1000):
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
