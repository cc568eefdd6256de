"""Workload controllers on simulated nodes: the processor time of a Deployment until it is available, beside Kubernetes'
own components with KWOK, and the memory of idle pods.

The components are programs of `make oracle`; without them only our own figures are shown. Both sides use TLS, RBAC and
a store on disk, and start without objects. The clients of the components may send 1,000 requests a second.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.oracle.components.cluster import PROGRAMS, real_cluster
from tests.oracle.programs import missing
from tests.system.scenarios.record import prepare_nodes

from bench.figure import Figure
from bench.workloads.accounts import mebibytes, seconds
from setpoint import testing
from setpoint.client.client import Client

REPLICAS, IDLE = 1000, 10_000
PODS_OF_NODE = 100
ROUNDS, WARM = 20, 3
FACTOR_AIM, WORLD_AIM, MEMORY_AIM = 5, 30.0, 250.0
_QPS = ("--kube-api-qps=1000", "--kube-api-burst=1000")
_DEPLOYMENT = "apps/v1/Deployment"
_LONGEST_SECONDS, _LOOK_SECONDS = 900.0, 0.5


def deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
        },
    }


async def available(client: Client, replicas: int) -> None:
    """Returns when all replicas are available."""
    end = time.monotonic() + _LONGEST_SECONDS
    while (await client.get(_DEPLOYMENT, "web", "default")).get("status", {}).get("availableReplicas", 0) < replicas:
        if time.monotonic() > end:
            raise TimeoutError(f"{replicas} replicas were not available within {_LONGEST_SECONDS:g} s")
        await asyncio.sleep(_LOOK_SECONDS)


# One Deployment in a test world


async def in_a_world() -> float:
    """Returns the least processor time, in milliseconds, until three replicas are available."""
    found = []
    for _ in range(ROUNDS + WARM):
        async with testing.world(nodes="simulated:3") as world:
            await world.settle()
            start = time.process_time()
            await world.client.create(deployment(3))
            await world.settle()
            found.append(time.process_time() - start)
            status = (await world.find(_DEPLOYMENT, "web"))["status"]
            assert status["availableReplicas"] == 3, status
    return min(found[WARM:]) * 1000


# Servers as processes of their own


@contextmanager
def serving(directory: Path, nodes: int) -> Iterator[tuple[Path, list[int]]]:
    """Runs `setpoint serve` with simulated nodes; yields its kubeconfig and its processes."""
    kubeconfig = directory / "admin.kubeconfig"
    store = f"sqlite:{directory / 'plane.db'}"
    options = ["--listen=127.0.0.1:0", f"--kubeconfig={kubeconfig}", f"--store={store}", f"--nodes=simulated:{nodes}"]
    with (directory / "log").open("w") as log:
        command = [sys.executable, "-m", "setpoint", "serve", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        if not process.stdout.readline().startswith("ready"):
            raise RuntimeError((directory / "log").read_text())
        yield kubeconfig, [process.pid]
    finally:
        process.terminate()
        process.wait()


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Client]:
    async with Client.from_kubeconfig(kubeconfig) as client:
        yield client


async def until_available(kubeconfig: Path, pids: list[int], *, create_nodes: bool) -> tuple[float, float]:
    """Returns the processor time of the processes and the time until a Deployment is available."""
    async with connected(kubeconfig) as client:
        if create_nodes:
            await prepare_nodes(client, [{}] * (REPLICAS // PODS_OF_NODE), create=True)
        await asyncio.sleep(10)  # the start of all programs is not part of the figure
        used, begin = seconds(pids), time.monotonic()
        await client.create(deployment(REPLICAS))
        await available(client, REPLICAS)
        return seconds(pids) - used, time.monotonic() - begin


async def idle_memory(kubeconfig: Path, pids: list[int]) -> float:
    """Returns the memory of the processes in MB with many pods that run."""
    async with connected(kubeconfig) as client:
        await client.create(deployment(IDLE))
        await available(client, IDLE)
        await asyncio.sleep(10)
        return mebibytes(pids) * 1.048576


def ours() -> tuple[float, float]:
    with TemporaryDirectory() as place, serving(Path(place), REPLICAS // PODS_OF_NODE) as (kubeconfig, pids):
        return asyncio.run(until_available(kubeconfig, pids, create_nodes=False))


def theirs() -> tuple[float, float]:
    with TemporaryDirectory() as place, real_cluster(Path(place), _QPS) as cluster:
        pids = [*cluster.servers.values(), *cluster.companions.values()]
        return asyncio.run(until_available(Path(place) / "admin.kubeconfig", pids, create_nodes=True))


def figures() -> Iterable[Figure]:
    small = asyncio.run(in_a_world())
    yield Figure(
        "nodes: three replicas available in a world, CPU", small, "ms", aim=f"< {WORLD_AIM:g}", met=small < WORLD_AIM
    )
    used, wall = ours()
    name = f"nodes: {REPLICAS} replicas available"
    if missing(*PROGRAMS):
        yield Figure(f"{name}, CPU", used, "s", beside="run `make oracle` for the peers")
        yield Figure(f"{name}, time", wall, "s")
    else:
        peer, peer_wall = theirs()
        met = used * FACTOR_AIM <= peer
        yield Figure(f"{name}, CPU", used, "s", "Kubernetes with KWOK", peer, f"<= 1/{FACTOR_AIM}", met)
        yield Figure(f"{name}, time", wall, "s", "Kubernetes with KWOK", peer_wall)
    with TemporaryDirectory() as place, serving(Path(place), IDLE // PODS_OF_NODE) as (kubeconfig, pids):
        memory = asyncio.run(idle_memory(kubeconfig, pids))
    yield Figure(f"nodes: memory of {IDLE} idle pods", memory, "MB", aim=f"< {MEMORY_AIM:g}", met=memory < MEMORY_AIM)
