"""A control plane in this process for each test, with its system controllers."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def new_world(*, system: bool | Collection[str] = True, **options: Any) -> AsyncIterator[World]:
    """Provides a control plane with these system controllers and options."""
    async with (
        asyncio.timeout(PATIENCE),
        ControlPlane(system=system, **options) as plane,
        plane.client() as client,
    ):
        await plane.settle()
        yield World(plane, client)
