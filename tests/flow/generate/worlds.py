"""Apps, whose children are what their spec says, on a real server in one process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from tests.controller.core.worlds import PATIENCE, settle, until

from setpoint.client.client import Client
from setpoint.controller.controller import Controller
from setpoint.controller.manager import Manager
from setpoint.flow.generate import generates
from setpoint.flow.generate.generator import GeneratingHandler
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource

__all__ = ["PATIENCE", "until"]

CONFIG_MAP = "v1/ConfigMap"
OF_SETS = "setpoint.dev/apply-set,!setpoint.dev/kind"
INVENTORIES = "setpoint.dev/kind=apply-set-inventory"


class AppSpec(Model):
    """What an app should be."""

    # The names of its children, or `namespace/name`.
    children: list[str] = msgspec.field(default_factory=list)
    text: str = "hello"
    uses: str = ""


class AppStatus(Model):
    """What an app is."""

    url: str = ""
    seen: str = ""
    count: int = 0
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class App(Resource, group="example.com", version="v1"):
    """An app."""

    spec: AppSpec
    status: AppStatus | None = None


class Site(Resource, group="example.com", version="v1", scope="Cluster"):
    """The same, without a namespace."""

    spec: AppSpec
    status: AppStatus | None = None


APP = "example.com/v1/App"


def app(*children: str, name: str = "shop", **spec: Any) -> App:
    return App(metadata=ObjectMeta(name=name, namespace="default"), spec=AppSpec(children=list(children), **spec))


def config_map(name: str, text: str = "hello", **metadata: Any) -> Object:
    namespace, _, name = name.rpartition("/")
    where = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **where, **metadata},
        "data": {"text": text},
    }


def children_of(parent: App, status: AppStatus) -> Iterator[Object]:
    """What the spec says, as plain trees; `boom` goes wrong in the middle."""
    status.count = len(parent.spec.children)
    for name in parent.spec.children:
        if name == "boom":
            raise ValueError("it went boom")
        yield config_map(name, parent.spec.text)


def rendering(function: Callable[..., Any] = children_of, **how: Any) -> GeneratingHandler:
    how.setdefault("kinds", [CONFIG_MAP])
    how.setdefault("condition", "Deployed")
    return generates(how.pop("kind", App), **how)(function)


class World:
    """What a test has in its hands."""

    def __init__(self, plane: ControlPlane, client: Client, manager: Manager) -> None:
        self.plane = plane
        self.client = client
        self.manager = manager

    def run(self, handler: object) -> Controller:
        """Has a handler work until the test ends."""
        return self.manager.add(handler)

    async def change(self, what: Callable[[App], Any], name: str = "shop") -> App:
        return await self.client.edit(App, name, "default", what)

    async def want(self, *children: str, name: str = "shop") -> None:
        await self.change(lambda found: setattr(found.spec, "children", list(children)), name)

    async def is_so(self, told: str, name: str = "shop", condition: str = "Deployed") -> Object:
        """Waits until the condition reads `Status/Reason`, about the generation there is."""

        def holds(found: Any) -> bool:
            each = None if found is None else condition_of(found, condition)
            return (
                each is not None
                and f"{each['status']}/{each['reason']}" == told
                and each["observedGeneration"] == found.metadata.generation
            )

        found = await self.client.wait_for(App, name, "default", holds, timeout=PATIENCE)
        each = condition_of(found, condition)
        assert each is not None
        return each

    async def names(self, namespace: str = "default", kind: str = CONFIG_MAP) -> set[str]:
        """The children that there are."""
        return {each["metadata"]["name"] for each in (await self.client.list(kind, namespace, labels=OF_SETS)).items}

    async def has(self, *names: str, namespace: str = "default") -> None:
        """Waits until these are the children."""
        async with asyncio.timeout(PATIENCE):
            while (found := await self.names(namespace)) != set(names):
                assert found is not None
                await asyncio.sleep(0.005)

    async def inventories(self) -> list[Object]:
        return (await self.client.list(CONFIG_MAP, labels=INVENTORIES)).items

    async def settle(self, controller: Controller) -> None:
        await settle(controller, 0.05)


def condition_of(found: Any, condition: str = "Deployed") -> Object | None:
    listed = [] if found.status is None else found.status.conditions
    return next((each for each in listed if each["type"] == condition), None)


async def namespace(client: Client, name: str) -> None:
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@asynccontextmanager
async def new_world(*, system: bool = False) -> AsyncIterator[World]:
    """Provides a world; `system` has the garbage collector work in it."""
    async with (
        asyncio.timeout(PATIENCE * 2),
        ControlPlane(system=system) as plane,
        plane.client() as client,
    ):
        await client.install(App)
        await client.install(Site)
        async with Manager(client) as manager:
            yield World(plane, client, manager)
