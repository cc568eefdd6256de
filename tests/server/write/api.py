"""A server in this process for the tests of the write path: requests as calls, answers as trees."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import Ids, SeededIds
from setpoint.objects.tree import Json, Object
from setpoint.server.app import Server
from setpoint.server.message import Request
from setpoint.server.request.admission_plugin import Plugin
from setpoint.store.memory import MemoryStore

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Answer(NamedTuple):
    status: int
    body: Json
    warnings: list[str]

    @property
    def version(self) -> str:
        version: str = self.body["metadata"]["resourceVersion"]
        return version


class Api:
    """One server over an empty store, its clock standing still."""

    def __init__(self, admission: Sequence[Plugin] = (), ids: Ids | None = None, **options: Any) -> None:
        """The options are the server's."""
        self.clock = ManualClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        self.store = MemoryStore(clock=self.clock)
        self.server = Server(self.store, clock=self.clock, ids=ids or SeededIds(7), admission=admission, **options)

    async def __call__(
        self, method: str, path: str, body: Json = None, *, kind: str = "application/json", query: str = ""
    ) -> Answer:
        """Sends a request. A body that is bytes is sent as it is."""
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        headers = {"content-type": kind, "user-agent": "test/1.0"}
        response = await self.server(Request(method, path, query, headers, data))
        assert isinstance(response.body, bytes)
        is_json = response.content_type == "application/json"
        found = msgspec.json.decode(response.body) if is_json else response.body.decode()
        return Answer(response.status, found, [value for name, value in response.headers if name == "Warning"])

    async def merge(self, path: str, patch: Json, query: str = "") -> Answer:
        return await self("PATCH", path, patch, kind=MERGE, query=query)

    async def apply(self, path: str, config: Json, query: str = "fieldManager=applier") -> Answer:
        return await self("PATCH", path, config, kind=APPLY, query=query)


@asynccontextmanager
async def new_api(**options: Any) -> AsyncIterator[Api]:
    """Provides a server that has started, with these options."""
    api = Api(**options)
    await api.server.start()
    try:
        yield api
    finally:
        api.server.close()
        await api.store.close()


def config_map(name: str = "a", **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def definition(plural: str = "widgets", kind: str = "Widget", **changes: Any) -> Object:
    """A definition of a simple kind; `changes` go into its spec."""
    properties = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": [version],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": spec | changes,
    }


def widget(name: str = "w", **metadata: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, **metadata},
        "spec": {"size": 1},
    }
