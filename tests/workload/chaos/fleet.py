"""Processes under a control plane that is killed: some fork, become daemons, ignore signals or are suspended, and some
are to outlive it.

They are told apart from all others by how long they say they sleep, one number for those of the session and one for
each that is kept.
"""

import asyncio
import os
import random
import signal
from contextlib import suppress
from itertools import cycle, islice

from tests.workload.app import GROUP
from tests.workload.chaos.crew import ensure, until
from tests.workload.process.stage import SORTS, asleep, left, new_nap

from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.process.identity import Identity, is_alive, parse

EXECUTABLE = f"{GROUP}/Executable"
# Those that are kept, and how many processes each is at most.
MOST = {"plain": 1, "forking": 3, "stubborn": 3, "daemon": 2}
KEPT_SORTS = tuple(MOST)
SESSION_PROCESSES = 16
# Ends at once and leaves a daemon behind, which nobody can tell to be its own: it is started again and again.
RESTLESS = "gone daemon"


class Fleet:
    """What runs, and what is known of it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._nap = new_nap()
        self._kept_naps = {f"kept-{number}": new_nap() for number in range(len(KEPT_SORTS))}
        # Those that are kept, as a status told of them.
        self._told: dict[str, Identity] = {}
        self._sorts = dict(enumerate(islice(cycle(SORTS), SESSION_PROCESSES)))
        self._requests = 0

    async def apply(self, client: Client) -> None:
        for number, sort in self._sorts.items():
            text = SORTS[sort].replace("NAP", self._nap)
            await ensure(client, _executable(f"proc-{number}", text, restartPolicy="Always"))
        for (name, nap), sort in zip(self._kept_naps.items(), KEPT_SORTS, strict=True):
            await ensure(client, _executable(name, SORTS[sort].replace("NAP", nap), persistent=True))

    async def converge(self, client: Client) -> None:
        await asyncio.gather(*(self._until_running(client, name) for name in self._names))

    async def disturb(self, client: Client) -> None:
        restarted, deleted = self._chance.sample([name for name in self._names if name not in self._kept_naps], 2)
        self._requests += 1
        request = {"metadata": {"annotations": {RESTART_REQUESTED: f"{self._requests}"}}}
        await client.patch(EXECUTABLE, merge(request), restarted)
        await client.delete(EXECUTABLE, deleted)

    async def check(self) -> None:
        assert left(self._nap) == [], "a process of the session is left"
        for name, identity in self._told.items():
            assert is_alive(identity), f"{name} is lost"
        for (name, nap), sort in zip(self._kept_naps.items(), KEPT_SORTS, strict=True):
            assert len(asleep(nap)) <= MOST[sort], f"{name} runs more than once"

    async def retire(self, client: Client) -> None:
        for name in self._kept_naps:
            await client.patch(EXECUTABLE, merge({"spec": {"stop": True}}), name)
            await until(client, EXECUTABLE, name, lambda status: status.get("state") == "Finished")

    async def left(self) -> list[str]:
        return [str(pid) for nap in self._naps for pid in left(nap)]

    async def clear(self) -> None:
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @property
    def _names(self) -> list[str]:
        """All but those that never come to rest."""
        return [f"proc-{each}" for each, sort in self._sorts.items() if sort != RESTLESS] + list(self._kept_naps)

    @property
    def _naps(self) -> list[str]:
        return [self._nap, *self._kept_naps.values()]

    def _pids(self) -> list[int]:
        return [pid for nap in self._naps for pid in asleep(nap)]

    async def _until_running(self, client: Client, name: str) -> None:
        def runs(status: Object) -> bool:
            return status.get("state") == "Running" and is_alive(parse(status["identityTime"]) or Identity(0, 0))

        identity = parse((await until(client, EXECUTABLE, name, runs))["identityTime"])
        assert identity is not None
        if name in self._kept_naps:
            assert self._told.setdefault(name, identity) == identity, f"{name} is another one now"


def _executable(name: str, text: str, **spec: object) -> Object:
    return {
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
