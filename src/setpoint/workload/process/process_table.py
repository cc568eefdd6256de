"""A snapshot of the processes of the machine, and the members of a process tree.

A tree is more than parents and children: the root, its session and process group, all processes with the tree's cookie
in their environment (even daemons that have left their parent and session), and all descendants of these.
"""

from collections.abc import Iterable, Iterator

from setpoint.machine.chosen import system
from setpoint.workload.process.identity import Identity, Stat, stat

COOKIE = "SETPOINT_WORKLOAD"
_ENTRY = f"{COOKIE}=".encode()


class ProcessTable:
    """A snapshot of all processes that have not ended."""

    def __init__(self) -> None:
        self.stats: dict[int, Stat] = {}
        for pid in system.pids():
            if (found := stat(pid)) is not None and found.state not in "ZX":
                self.stats[pid] = found
        self._children: dict[int, list[int]] = {}
        for found in self.stats.values():
            self._children.setdefault(found.parent, []).append(found.pid)
        self._cookies: dict[str, set[int]] | None = None

    def descendants(self, pids: Iterable[int]) -> set[int]:
        """Returns the processes and all their descendants."""
        found: set[int] = set()
        left = list(pids)
        while left:
            pid = left.pop()
            if pid not in found:
                found.add(pid)
                left += self._children.get(pid, ())
        return found

    def cookies(self) -> dict[str, set[int]]:
        """Returns the processes by cookie, as far as their environment is readable."""
        if self._cookies is None:
            self._cookies = {}
            for pid in self.stats:
                for cookie in cookies_of(pid):
                    self._cookies.setdefault(cookie, set()).add(pid)
        return self._cookies

    def tree(self, root: Identity | None, cookie: str, known: Iterable[Identity] = ()) -> dict[int, Stat]:
        """Returns all processes of a root and its cookie; a cookie that ends in `/` is a prefix.

        `known` are members found before: they belong to the tree even if they have lost their parents meanwhile.
        """
        seeds = {identity.pid for identity in known if self._is(identity)}
        if root is not None:
            there = self.stats.get(root.pid)
            # A session or group id is not reused for a new process while the session or group has members.
            if there is None or there.started == root.started:
                seeds |= {found.pid for found in self.stats.values() if root.pid in (found.session, found.group)}
                seeds |= {root.pid} & self.stats.keys()
        for carried, pids in self.cookies().items() if cookie else ():
            if carried == cookie or (cookie.endswith("/") and carried.startswith(cookie)):
                seeds |= pids
        return {pid: self.stats[pid] for pid in self.descendants(seeds) & self.stats.keys()}

    def _is(self, identity: Identity) -> bool:
        found = self.stats.get(identity.pid)
        return found is not None and found.started == identity.started


def cookies_of(pid: int) -> Iterator[str]:
    """Yields the cookies in the initial environment of a process."""
    environment = b"\0" + system.environment(pid)
    place = environment.find(b"\0" + _ENTRY)
    if place >= 0:
        value = environment[place + 1 + len(_ENTRY) :].split(b"\0", 1)[0]
        yield from value.decode(errors="replace").split()
