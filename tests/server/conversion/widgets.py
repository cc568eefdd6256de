"""Widgets in two versions whose fields have different names, converted by a real webhook over TLS or by a function."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
from tests.server.outbound.peer import Answer as Behaviour
from tests.server.outbound.peer import Asked, Peer, authority, response
from tests.server.read.reader import MemorySink
from tests.server.write.api import DEFINITIONS, Answer, Api

from setpoint.objects.tree import Json, Object
from setpoint.server.message import Request

WEBHOOK, FUNCTION = "webhook", "function"
NAME = "widgets.example.com"
V1, V2 = "example.com/v1", "example.com/v2"

Convert = Callable[[Object, str, str], Object]


def at(version: str, name: str = "", below: str = "") -> str:
    """The path of widgets, or of one, in a version."""
    parts = (f"/apis/example.com/{version}/namespaces/default/widgets", name, below)
    return "/".join(part for part in parts if part)


def convert(tree: Object, from_version: str, to_version: str) -> Object:
    """What is `size` and `colour` in v1 is `replicas` and `look.colour` in v2; v2 says where it came from."""
    spec, metadata = tree.get("spec") or {}, tree["metadata"]
    annotations = {**(metadata.get("annotations") or {})}
    if to_version == V2:
        changed = {"replicas": spec.get("size"), "look": {"colour": spec.get("colour")} if "colour" in spec else None}
        annotations["example.com/from"] = "v1"
    else:
        changed = {"size": spec.get("replicas"), "colour": (spec.get("look") or {}).get("colour")}
        annotations.pop("example.com/from", None)
    made = {**tree, "apiVersion": to_version}
    made["metadata"] = {name: value for name, value in metadata.items() if name != "annotations"}
    if annotations:
        made["metadata"]["annotations"] = annotations
    made["spec"] = {name: value for name, value in changed.items() if value is not None}
    return made


def definition(storage: str = "v2", **conversion: Any) -> Object:
    """The definition of widgets."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                _version("v1", {"size": {"type": "integer"}, "colour": {"type": "string"}}, ".spec.size", storage),
                _version(
                    "v2",
                    {
                        "replicas": {"type": "integer"},
                        "look": {"type": "object", "properties": {"colour": {"type": "string"}}},
                    },
                    ".spec.replicas",
                    storage,
                ),
            ],
            "conversion": conversion or {"strategy": "None"},
        },
    }


def _version(name: str, fields: Object, replicas: str, storage: str) -> Object:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": fields},
            "status": {"type": "object", "properties": {"ready": {"type": "integer"}}},
        },
    }
    return {
        "name": name,
        "served": True,
        "storage": name == storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": {"specReplicasPath": replicas, "statusReplicasPath": ".status.ready"}},
        "additionalPrinterColumns": [{"name": "Wanted", "type": "integer", "jsonPath": replicas}],
        "selectableFields": [{"jsonPath": replicas}],
    }


def widget(version: str = "v1", name: str = "w", **spec: Any) -> Object:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def reviewing(function: Convert) -> Behaviour:
    """A webhook that converts with a function, as it should be done."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        review = json.loads(asked.body)
        request = review["request"]
        wanted = request["desiredAPIVersion"]
        try:
            objects = [function(tree, tree["apiVersion"], wanted) for tree in request["objects"]]
            told = {"result": {"status": "Success"}, "convertedObjects": objects}
        except ValueError as error:
            told = {"result": {"status": "Failure", "message": f"ValueError: {error}"}}
        body = {**review, "response": {"uid": request["uid"], **told}}
        del body["request"]
        writer.write(response(json.dumps(body).encode()))

    return answer


class Widgets(Api):
    """A server that serves widgets, and who converts them."""

    def __init__(self, by: str, function: Convert, **options: Any) -> None:
        conversions = {NAME: function} if by == FUNCTION else None
        super().__init__(conversions=conversions, **options)
        self.by = by
        self.peer: Peer | None = None
        self._stack = AsyncExitStack()

    def webhook(self, path: str = "/convert", **changes: Any) -> Object:
        """What the definition says of conversion."""
        if self.peer is None:
            return {"strategy": "None"}
        bundle = b64encode(authority().pair.certificate).decode()
        config = {"url": self.peer.url + path, "caBundle": bundle}
        return {
            "strategy": "Webhook",
            "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"], **changes},
        }

    async def start(self, behaviour: Behaviour, storage: str = "v2", **changes: Any) -> None:
        await self.server.start()
        if self.by == WEBHOOK:
            self.peer = await self._stack.enter_async_context(Peer(behaviour))
        answer = await self("POST", DEFINITIONS, definition(storage, **self.webhook(**changes)))
        assert answer.status == 201, answer.body

    async def stop(self) -> None:
        self.server.services.close()
        await self._stack.aclose()

    @property
    def calls(self) -> list[Object]:
        """What the webhook was asked so far."""
        assert self.peer is not None
        return [json.loads(asked.body)["request"] for asked in self.peer.asked]

    async def change_definition(self, storage: str, **conversion: Any) -> None:
        """Makes the definition another one."""
        found = (await self("GET", f"{DEFINITIONS}/{NAME}")).body
        found["spec"] = definition(storage, **(conversion or self.webhook()))["spec"]
        answer = await self("PUT", f"{DEFINITIONS}/{NAME}", found)
        assert answer.status == 200, answer.body

    async def stored(self, name: str = "w") -> Object:
        """A widget as the store has it."""
        item = await self.store.get(f"/example.com/widgets/default/{name}")
        assert item is not None
        tree: Object = msgspec.json.decode(item.value)
        return tree

    async def get(self, path: str, query: str = "", accept: str = "application/json") -> Json:
        """The body of an answer in whatever form."""
        answer = await self.server(Request("GET", path, query, {"accept": accept}, b""))
        assert isinstance(answer.body, bytes | list)
        return msgspec.json.decode(answer.body if isinstance(answer.body, bytes) else b"".join(answer.body))

    @asynccontextmanager
    async def watch(self, version: str, query: str = "") -> AsyncIterator["Watching"]:
        """A watch of all widgets."""
        answer = await self.server(Request("GET", at(version), f"watch=true&{query}", {}, b""))
        assert not isinstance(answer.body, bytes | list)
        watching = Watching()
        watching.task = asyncio.create_task(answer.body.run(watching.sink))
        try:
            yield watching
        finally:
            watching.sink.close()
            await watching.task


class Watching:
    """A watch under way."""

    task: asyncio.Task[None]

    def __init__(self) -> None:
        self.sink = MemorySink()
        self._taken = 0

    async def next(self) -> tuple[str, Object]:
        """The type and the object of the next event."""
        async with asyncio.timeout(20):
            while len(self.sink.events) <= self._taken:
                await asyncio.sleep(0.001)
        event = self.sink.events[self._taken]
        self._taken += 1
        return event["type"], event["object"]


@asynccontextmanager
async def new_widgets(
    by: str = WEBHOOK,
    *,
    function: Convert = convert,
    behaviour: Behaviour | None = None,
    storage: str = "v2",
    webhook: Object | None = None,
    **options: Any,
) -> AsyncIterator[Widgets]:
    """Provides a server that has started. Widgets are converted with the function, here or behind a webhook, which may
    also behave otherwise; `webhook` are changes to what the definition says of it."""
    widgets = Widgets(by, function, **options)
    try:
        await widgets.start(behaviour or reviewing(function), storage, **(webhook or {}))
        async with asyncio.timeout(60):
            yield widgets
    finally:
        await widgets.stop()


async def created(widgets: Widgets, version: str = "v1", name: str = "w", **spec: Any) -> Answer:
    """A new widget."""
    answer = await widgets("POST", at(version), widget(version, name, **spec))
    assert answer.status == 201, answer.body
    return answer
