"""A server whose etcd has no quorum: each request is answered soon, and clients learn whether to repeat the request."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from tests.store.etcd_proxy import Proxy
from tests.store.etcd_server import require_etcd, shared_etcd

from setpoint.client.transport import Answer, Call
from setpoint.plane import ControlPlane
from setpoint.server.edge.in_process import LocalTransport
from setpoint.store.etcd.client import EtcdClient

pytestmark = pytest.mark.slow

MAPS = "/api/v1/namespaces/default/configmaps"
SOON = 30.0
_roots = count()


class Outage:
    """A server on an etcd that can fall silent. Requests are sent once, without the retries of a client."""

    def __init__(self, plane: ControlPlane, proxy: Proxy) -> None:
        self.plane, self.proxy = plane, proxy
        self._transport = LocalTransport(plane.answer)

    async def request(self, method: str, path: str, body: Any = None, **query: str) -> Answer:
        headers = {"accept": "application/json", "content-type": "application/json"}
        sent = b"" if body is None else json.dumps(body).encode()
        return await asyncio.wait_for(
            self._transport.send(Call(method, path, list(query.items()), headers, sent)), SOON
        )

    async def recovered(self) -> None:
        self.proxy.cut()
        self.proxy.release()
        async with self.plane.client() as client:
            await asyncio.wait_for(client.list("v1/ConfigMap", "default"), SOON)


@pytest.fixture
async def outage() -> AsyncIterator[Outage]:
    require_etcd()
    async with Proxy(shared_etcd()) as proxy:
        store = f"etcd:http://{proxy.endpoint}/outage-{next(_roots)}"
        async with ControlPlane(store, system=False) as plane:
            found = Outage(plane, proxy)
            created = await found.request("POST", MAPS, config_map("old"))
            assert created.status == 201
            listed = await found.request("GET", MAPS, resourceVersion="0")
            assert names(listed) == ["old"]
            yield found
            proxy.release()


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def names(answer: Answer) -> list[str]:
    return [each["metadata"]["name"] for each in json.loads(answer.body)["items"]]


async def test_requests_that_sent_nothing_are_refused_with_a_time_to_retry(outage: Outage) -> None:
    outage.proxy.hold_requests()
    for method, path, body in (("GET", f"{MAPS}/old", None), ("GET", MAPS, None), ("POST", MAPS, config_map("new"))):
        answer = await outage.request(method, path, body)
        assert (answer.status, answer.headers.get("retry-after")) == (503, "1")
        assert json.loads(answer.body)["reason"] == "ServiceUnavailable"
    await outage.recovered()
    assert (await outage.request("POST", MAPS, config_map("new"))).status == 201


async def test_write_of_unknown_outcome_is_not_to_be_repeated(outage: Outage, monkeypatch: pytest.MonkeyPatch) -> None:
    send = EtcdClient.txn

    async def lose_answer(client: EtcdClient, request: Any, *, once: bool, deadline: float | None = None) -> Any:
        if once:  # a write
            outage.proxy.swallow_answers()
        return await send(client, request, once=once, deadline=deadline)

    monkeypatch.setattr(EtcdClient, "txn", lose_answer)
    answer = await outage.request("POST", MAPS, config_map("new"))
    assert (answer.status, answer.headers.get("retry-after")) == (504, None)
    status = json.loads(answer.body)
    assert status["reason"] == "Timeout"
    assert "whether the write was made is not known" in status["message"]
    await outage.recovered()
    assert names(await outage.request("GET", MAPS)) == ["new", "old"]


async def test_reads_of_any_age_need_no_quorum(outage: Outage) -> None:
    outage.proxy.hold_requests()
    assert names(await outage.request("GET", MAPS, resourceVersion="0")) == ["old"]
    assert (await outage.request("GET", f"{MAPS}/old", resourceVersion="0")).status == 200
    assert (await outage.request("GET", f"{MAPS}/old")).status == 503
    assert names(await outage.request("GET", MAPS, resourceVersion="0")) == ["old"]


async def test_client_repeats_requests_until_the_quorum_is_back(outage: Outage) -> None:
    outage.proxy.hold_requests()
    assert (await outage.request("GET", f"{MAPS}/old")).status == 503
    async with outage.plane.client() as client:
        creating = asyncio.create_task(client.with_options(namespace="default").create(config_map("new")))
        await asyncio.sleep(0)
        outage.proxy.cut()
        outage.proxy.release()
        created = await asyncio.wait_for(creating, SOON)
    assert created["metadata"]["name"] == "new"


async def test_server_is_not_ready_without_a_quorum(outage: Outage) -> None:
    assert (await outage.request("GET", "/readyz")).status == 200
    outage.proxy.hold_requests()
    assert (await outage.request("GET", "/readyz")).status == 500
    await outage.recovered()
    assert (await outage.request("GET", "/readyz")).status == 200
