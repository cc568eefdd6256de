"""Fairness as clients meet it: over real connections."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import kubernetes.client
import pytest
import uvloop
from tests.event_loops import LoopFactory
from tests.server.flowcontrol.crowd import MAPS, Crowd, crowd, soon

from setpoint.objects.clock import SystemClock
from setpoint.server.edge.listener import Listener


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, user: str, path: str) -> int:
    """One request on a connection; the code of its answer."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {user}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split()[1])


@pytest.fixture
def loop_factory() -> LoopFactory:
    """Runs the tests on the loop of `setpoint serve`, which buffers less than the standard library's."""
    return uvloop.new_event_loop


@asynccontextmanager
async def listening(**settings: Any) -> AsyncIterator[tuple[Crowd, str, int]]:
    """Provides a server with these settings, its host and its port."""
    async with crowd(**settings) as server:
        listener = Listener(server.server, SystemClock())
        host, port = await listener.listen("127.0.0.1", 0)
        try:
            yield server, host, port
        finally:
            server.slow.open.set()
            await listener.close()


async def test_a_client_with_a_hundred_connections_does_not_slow_down_one_with_one() -> None:
    async with listening() as (server, host, port):
        for n in range(200):
            await server.make("admin", f"m{n}")
        served = {"greedy": 0, "modest": 0}
        over = asyncio.Event()

        async def client(user: str) -> None:
            reader, writer = await asyncio.open_connection(host, port)
            while not over.is_set():
                assert await ask(reader, writer, user, MAPS) == 200
                served[user] += 1
                if user == "modest" and served[user] == 30:
                    over.set()
            writer.close()

        await asyncio.gather(*(client("greedy") for _ in range(100)), client("modest"))
        # Served in the order of arrival, it would be nearly two hundred to one. They take turns; but the modest client
        # has none waiting while it reads its answer, and the greedy one always has.
        assert served["greedy"] / served["modest"] < 100, served


async def test_the_official_client_comes_back_when_it_is_told_to() -> None:
    async def turned_away(server: Crowd) -> float:
        return sum((await server.measure("apiserver_flowcontrol_rejected_requests_total")).values())

    def create(url: str) -> str:
        configuration = kubernetes.client.Configuration(host=url)
        configuration.api_key = {"authorization": "Bearer greedy"}
        # urllib3 waits as long as Retry-After says.
        configuration.retries = kubernetes.client.rest.urllib3.Retry(
            total=10, status_forcelist=[429], allowed_methods=None, respect_retry_after_header=True
        )
        with kubernetes.client.ApiClient(configuration) as client:
            core = kubernetes.client.CoreV1Api(client)
            body = kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name="of-the-client"))
            return str(core.create_namespaced_config_map("default", body).metadata.name)

    async with listening(max_mutating_requests_inflight=8) as (server, host, port):
        held = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(400)]
        await soon()
        assert any(task.done() and task.result().status == 429 for task in held)
        made: list[str] = []
        asked = threading.Thread(target=lambda: made.append(create(f"http://{host}:{port}")))
        asked.start()
        while not await turned_away(server) > len([task for task in held if task.done()]):
            await asyncio.sleep(0.01)
        server.slow.open.set()
        await asyncio.to_thread(asked.join)
        assert made == ["of-the-client"]
        await asyncio.gather(*held)
