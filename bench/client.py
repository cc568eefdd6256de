"""What a request costs the one who asks, beside the official client and lightkube, against the same server.

CPU time of the process that asks, for one request at a time: reading one ConfigMap of a kilobyte, listing 500 of them,
creating one; over plain HTTP and over TLS. Ours is measured with `await` and without; objects are trees, and, for
`typed`, models as the others have them.
"""

import asyncio
import importlib.util
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import uvloop

from bench.edge import PADDING, kubeconfig_path, serve_options, serving
from bench.figure import Figure, in_turns
from setpoint.client.client import Client
from setpoint.client.options import Options
from setpoint.client.sync import SyncClient
from setpoint.objects.tree import Object

KIND = "v1/ConfigMap"
MANY = 500
ROUNDS = 5
# How many requests a round has, by what they do.
REQUESTS = {"get": 200, "list of 500": 4, "create": 100}

Measure = Callable[[], float]


def figures() -> Iterator[Figure]:
    for tls in (False, True):
        with serving("setpoint", *serve_options(tls=tls)):
            yield from _beside("TLS" if tls else "HTTP")


def _beside(how: str) -> Iterator[Figure]:
    names = count()
    with SyncClient.from_kubeconfig(kubeconfig_path()) as client:
        for number in range(MANY):
            client.create(config_map(f"m{number}"))
        faces: dict[str, dict[str, Callable[[], Any]]] = {"ours, without await": _ours(client, names)}
        faces |= _others(names)
        ours = {what: _asynchronous(what, names) for what in REQUESTS}
        for what, times in REQUESTS.items():
            others = {name: _repeated(face[what], times) for name, face in faces.items() if what in face}
            found = in_turns(ROUNDS, ours[what], *others.values())
            for name, value in zip(others, found[1:], strict=True):
                yield Figure(f"client: CPU of {what} over {how}", found[0], "µs", name, value)


def config_map(name: str) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": {"app": "bench"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": PADDING}}


def _repeated(work: Callable[[], Any], times: int) -> Measure:
    """Microseconds of this process for one of many."""

    def measure() -> float:
        work()
        start = time.process_time()
        for _ in range(times):
            work()
        return (time.process_time() - start) / times * 1e6

    return measure


def _asynchronous(what: str, names: Iterator[int]) -> Measure:
    async def main() -> float:
        async with Client.from_kubeconfig(kubeconfig_path(), options=Options(namespace="default")) as client:
            works: dict[str, Callable[[], Any]] = {
                "get": lambda: client.get(KIND, "m0"),
                "list of 500": lambda: client.list(KIND, labels="app=bench", limit=MANY),
                "create": lambda: client.create(config_map(f"c{next(names)}")),
            }
            await works[what]()
            start = time.process_time()
            for _ in range(REQUESTS[what]):
                await works[what]()
            return (time.process_time() - start) / REQUESTS[what] * 1e6

    def measure() -> float:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(main())

    return measure


def _ours(client: SyncClient, names: Iterator[int]) -> dict[str, Callable[[], Any]]:
    return {
        "get": lambda: client.get(KIND, "m0", "default"),
        "list of 500": lambda: client.list(KIND, "default", labels="app=bench", limit=MANY),
        "create": lambda: client.create(config_map(f"c{next(names)}")),
    }


def _others(names: Iterator[int]) -> dict[str, dict[str, Callable[[], Any]]]:
    """The clients of others that are installed."""
    found: dict[str, dict[str, Callable[[], Any]]] = {}
    if importlib.util.find_spec("kubernetes"):
        from kubernetes import client as official
        from kubernetes import config

        api = official.CoreV1Api(config.new_client_from_config(str(kubeconfig_path())))
        found["kubernetes"] = {
            "get": lambda: api.read_namespaced_config_map("m0", "default"),
            "list of 500": lambda: api.list_namespaced_config_map("default", label_selector="app=bench", limit=MANY),
            "create": lambda: api.create_namespaced_config_map("default", config_map(f"c{next(names)}")),
        }
    if importlib.util.find_spec("lightkube"):
        from lightkube import Client as Light
        from lightkube import KubeConfig
        from lightkube.models.meta_v1 import ObjectMeta
        from lightkube.resources.core_v1 import ConfigMap

        light = Light(KubeConfig.from_file(str(kubeconfig_path())))

        def made() -> Any:
            metadata = ObjectMeta(name=f"c{next(names)}", namespace="default", labels={"app": "bench"})
            return ConfigMap(metadata=metadata, data={"key": PADDING})

        found["lightkube"] = {
            "get": lambda: light.get(ConfigMap, "m0", namespace="default"),
            "list of 500": lambda: list(light.list(ConfigMap, namespace="default", labels={"app": "bench"})),
            "create": lambda: light.create(made()),
        }
    return found
