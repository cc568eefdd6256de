"""Stops kept workloads when a monitored process ends (`monitorPid`), even without a running control plane.

A running control plane does this itself. After its end, its guardian of kept processes leaves a process behind, which
exits when all ties are resolved. Like the guardian, this process uses the real time.
"""

import os
import select
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from setpoint.workload.process.identity import Identity, is_alive
from setpoint.workload.process.termination import Stopping, exit_descriptor, finish

if TYPE_CHECKING:
    from threading import Thread


class Tie(NamedTuple):
    """A workload that ends with the process `to`: the tree of `root`, or a container of the engine at a socket."""

    to: tuple[int, int]
    signal: int
    grace: float
    root: tuple[int, int] = (0, 0)
    cookie: str = ""
    socket: str = ""
    container: str = ""

    @property
    def is_there(self) -> bool:
        """True if the workload may still have to be stopped."""
        return bool(self.container) or is_alive(Identity(*self.root))

    def plain(self) -> tuple[object, ...]:
        """Returns the tie as a plain tuple for a message."""
        return tuple(self.to), int(self.signal), float(self.grace), tuple(self.root), *self[4:]


def see_to(ties: Iterable[Tie]) -> None:
    """Waits for the monitored processes, stops the tied workloads, and returns when all of them have ended."""
    ending: list[Thread] = []
    waiting: dict[int, tuple[Tie, bool]] = {}  # by descriptor: True for the tied process itself
    poll = select.poll()
    for tie in ties:
        watched = exit_descriptor(Identity(*tie.to))
        if watched is None:
            ending.append(_begin(tie))
            continue
        own = exit_descriptor(Identity(*tie.root)) if not tie.container else None
        if own is not None or tie.container:
            waiting[watched] = tie, False
        if own is not None:
            waiting[own] = tie, True
    for descriptor in waiting:
        poll.register(descriptor, select.POLLIN)
    while waiting:
        for descriptor, _ in poll.poll():
            if descriptor not in waiting:
                continue  # the other descriptor of the tie was handled in the same iteration
            tie, is_itself = waiting[descriptor]
            for each in [each for each, found in waiting.items() if found[0] is tie]:
                poll.unregister(each)
                os.close(each)
                del waiting[each]
            if not is_itself:
                ending.append(_begin(tie))
    for thread in ending:
        thread.join()


def _begin(tie: Tie) -> "Thread":
    from threading import Thread

    thread = Thread(target=_end, args=(tie,))
    thread.start()
    return thread


def _end(tie: Tie) -> None:
    if tie.container:
        from setpoint.workload.process.removal import stop_container

        stop_container(tie.socket, tie.container, tie.grace)
        return
    spare = frozenset((os.getpid(), os.getppid()))
    finish(Stopping(Identity(*tie.root), tie.cookie, tie.signal, tie.grace, now=time.monotonic(), spare=spare))
