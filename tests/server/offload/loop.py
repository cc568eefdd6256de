"""A server in the loop of a test, and the CPU that turns of the loop take."""

import asyncio
import gc
import time
from typing import Any

import msgspec

from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.store.memory import MemoryStore

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/ex.com/v1/namespaces/default/things"
# The most CPU of the loop's thread between two of its iterations, in seconds.
MOST = 0.05

Tree = dict[str, Any]


def definition(spec: Tree, plural: str = "things") -> Tree:
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def thing(spec: Any, name: str = "one") -> Tree:
    return {"apiVersion": "ex.com/v1", "kind": "Things", "metadata": {"name": name}, "spec": spec}


class Loop:
    """A server in this loop, and the most CPU that one turn of the loop has taken since `watch` was entered."""

    def __init__(self) -> None:
        self.server = Server(MemoryStore())
        self.worst = 0.0

    async def post(self, path: str, tree: Tree) -> Response:
        return await self.ask("POST", path, body=msgspec.json.encode(tree))

    async def ask(self, method: str, path: str, query: str = "", accept: str = "", body: bytes = b"") -> Response:
        response = await self.server(Request(method, path, query, {"accept": accept} if accept else {}, body))
        assert isinstance(response.body, bytes | list)
        return response

    async def __aenter__(self) -> "Loop":
        # A collection would visit all objects of all tests that ran in the process, in whichever thread it begins.
        gc.collect()
        gc.disable()
        await self.server.start()
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        await self.post("/api/v1/namespaces", namespace)
        self._ticking = asyncio.ensure_future(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ticking.cancel()
        self.server.close()
        gc.enable()

    async def _tick(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            self.worst = max(self.worst, time.thread_time() - before)

    @property
    def offload(self) -> int:
        """How much work ran beside the loop."""
        return self.server.services.offload.moved
