"""Containers under a control plane that is killed, one of them in a network of its own; some are to outlive it."""

import asyncio
import random

from tests.workload.app import GROUP
from tests.workload.chaos.crew import ensure, until
from tests.workload.podman import IMAGE

from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.workload.engine.engine import Engine

CONTAINER, NETWORK = f"{GROUP}/Container", f"{GROUP}/ContainerNetwork"
PREFIX = "chaos-"
SESSION = (f"{PREFIX}one", f"{PREFIX}two", f"{PREFIX}three")
KEPT = (f"{PREFIX}kept", f"{PREFIX}stays")
NET = f"{PREFIX}net"


class Hold:
    """What runs, and what is known of it."""

    def __init__(self, engine: Engine, chance: random.Random) -> None:
        self._engine, self._chance = engine, chance
        # The ids of those that are kept, as a status told of them.
        self._told: dict[str, str] = {}

    async def apply(self, client: Client) -> None:
        await ensure(client, _object("ContainerNetwork", NET, {"networkName": NET}))
        for name in (*SESSION, *KEPT):
            spec: Object = {"image": IMAGE, "args": ["sleep", "86400"], "containerName": name, "stopTimeout": "0s"}
            if name in KEPT:
                spec["persistent"] = True
            if name == SESSION[0]:
                spec["networks"] = [{"name": NET}]
            await ensure(client, _object("Container", name, spec))

    async def converge(self, client: Client) -> None:
        await asyncio.gather(*(self._until_running(client, name) for name in (*SESSION, *KEPT)))

    async def disturb(self, client: Client) -> None:
        await client.delete(CONTAINER, self._chance.choice(SESSION))

    async def check(self) -> None:
        there = await self._containers()
        assert not there.keys() & set(SESSION), "a container of the session is left"
        assert self._told.items() <= there.items(), "a container that was to stay is lost"
        assert await self._networks() == [], "a network of the session is left"

    async def retire(self, client: Client) -> None:
        for name in KEPT:
            await client.patch(CONTAINER, merge({"spec": {"stop": True}}), name)
            await until(client, CONTAINER, name, lambda status: status.get("state") == "Exited")
        for container in await self._engine.containers.list(every=True):
            if container.name in KEPT:
                await self._engine.containers.remove(container.id, force=True)

    async def left(self) -> list[str]:
        return [*(await self._containers()), *(await self._networks())]

    async def clear(self) -> None:
        for container in (await self._containers()).values():
            await self._engine.containers.remove(container, force=True)
        for network in await self._networks():
            await self._engine.networks.remove(network)

    async def _until_running(self, client: Client, name: str) -> None:
        status = await until(client, CONTAINER, name, lambda status: status.get("state") == "Running")
        if name in KEPT:
            told = self._told.setdefault(name, status["containerId"])
            assert told == status["containerId"], f"{name} is another one now"

    async def _containers(self) -> dict[str, str]:
        """Ours, by name."""
        found = await self._engine.containers.list(every=True)
        return {each.name: each.id for each in found if each.name.startswith(PREFIX)}

    async def _networks(self) -> list[str]:
        return [each.name for each in await self._engine.networks.list() if each.name.startswith(PREFIX)]


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}
