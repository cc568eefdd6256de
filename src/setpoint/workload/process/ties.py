"""What is to stop when some process ends, though no control plane may live to see that: `monitorPid` of what is kept.

While a control plane lives it sees to this itself. When it has ended, its guardian of kept processes leaves a process
behind that does, which ends when nothing is left that it waits for. Like the guardian, it takes the real time.
"""

import os
import select
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from setpoint.workload.process.identity import Identity, is_alive
from setpoint.workload.process.termination import Stopping, finish, pidfd

if TYPE_CHECKING:
    from threading import Thread


class Tie(NamedTuple):
    """Something that ends with the process `to`: the tree of `root`, or a container of the engine at a socket."""

    to: tuple[int, int]
    signal: int
    grace: float
    root: tuple[int, int] = (0, 0)
    cookie: str = ""
    socket: str = ""
    container: str = ""

    @property
    def is_there(self) -> bool:
        """Whether it may still have to be stopped."""
        return bool(self.container) or is_alive(Identity(*self.root))

    def plain(self) -> tuple[object, ...]:
        """The same, as it is sent."""
        return tuple(self.to), int(self.signal), float(self.grace), tuple(self.root), *self[4:]


def see_to(ties: Iterable[Tie]) -> None:
    """Returns when everything has ended that was to end, or has ended by itself."""
    ending: list[Thread] = []
    waiting: dict[int, tuple[Tie, bool]] = {}  # by descriptor: whether it is the tied thing itself that ends then
    poll = select.poll()
    for tie in ties:
        watched = pidfd(Identity(*tie.to))
        if watched is None:
            ending.append(_begin(tie))
            continue
        own = pidfd(Identity(*tie.root)) if not tie.container else None
        if own is not None or tie.container:
            waiting[watched] = tie, False
        if own is not None:
            waiting[own] = tie, True
    for descriptor in waiting:
        poll.register(descriptor, select.POLLIN)
    while waiting:
        for descriptor, _ in poll.poll():
            if descriptor not in waiting:
                continue  # its other half was heard in the same turn
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
