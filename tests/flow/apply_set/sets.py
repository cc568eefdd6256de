"""What the tests of apply sets begin with: a server, owners, objects, and a transport that counts and crashes."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

from setpoint.client.client import Client
from setpoint.client.options import Options
from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError
from setpoint.flow.apply_set import ApplySet
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

CONFIG_MAP = "v1/ConfigMap"
MANAGER = "teams"


class Watched:
    """A transport that notes the requests, and fails after as many writes as it is told."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.calls: list[Call] = []
        # After how many more writes there is no server any more; None: never.
        self.crash_after: int | None = None
        # Whether the write at which it ends is done, and only the answer lost.
        self.does_last = True
        # What happens before a write: others who are faster.
        self.before: Callable[[Call], Any] | None = None

    @property
    def writes(self) -> list[Call]:
        return [call for call in self.calls if call.method != "GET"]

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        if call.method == "GET":
            if self.crash_after == 0:
                raise TransportError("no server", sent=False)
            return await self._inner.send(call)
        if self.before is not None:
            before, self.before = self.before, None
            await before(call)
        if self.crash_after is None:
            return await self._inner.send(call)
        if self.crash_after > 0:
            self.crash_after -= 1
            if self.crash_after > 0:
                return await self._inner.send(call)
            if self.does_last:
                await self._inner.send(call)
        raise TransportError("no server", sent=True)

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(call)

    async def close(self) -> None:
        """The other client closes what is below."""


class World(NamedTuple):
    """A server, a client of a bystander, and the client of a set."""

    plane: ControlPlane
    direct: Client
    client: Client
    requests: Watched

    def own(self, name: str = "main", **how: Any) -> ApplySet:
        how.setdefault("namespace", "default")
        return ApplySet(how.pop("client", self.client), name, **how)

    async def owner(self, name: str = "boss", namespace: str = "default", **metadata: Any) -> Object:
        tree = config_map(name, namespace=namespace)
        tree["metadata"].update(metadata)
        return await self.direct.create(tree)

    async def names(self, kind: str = CONFIG_MAP, namespace: str = "default") -> set[str]:
        """The objects that are of sets, without inventories."""
        found = await self.direct.list(kind, namespace, labels="setpoint.dev/apply-set,!setpoint.dev/kind")
        return {item["metadata"]["name"] for item in found.items}

    async def inventories(self, namespace: str = "default") -> list[Object]:
        return (await self.direct.list(CONFIG_MAP, namespace, labels="setpoint.dev/kind=apply-set-inventory")).items


@asynccontextmanager
async def world(**how: Any) -> AsyncIterator[World]:
    how.setdefault("system", False)
    async with ControlPlane(**how) as plane, plane.client() as direct:
        requests = Watched(direct.transport)
        client = Client(requests, options=Options(field_manager=MANAGER), clock=direct.clock)
        yield World(plane, direct, client, requests)


def config_map(name: str, *, namespace: str = "default", **data: str) -> Object:
    tree: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data or {"a": "1"}}
    if namespace:
        tree["metadata"]["namespace"] = namespace
    return tree


def deployment(name: str, replicas: int = 3, image: str = "web:1") -> Object:
    container = {"name": "main", "image": image, "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }
