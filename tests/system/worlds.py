"""A control plane in this process for each test, with its system controllers."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from setpoint.client.client import Client
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

PATIENCE = 30.0
CONFIG_MAP = "v1/ConfigMap"


class World:
    """A plane, and the administrator's client of it."""

    def __init__(self, plane: ControlPlane, client: Client) -> None:
        self.plane = plane
        self.client = client

    async def make(self, name: str, *owners: Object, namespace: str = "default", **metadata: Any) -> Object:
        """A ConfigMap with owners."""
        metadata = {"name": name, "namespace": namespace, "ownerReferences": list(owners), **metadata}
        return await self.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    async def delete(self, name: str, propagation: str = "", namespace: str = "default") -> None:
        await self.client.delete(CONFIG_MAP, name, namespace, propagation=propagation)

    async def names(self, namespace: str = "default") -> list[str]:
        """The ConfigMaps that are left when the controllers have done their work."""
        await self.plane.settle()
        found = await self.client.list(CONFIG_MAP, namespace)
        return [item["metadata"]["name"] for item in found.items]

    async def is_there(self, kind: str, name: str, namespace: str = "") -> bool:
        try:
            await self.client.get(kind, name, namespace)
        except NotFound:
            return False
        return True

    async def namespace(self, name: str) -> Object:
        return await self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def reference(owner: Object, *, blocks: bool = False, **changed: Any) -> Object:
    """What an object says of an owner."""
    metadata = owner["metadata"]
    found = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {**found, **({"blockOwnerDeletion": True} if blocks else {}), **changed}


def in_world(
    test: Callable[[World], Awaitable[None]], *, system: bool | Collection[str] = True, **options: Any
) -> None:
    """Runs a test with a plane of its own; nothing of it may be left when it is over."""

    async def main() -> None:
        async with asyncio.timeout(PATIENCE):
            async with ControlPlane(system=system, **options) as plane, plane.client() as client:
                await plane.settle()
                await test(World(plane, client))
        await asyncio.sleep(0)  # what was cancelled at the very end has its turn
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, f"tasks are left: {left}"

    asyncio.run(main())
