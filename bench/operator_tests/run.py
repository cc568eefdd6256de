"""Runs a number of the test cases with one harness, in this process.

python -m bench.operator_tests.run setpoint-kopf 100
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.operator_tests.cases import CASES, DEFINITION, NAME, Condition, Jars, Tree, polled
from setpoint.client.client import Client
from setpoint.client.kubeconfig import load
from setpoint.client.patches import merge
from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import NotFound

OPERATOR = Path(__file__).with_name("jars.py")
JAR = "example.com/v1/Jar"
# Prepares a run, and provides a function that prepares one test.
OneTest = Callable[[], AbstractAsyncContextManager[Jars]]
Harness = Callable[[], AbstractContextManager[OneTest]]


class ServedJars:
    """The jars of a real server. `wait` waits for a condition."""

    def __init__(self, client: Client, wait: Callable[[Condition], Any] = polled) -> None:
        self._client, self._wait = client, wait

    async def create(self, tree: Tree) -> None:
        await self._client.create(tree)

    async def get(self) -> Tree | None:
        try:
            return await self._client.get(JAR, NAME, "default")
        except NotFound:
            return None

    async def patch(self, change: Tree) -> None:
        await self._client.patch(JAR, merge(change), NAME, "default")

    async def delete(self) -> None:
        await self._client.delete(JAR, NAME, "default")

    async def until(self, holds: Condition) -> None:
        await self._wait(holds)


def connected(kubeconfig: Path) -> Client:
    return Client(load([kubeconfig]).connection("", {}, SystemClock()).transport())


@contextmanager
def setpoint_kopf() -> Iterator[OneTest]:
    """Setpoint's fixture for kopf operators: a new server for each test, and virtual time."""
    from setpoint.testing import LocalServer
    from setpoint.testing.kopf import kopf_operator

    @asynccontextmanager
    async def one() -> AsyncIterator[Jars]:
        with LocalServer(system=False) as server:
            server.apply(DEFINITION)
            async with kopf_operator(str(OPERATOR), server=server) as operator, connected(server.kubeconfig) as client:
                yield ServedJars(client, operator.eventually)

    yield one


@contextmanager
def setpoint_world() -> Iterator[OneTest]:
    """A world of Setpoint, with the same operator written with the SDK."""
    from bench.operator_tests.sdk_jars import Jar, jars
    from setpoint import testing

    @asynccontextmanager
    async def one() -> AsyncIterator[Jars]:
        async with testing.world(crds=[Jar], strict=False) as world:
            await world.run(jars)
            yield ServedJars(world.client, world.eventually)

    yield one


def _with_kopf_runner(kubeconfig: Path) -> OneTest:
    """kopf's harness for tests: `kopf run` in a thread, on any server, in real time."""
    import kopf
    from kopf.testing import KopfRunner

    os.environ["KUBECONFIG"] = str(kubeconfig)

    @asynccontextmanager
    async def one() -> AsyncIterator[Jars]:
        command = ["run", "--all-namespaces", "--standalone", "--quiet", str(OPERATOR)]
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)
        runner = KopfRunner(command, registry=registry, timeout=60)
        async with connected(kubeconfig) as client:
            await asyncio.to_thread(runner.__enter__)
            jars = ServedJars(client)
            try:
                yield jars
                # The next test has the same cluster.
                if await jars.get() is not None:
                    await jars.delete()
                await polled(lambda: _is_gone(jars))
            finally:
                await asyncio.to_thread(runner.__exit__, None, None, None)

    return one


async def _is_gone(jars: Jars) -> bool:
    return await jars.get() is None


@contextmanager
def kopf_runner() -> Iterator[OneTest]:
    """KopfRunner on one `setpoint serve` for all tests."""
    from setpoint.testing import LocalServer

    with LocalServer() as server:
        server.apply(DEFINITION)
        yield _with_kopf_runner(server.kubeconfig)


@contextmanager
def envtest() -> Iterator[OneTest]:
    """KopfRunner on one kube-apiserver with etcd for all tests, as envtest starts them."""
    from tests.oracle.peers import oracle, write_files

    with tempfile.TemporaryDirectory() as folder, oracle(Path(folder), write_files(Path(folder))) as server:

        async def install() -> None:
            async with connected(server.kubeconfig) as client:
                await client.install(DEFINITION)

        asyncio.run(install())
        yield _with_kopf_runner(server.kubeconfig)


class MockedJars:
    """The jars of kmock's emulator."""

    _PATH = "/apis/example.com/v1/namespaces/default/jars"

    def __init__(self, session: Any) -> None:
        self._session = session

    async def create(self, tree: Tree) -> None:
        # The emulator assigns none of these fields, and kopf needs them.
        own = {"uid": "u1", "resourceVersion": "1", "creationTimestamp": "2030-01-01T00:00:00Z"}
        metadata = {**tree["metadata"], **own}
        await self._session.post(self._PATH, json={**tree, "metadata": metadata}, raise_for_status=True)

    async def get(self) -> Tree | None:
        answer = await self._session.get(f"{self._PATH}/{NAME}")
        return None if answer.status == 404 else await answer.json()

    async def patch(self, change: Tree) -> None:
        headers = {"Content-Type": "application/merge-patch+json"}
        await self._session.patch(f"{self._PATH}/{NAME}", json=change, headers=headers, raise_for_status=True)

    async def delete(self) -> None:
        await self._session.delete(f"{self._PATH}/{NAME}", raise_for_status=True)

    async def until(self, holds: Condition) -> None:
        await polled(holds)


@contextmanager
def kmock() -> Iterator[OneTest]:
    """kopf's operator in the loop of the test, on kmock's emulator, in real time."""
    import aiohttp
    import kopf

    mock = import_module("kmock")

    @asynccontextmanager
    async def one() -> AsyncIterator[Jars]:
        registry = kopf.OperatorRegistry()
        kopf.set_default_registry(registry)
        sys.modules.pop("bench.operator_tests.jars", None)
        import_module("bench.operator_tests.jars")
        ready, stop = asyncio.Event(), asyncio.Event()
        async with mock.KubernetesEmulator() as emulator, mock.Server(emulator) as server:
            for path, kind, is_namespaced in _MOCKED:
                emulator.resources[path] = {**_RESOURCE, "kind": kind, "namespaced": is_namespaced}

            @kopf.on.login(registry=registry)
            async def login(**_: Any) -> kopf.ConnectionInfo:
                return kopf.ConnectionInfo(server=str(server.url).rstrip("/"))

            settings = kopf.OperatorSettings()
            settings.posting.enabled = False
            options = {"standalone": True, "clusterwide": True, "ready_flag": ready, "stop_flag": stop}
            running = asyncio.ensure_future(kopf.operator(registry=registry, settings=settings, **options))  # type: ignore[arg-type]
            await ready.wait()
            async with aiohttp.ClientSession(str(server.url)) as session:
                yield MockedJars(session)
            stop.set()
            await running

    yield one


# The resources of the emulator. kopf waits for namespaces and definitions before it watches its own kinds.
_MOCKED = (
    ("v1/namespaces", "Namespace", False),
    ("v1/events", "Event", True),
    ("apiextensions.k8s.io/v1/customresourcedefinitions", "CustomResourceDefinition", False),
    ("example.com/v1/jars", "Jar", True),
)
_RESOURCE = {
    "singular": "",
    "subresources": [],
    "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
}
HARNESSES: dict[str, Harness] = {
    "setpoint-kopf": setpoint_kopf,
    "setpoint-world": setpoint_world,
    "kopf-runner": kopf_runner,
    "envtest": envtest,
    "kmock": kmock,
}


def main() -> None:
    harness, count = HARNESSES[sys.argv[1]], int(sys.argv[2])
    with harness() as one:
        for number in range(count):

            async def test(case: Callable[[Jars], Any]) -> None:
                async with one() as jars:
                    await case(jars)

            asyncio.run(test(CASES[number % len(CASES)]))
    print(f"{count} passed")


if __name__ == "__main__":
    main()
