"""A stage for processes: real ones, told apart from all others by how long they say they sleep."""

import asyncio
import os
import select
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from setpoint.machine.chosen import is_portable
from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.workload.process.command import Command
from setpoint.workload.process.identity import Identity, stat
from setpoint.workload.process.processes import Processes, Running

PATH = "/usr/local/bin:/usr/bin:/bin"
# Shell texts; NAP is how long to sleep: about a day, and never the same.
SORTS = {
    "plain": "exec sleep NAP",
    "forking": "sleep NAP & sleep NAP & wait",
    "stubborn": "trap '' TERM; sleep NAP & sleep NAP",
    "daemon": "(setsid sleep NAP >/dev/null 2>&1 </dev/null &); exec sleep NAP",
    "stubborn daemon": "(trap '' TERM; exec setsid sleep NAP >/dev/null 2>&1 </dev/null &); exec sleep NAP",
    "bare daemon": "(setsid env -i /bin/sleep NAP >/dev/null 2>&1 </dev/null &); exec sleep NAP",
    "gone daemon": "(setsid env -i /bin/sleep NAP >/dev/null 2>&1 </dev/null &)",
    "suspended": "sleep NAP & kill -STOP $$",
}
# They leave their session, parent and environment: without a subreaper no trace of them is left.
TRACELESS = ("bare daemon", "gone daemon")
_naps = count(1)


def new_nap() -> str:
    """Part of the command line of the processes of one test."""
    return f"86400.{os.getpid():07d}{next(_naps):04d}"


def asleep(nap: str) -> list[int]:
    """The processes that have a nap in their command lines."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            try:
                there = nap.encode() in Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            now = stat(name) if there else None
            if now is not None and now.state not in "ZX":
                found.append(now.pid)
    return found


def left(nap: str) -> list[int]:
    """The processes that have a nap, after all should have ended. Without a subreaper, daemons without any trace are
    excepted, and ended here."""
    if is_portable:
        end_bare(nap)
    return asleep(nap)


def end_bare(nap: str) -> list[int]:
    """Kills the processes that have a nap and an empty environment. Returns their pids."""
    found = [pid for pid in asleep(nap) if _is_bare(pid)]
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
    return found


def _is_bare(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes() == b""
    except OSError:
        return False  # it has just ended


def sleepers(nap: str) -> int:
    """How many of them sleep already, and are no shells on their way there."""
    return sum(_name(pid) == "sleep\n" for pid in asleep(nap))


def _name(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "comm").read_text()
    except OSError:
        return ""  # it has just ended


def wait_for_end(pid: int) -> None:
    """Returns when a process is no more, whoever's child it is."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([descriptor], [], [])
    os.close(descriptor)


class Recorder:
    """A sink that remembers, and can be waited for."""

    def __init__(self) -> None:
        self.data = b""
        self.closed = asyncio.Event()
        self._news = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.data += data
        self._news.set()

    def close(self) -> None:
        self.closed.set()

    async def until(self, text: bytes) -> None:
        while text not in self.data:
            self._news.clear()
            await self._news.wait()


class Stage:
    """The processes of one control plane, and what its tests need of them."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.processes = Processes(SystemClock(), SystemIds(), environ or {})
        self.nap = new_nap()
        self._uids = count(1)
        self.out, self.err = Recorder(), Recorder()

    def command(self, path: str, *args: str, **more: Any) -> Command:
        more.setdefault("env", {"PATH": PATH})
        more.setdefault("directory", "/")
        # The cookie of a kept process has no session in it, and the other workers of the suite run beside this one.
        uid = f"uid-{self.nap}-{next(self._uids)}"
        cookie = self.processes.cookie(uid, keep=more.get("keep", False))
        return Command(path, args, cookie=cookie, **more)

    async def start(self, path: str, *args: str, **more: Any) -> Running:
        """Starts with output to fresh recorders, `out` and `err`."""
        self.out, self.err = Recorder(), Recorder()
        return await self.processes.start(self.command(path, *args, **more), self.out, self.err)

    async def shell(self, text: str, **more: Any) -> Running:
        """Runs a shell text, in which NAP stands for this stage's nap."""
        return await self.start("sh", "-c", text.replace("NAP", self.nap), **more)

    async def says(self, text: str) -> bytes:
        """What a shell text writes before it ends."""
        running = await self.shell(text)
        await running.wait()
        return self.out.data

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.005)


def other(identity: Identity) -> Identity:
    """Another process that had the same pid before."""
    return Identity(identity.pid, identity.started - 1)
