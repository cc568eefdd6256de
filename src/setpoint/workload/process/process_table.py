"""The processes of the machine at one moment, and which of them belong to one tree.

A tree is more than parents and children. It is the root, its session and its process group, everything that carries the
tree's cookie in its environment (a daemon that has left its parent and its session still does), and all descendants
of these.
"""

import os
from collections.abc import Iterable, Iterator

from setpoint.workload.process.identity import Identity, Stat, stat

COOKIE = "SETPOINT_WORKLOAD"
_ENTRY = f"{COOKIE}=".encode()


class Table:
    """A snapshot of all processes that have not ended."""

    def __init__(self) -> None:
        self.stats: dict[int, Stat] = {}
        for name in os.listdir("/proc"):
            if name[0].isdecimal() and (found := stat(name)) is not None and found.state not in "ZX":
                self.stats[found.pid] = found
        self._children: dict[int, list[int]] = {}
        for found in self.stats.values():
            self._children.setdefault(found.parent, []).append(found.pid)
        self._cookies: dict[str, set[int]] | None = None

    def descendants(self, pids: Iterable[int]) -> set[int]:
        """These and all that stem from them."""
        found: set[int] = set()
        left = list(pids)
        while left:
            pid = left.pop()
            if pid not in found:
                found.add(pid)
                left += self._children.get(pid, ())
        return found

    def cookies(self) -> dict[str, set[int]]:
        """Who carries which cookie, of those whose environment we may see."""
        if self._cookies is None:
            self._cookies = {}
            for pid in self.stats:
                for cookie in cookies_of(pid):
                    self._cookies.setdefault(cookie, set()).add(pid)
        return self._cookies

    def tree(self, root: Identity | None, cookie: str, known: Iterable[Identity] = ()) -> dict[int, Stat]:
        """Everything that belongs to a root and its cookie; a cookie that ends in `/` means all that begin so.

        `known` are members found before: one of them that has meanwhile lost its parents still belongs to the tree.
        """
        seeds = {identity.pid for identity in known if self._is(identity)}
        if root is not None:
            there = self.stats.get(root.pid)
            # While a session or group of this number has members, no new process can get the number.
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
    """The cookies in the environment a process was started with."""
    try:
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY)
    except OSError:
        return  # it has ended, or is somebody else's
    try:
        parts = []
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    except OSError:
        return
    finally:
        os.close(descriptor)
    environment = b"\0" + b"".join(parts)
    place = environment.find(b"\0" + _ENTRY)
    if place >= 0:
        value = environment[place + 1 + len(_ENTRY) :].split(b"\0", 1)[0]
        yield from value.decode(errors="replace").split()
