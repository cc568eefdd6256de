"""A server in this process under a clock of our own, and what a test reads from it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from tests.server.protobuf.bodies import watch_events

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.server.app import Server
from setpoint.server.codec.negotiation import PROTOBUF
from setpoint.server.codec.protobuf import decode
from setpoint.server.message import Frame, Request, Response, Stream
from setpoint.store.contract import Retention
from setpoint.store.memory import MemoryStore

START = datetime(2026, 1, 1, tzinfo=UTC)
MAPS = "/api/v1/namespaces/default/configmaps"
ALL_MAPS = "/api/v1/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/ex.com/v1/namespaces/default/widgets"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

Tree = dict[str, Any]


class MemorySink:
    """The far end of a watch. With `patience` it is cut off when that many frames wait for `take_all`."""

    def __init__(self, patience: int | None = None) -> None:
        self.events: list[Tree] = []
        self.frames: list[Frame] = []
        self.waiting = 0
        self.drains = 0
        self._patience = patience
        self._closed = asyncio.Event()
        # Whether the client takes what waits for it.
        self.takes = asyncio.Event()
        self.takes.set()

    def write(self, frame: Frame) -> bool:
        if self._closed.is_set():
            return False
        self.frames.append(frame)
        self.waiting += 1
        if frame.payload.startswith(b"{"):
            self.events += [json.loads(line) for line in frame.payload.splitlines()]
        else:
            told = watch_events(frame.payload)
            self.events += [{"type": event.type, "object": decode(event.object)} for event in told]
        if self._patience is not None and self.waiting > self._patience:
            self._closed.set()
            return False
        return True

    async def told(self, count: int) -> None:
        """Waits for events."""
        while len(self.events) < count:
            await asyncio.sleep(0.001)

    async def drain(self) -> bool:
        self.drains += 1
        await self.takes.wait()
        self.waiting = 0
        await asyncio.sleep(0)
        return not self._closed.is_set()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    async def wait_closed(self) -> None:
        await self._closed.wait()

    def close(self) -> None:
        self._closed.set()
        self.takes.set()


class OpenWatch:
    """A watch under way."""

    def __init__(self, stream: Stream, sink: MemorySink) -> None:
        self.sink = sink
        self.task = asyncio.create_task(stream.run(sink))

    async def events(self, count: int) -> list[Tree]:
        """The next events, which are taken away; fails where there are fewer or more."""
        for _ in range(200):
            await asyncio.sleep(0)
        found, self.sink.events = self.sink.events, []
        assert len(found) == count, [(event["type"], event["object"].get("metadata")) for event in found]
        return found

    async def told(self, count: int) -> list[tuple[str, str]]:
        """The next events, as their types and the names of their objects."""
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in await self.events(count)]

    async def ended(self) -> bool:
        for _ in range(200):
            await asyncio.sleep(0)
        return self.task.done()


class Reader:
    """Asks a server, and insists on the status it expects."""

    def __init__(self, retention: Retention = Retention()) -> None:  # noqa: B008 - immutable
        self.clock = ManualClock(START)
        self.store = MemoryStore(clock=self.clock, retention=retention)
        self.server = Server(self.store, clock=self.clock, ids=SeededIds(1))
        self._watches: list[OpenWatch] = []

    async def ask(
        self, method: str, path: str, body: Tree | None = None, headers: dict[str, str] | None = None, **query: object
    ) -> Response:
        sent = {"content-type": "application/json", "user-agent": "test/1.0", **(headers or {})}
        data = json.dumps(body).encode() if body is not None else b""
        return await self.server(Request(method, path, urlencode(query), sent, data))

    async def json(
        self,
        path: str,
        *,
        status: int = 200,
        accept: str = "application/json",
        method: str = "GET",
        body: Tree | None = None,
        content_type: str = "application/json",
        **query: object,
    ) -> Any:
        """The body of an answer, which has the status that is expected."""
        headers = {"accept": accept, "content-type": content_type}
        response = await self.ask(method, path, body, headers, **query)
        assert isinstance(response.body, bytes)
        assert response.status == status, (response.status, response.body[:500])
        return json.loads(response.body)

    async def create(self, path: str, name: str, **fields: Any) -> Tree:
        """Makes a ConfigMap, or a widget, and gives it as it is stored."""
        kind = {"apiVersion": "ex.com/v1", "kind": "Widget"} if "widgets" in path else {"apiVersion": "v1"}
        if "configmaps" in path:
            kind["kind"] = "ConfigMap"
        labels = fields.pop("labels", None)
        metadata = {"name": name, **({"labels": labels} if labels else {})}
        made: Tree = await self.json(path, method="POST", body={**kind, "metadata": metadata, **fields}, status=201)
        return made

    async def patch(self, path: str, body: Tree) -> Tree:
        patched: Tree = await self.json(path, method="PATCH", body=body, content_type="application/merge-patch+json")
        return patched

    async def delete(self, path: str) -> None:
        await self.json(path, method="DELETE")

    async def define_widgets(self, **version: Any) -> Tree:
        """Makes a kind of custom resource."""
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}}
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.ex.com"},
            "spec": {
                "group": "ex.com",
                "scope": "Namespaced",
                "names": names,
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema, **version}],
            },
        }
        made: Tree = await self.json(DEFINITIONS, method="POST", body=definition, status=201)
        return made

    async def watch(
        self, path: str = MAPS, *, accept: str = "application/json", patience: int | None = None, **query: object
    ) -> OpenWatch:
        response = await self.ask("GET", path, None, {"accept": accept}, watch="true", **query)
        assert not isinstance(response.body, bytes | list), response.body
        streams = PROTOBUF in accept and "as=Table" not in accept
        assert (response.status, response.content_type) == (
            200,
            f"{PROTOBUF};stream=watch" if streams else "application/json",
        )
        opened = OpenWatch(response.body, MemorySink(patience))
        self._watches.append(opened)
        return opened

    async def close(self) -> None:
        for opened in self._watches:
            opened.sink.close()
        await asyncio.gather(*(opened.task for opened in self._watches))
        self.server.close()
        await self.store.close()


@asynccontextmanager
async def reading(retention: Retention = Retention()) -> AsyncIterator[Reader]:  # noqa: B008 - immutable
    """A server, for one test."""
    reader = Reader(retention)
    await reader.server.start()
    try:
        yield reader
    finally:
        await reader.close()


def names(listed: Tree) -> list[str]:
    """The names in a list."""
    return [item["metadata"]["name"] for item in listed["items"]]
