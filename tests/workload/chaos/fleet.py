"""A real `setpoint serve --workloads` that is made to be killed, and what runs under it: processes that fork, become
daemons, ignore signals or are suspended, and some that are to outlive it.

They are told apart from all others by how long they say they sleep, one number for those of the session and one for
each that is kept.
"""

import asyncio
import os
import random
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

from tests.workload.app import GROUP
from tests.workload.process.stage import SORTS, asleep, new_nap, wait_for_end

from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.tree import Object
from setpoint.workload.kinds.parts import RESTART_REQUESTED
from setpoint.workload.process.identity import Identity, is_alive, parse
from setpoint.workload.process.table import Table

EXECUTABLE = f"{GROUP}/Executable"
KEPT_SORTS = ("plain", "forking", "stubborn", "daemon")
SESSION_PROCESSES = 16
# Ends at once and leaves a daemon behind, which nobody can tell to be its own: it is started again and again.
RESTLESS = "gone daemon"
_SECONDS = 60.0


class Served:
    """The control plane, as a process of its own. One life after the other uses the same files."""

    def __init__(self, folder: Path, engine: str = "") -> None:
        """`engine` is the address of the one that runs containers."""
        self._folder, self._engine = folder, engine
        self._kubeconfig = folder / "kubeconfig"
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        self._process: subprocess.Popen[str] | None = None

    def start(self, seconds: float = _SECONDS) -> None:
        """Starts it, and returns when it serves."""
        places = {
            "XDG_STATE_HOME": str(self._folder / "state"),
            "TMPDIR": str(self._temporary),
            "DOCKER_HOST": self._engine,
        }
        with (self._folder / "errors").open("a") as errors:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "setpoint", "serve", "--workloads", "--listen", "127.0.0.1:0"),
                    *("--store", f"sqlite:{self._folder / 'store.db'}", "--kubeconfig", str(self._kubeconfig)),
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **places},
            )
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if ready else ""
        assert line.startswith("ready "), (self._folder / "errors").read_text()

    def client(self) -> Client:
        return Client.from_kubeconfig(self._kubeconfig)

    def kill(self) -> None:
        """Ends it as nothing should be ended, and returns when those who clean up after it have ended too."""
        process = self._life
        process.kill()
        process.wait()
        for guardian in self._guardians(process.pid):
            wait_for_end(guardian)
        self._close()

    def stop(self) -> int:
        """Asks it to end; its exit code."""
        process = self._life
        process.terminate()
        code = process.wait(_SECONDS)
        self._close()
        return code

    def end(self) -> None:
        """Sees that no test leaves it behind."""
        if self._process is not None:
            self.kill()

    def left_behind(self) -> list[str]:
        """What lives of it have left in the directory for temporary files."""
        return sorted(each.name for each in self._temporary.iterdir())

    @property
    def _life(self) -> "subprocess.Popen[str]":
        assert self._process is not None, "it does not run"
        return self._process

    def _close(self) -> None:
        if self._life.stdout is not None:
            self._life.stdout.close()
        self._process = None

    def _guardians(self, pid: int) -> Iterator[int]:
        for cookie, carriers in Table().cookies().items():
            session, _, who = cookie.partition("/")
            if f"{session}/{who}".startswith((f"{pid}-", f"kept/guardian-{pid}-")) and who.startswith("guardian"):
                yield from carriers


class Fleet:
    """What runs, and what is known of it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.nap = new_nap()
        self.kept_naps = {f"kept-{number}": new_nap() for number in range(len(KEPT_SORTS))}
        # Those that are kept, as a status told of them.
        self.told: dict[str, Identity] = {}
        self._sorts = dict(enumerate(islice(cycle(SORTS), SESSION_PROCESSES)))
        self._requests = 0

    @property
    def names(self) -> list[str]:
        """All but those that never come to rest."""
        return [f"proc-{each}" for each, sort in self._sorts.items() if sort != RESTLESS] + list(self.kept_naps)

    async def apply(self, client: Client) -> None:
        """Creates whatever is not there yet."""
        for number, sort in self._sorts.items():
            await _create(client, f"proc-{number}", SORTS[sort].replace("NAP", self.nap), restartPolicy="Always")
        for (name, nap), sort in zip(self.kept_naps.items(), KEPT_SORTS, strict=True):
            await _create(client, name, SORTS[sort].replace("NAP", nap), persistent=True)

    async def converge(self, client: Client) -> None:
        """Returns when all that should run does. Those that are kept must be the ones that ran before."""
        await asyncio.gather(*(self._until_running(client, name) for name in self.names))

    async def disturb(self, client: Client) -> None:
        """Has some of them do something, so that a kill may come in the middle of it."""
        restarted, deleted = self._chance.sample([name for name in self.names if name not in self.kept_naps], 2)
        self._requests += 1
        request = {"metadata": {"annotations": {RESTART_REQUESTED: f"{self._requests}"}}}
        await client.patch(EXECUTABLE, merge(request), restarted)
        await client.delete(EXECUTABLE, deleted)

    def check(self) -> None:
        """Nothing of the session is left, and nothing is lost that is kept."""
        assert asleep(self.nap) == []
        for name, identity in self.told.items():
            assert is_alive(identity), f"{name} is lost"

    def check_single(self) -> None:
        """Each of those that are kept runs once."""
        for (name, nap), sort in zip(self.kept_naps.items(), KEPT_SORTS, strict=True):
            most = {"plain": 1, "forking": 3, "stubborn": 3, "daemon": 2}[sort]
            assert len(asleep(nap)) <= most, f"{name} runs more than once"

    def left(self) -> list[int]:
        return [pid for nap in (self.nap, *self.kept_naps.values()) for pid in asleep(nap)]

    async def _until_running(self, client: Client, name: str) -> None:
        seen: Object = {}

        def runs(tree: Object | None) -> bool:
            nonlocal seen
            seen = (tree or {}).get("status") or {}
            return seen.get("state") == "Running" and is_alive(parse(seen["identityTime"]) or Identity(0, 0))

        try:
            await client.wait_for(EXECUTABLE, name, until=runs, timeout=_SECONDS)
        except TimeoutError:
            raise AssertionError(f"{name} does not run: {seen}") from None
        if name in self.kept_naps:
            identity = parse(seen["identityTime"])
            assert identity is not None
            assert self.told.setdefault(name, identity) == identity, f"{name} is another one now"


async def _create(client: Client, name: str, text: str, **spec: object) -> None:
    tree: Object = {
        "apiVersion": GROUP,
        "kind": "Executable",
        "metadata": {"name": name},
        "spec": {
            "executablePath": "/bin/sh",
            "args": ["-c", text],
            "stopTimeout": "200ms",
            "restartBackoff": {"initial": "300ms"},
            **spec,
        },
    }
    with suppress(AlreadyExists):
        await client.create(tree)
