"""What a request costs in the server itself: create, get, apply and patch, in process, on the store in memory.

    python bench/server.py [--profile create|get|apply|patch|custom]

Prints microseconds of CPU a request, the best of several rounds. No sockets: `bench/edge.py` has those.
"""

import argparse
import asyncio
import cProfile
import pstats
import time
from collections.abc import Awaitable, Callable

import msgspec

from setpoint.server.app import Server
from setpoint.server.message import Request
from setpoint.store.memory import MemoryStore

ROUNDS = 7
REQUESTS = 400
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/bench.example.com/v1/namespaces/default/widgets"
_encode = msgspec.json.encode

Call = Callable[[int], Awaitable[None]]

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.bench.example.com"},
    "spec": {
        "group": "bench.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0, "default": 1},
                                    "data": {"type": "object", "additionalProperties": {"type": "string"}},
                                },
                                "x-kubernetes-validations": [{"rule": "self.size >= 0"}],
                            }
                        },
                    }
                },
            }
        ],
    },
}


def config_map(name: str, value: str) -> bytes:
    """A ConfigMap of about a kilobyte."""
    data = {f"key-{number}": "x" * 80 for number in range(10)} | {"changing": value}
    labels = {"app": "bench", "tier": "back"}
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data}
    return _encode(tree)


def widget(name: str) -> bytes:
    data = {f"key-{number}": "x" * 80 for number in range(10)}
    tree = {"apiVersion": "bench.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"data": data}}
    return _encode(tree)


class Bench:
    """The requests that are measured, against one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made = 0

    async def send(
        self, method: str, path: str, body: bytes = b"", query: str = "", kind: str = "application/json"
    ) -> None:
        headers = {"content-type": kind, "user-agent": "bench/1.0", "accept": "application/json"}
        response = await self._server(Request(method, path, query, headers, body))
        assert response.status < 300, response.body

    async def create(self, _: int) -> None:
        self._made += 1
        await self.send("POST", CONFIG_MAPS, config_map(f"made-{self._made}", "0"))

    async def custom(self, _: int) -> None:
        self._made += 1
        await self.send("POST", WIDGETS, widget(f"made-{self._made}"))

    async def get(self, _: int) -> None:
        await self.send("GET", f"{CONFIG_MAPS}/one")

    async def apply(self, _: int) -> None:
        self._made += 1
        body = config_map("one", str(self._made))
        query = "fieldManager=bench&force=true"
        await self.send("PATCH", f"{CONFIG_MAPS}/one", body, query, "application/apply-patch+yaml")

    async def patch(self, _: int) -> None:
        self._made += 1
        body = b'{"data":{"changing":"%d"}}' % self._made
        await self.send("PATCH", f"{CONFIG_MAPS}/one", body, "", "application/merge-patch+json")


async def measure(call: Call) -> float:
    """Microseconds of CPU a call."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for number in range(REQUESTS):
            await call(number)
        best = min(best, time.process_time() - start)
    return best / REQUESTS * 1e6


async def main(profiled: str) -> None:
    server = Server(MemoryStore())
    await server.start()
    bench = Bench(server)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await bench.send("POST", path, _encode(DEFINITION))
    await bench.apply(0)
    calls: dict[str, Call] = {
        "get": bench.get,
        "create": bench.create,
        "apply": bench.apply,
        "patch": bench.patch,
        "custom": bench.custom,
    }
    if profiled:
        profile = cProfile.Profile()
        await measure(calls[profiled])
        profile.enable()
        for number in range(1000):
            await calls[profiled](number)
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)
        return
    for name, call in calls.items():
        print(f"{name:8} {await measure(call):8.1f} µs of CPU")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="", choices=["", "create", "get", "apply", "patch", "custom"])
    asyncio.run(main(parser.parse_args().profile))
