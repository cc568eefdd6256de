"""A server and the webhooks it asks: real ones, over TLS on loopback, in the same event loop."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
from tests.server.outbound.peer import Answer as Behaviour
from tests.server.outbound.peer import Asked, Peer, authority, response
from tests.server.write.api import Answer

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Json, Object
from setpoint.server.app import Server
from setpoint.server.edge.certificates import Pair
from setpoint.server.message import Request, Response
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.store.memory import MemoryStore

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


def answering(**fields: Any) -> Behaviour:
    """Allows what it is asked, or says what `fields` of the response say; `patch` is a JSON patch."""

    def decide(request: Object) -> Object:
        return fields

    return deciding(decide)


def deciding(decide: Callable[[Object], Object]) -> Behaviour:
    """Says what `decide` makes of the request."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        review = json.loads(asked.body)
        fields = {"uid": review["request"]["uid"], "allowed": True, **decide(review["request"])}
        if isinstance(patch := fields.get("patch"), list):
            fields |= {"patch": b64encode(json.dumps(patch).encode()).decode(), "patchType": "JSONPatch"}
        body = {"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": fields}
        writer.write(response(json.dumps(body).encode()))

    return answer


def adding(key: str, value: str = "yes") -> Behaviour:
    """Puts an entry into the data of ConfigMaps that do not have it."""

    def decide(request: Object) -> Object:
        data = request["object"].get("data") or {}
        patch = [] if data.get(key) == value else [{"op": "add", "path": "/data", "value": data | {key: value}}]
        return {"patch": patch}

    return deciding(decide)


class World:
    """One server over an empty store, and whoever it asks."""

    def __init__(self, admission: Sequence[Plugin] = ()) -> None:
        self.clock = ManualClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        store = MemoryStore(clock=self.clock)
        self.server = Server(store, clock=self.clock, ids=SeededIds(7), admission=admission, observer=self)
        # What the audit log would note beside the last request.
        self.annotations: Mapping[str, str] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "World":
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.services.close()
        await self._stack.aclose()

    def observe(self, context: Context, answer: Response, seconds: float) -> Response:
        self.annotations = context.annotations
        return answer

    async def peer(self, behaviour: Behaviour, pair: Pair | None = None) -> Peer:
        """Somebody to ask."""
        return await self._stack.enter_async_context(Peer(behaviour, pair))

    async def hook(self, behaviour: Behaviour, *, mutates: bool = False, name: str = "w", **changes: Any) -> Peer:
        """Somebody who is asked from now on, about ConfigMaps unless `changes` to the webhook say otherwise."""
        peer = await self.peer(behaviour)
        await self.register(webhook(peer, **changes), mutates=mutates, name=name)
        return peer

    async def register(self, *hooks: Object, mutates: bool = False, name: str = "w") -> None:
        kind = "MutatingWebhookConfiguration" if mutates else "ValidatingWebhookConfiguration"
        path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s"
        tree = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": list(hooks),
        }
        answer = await self("POST", path, tree)
        assert answer.status == 201, answer.body

    async def __call__(
        self, method: str, path: str, body: Json = None, *, query: str = "", kind: str = "application/json"
    ) -> Answer:
        data = b"" if body is None else msgspec.json.encode(body)
        headers = {"content-type": kind, "user-agent": "test/1.0"}
        answer = await self.server(Request(method, path, query, headers, data))
        assert isinstance(answer.body, bytes)
        found = msgspec.json.decode(answer.body)
        return Answer(answer.status, found, [value for name, value in answer.headers if name == "Warning"])

    async def create(self, name: str = "a", query: str = "", **data: str) -> Answer:
        """Asks for a new ConfigMap."""
        tree: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        return await self("POST", CONFIG_MAPS, tree, query=query)


def webhook(peer: Peer, path: str = "/x", **changes: Any) -> Object:
    """A webhook of a configuration, about ConfigMaps."""
    return {
        "name": "h.example.com",
        "clientConfig": {"url": peer.url + path, "caBundle": bundle()},
        "rules": [_RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **changes,
    }


def bundle() -> str:
    return b64encode(authority().pair.certificate).decode()


def requests(peer: Peer) -> list[Object]:
    """The requests of the reviews that somebody got."""
    return [json.loads(asked.body)["request"] for asked in peer.asked]


@asynccontextmanager
async def new_world(admission: Sequence[Plugin] = ()) -> AsyncIterator[World]:
    """Provides a server that has started, with these plugins."""
    async with World(admission) as world, asyncio.timeout(60):
        yield world
