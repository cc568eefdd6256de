"""What every namespace has: an account, the authority of the server, and tokens where somebody asks for them."""

import asyncio
import base64
import re
from pathlib import Path

import pytest
from tests.system.worlds import CONFIG_MAP, PATIENCE, World

from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.store.memory import MemoryStore

ACCOUNT, SECRET, CA = "v1/ServiceAccount", "v1/Secret", "kube-root-ca.crt"


def token_secret(account: str) -> Object:
    metadata = {
        "name": "token",
        "namespace": "default",
        "annotations": {"kubernetes.io/service-account.name": account},
    }
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/service-account-token"}


async def test_every_namespace_has_a_default_account_and_gets_it_back(world: World) -> None:
    await world.namespace("n")
    await world.plane.settle()
    for namespace in ("default", "kube-system", "n"):
        assert await world.is_there(ACCOUNT, "default", namespace)
    before = await world.client.get(ACCOUNT, "default", "n")
    await world.client.delete(ACCOUNT, "default", "n")
    await world.plane.settle()
    after = await world.client.get(ACCOUNT, "default", "n")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_a_server_with_an_authority_tells_every_namespace_of_it(world: World) -> None:
    assert not await world.is_there(CONFIG_MAP, CA, "default")
    await world.plane.listen()
    await world.namespace("n")
    await world.plane.settle()
    told = [(await world.client.get(CONFIG_MAP, CA, namespace))["data"] for namespace in ("default", "n")]
    assert told[0] == told[1]
    assert told[0]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    await world.client.patch(CONFIG_MAP, merge({"data": {"ca.crt": "wrong", "more": "x"}}), CA, "n")
    await world.client.delete(CONFIG_MAP, CA, "default")
    await world.plane.settle()
    for namespace in ("default", "n"):
        assert (await world.client.get(CONFIG_MAP, CA, namespace))["data"] == told[0]


async def writes(world: World) -> int:
    """The number of requests that write ConfigMaps and service accounts, refused ones included."""
    shown = (await world.client.raw("GET", "/metrics")).body.decode()
    pattern = r'apiserver_request_total{verb="(?:POST|PUT|PATCH)".*resource="(?:configmaps|serviceaccounts)".*} (\d+)'
    return sum(map(int, re.findall(pattern, shown)))


async def test_objects_that_exist_cost_the_next_server_no_write(tmp_path: Path) -> None:
    store = MemoryStore()
    counts = []
    for _ in range(2):
        async with ControlPlane(store, data=tmp_path) as plane, plane.client() as client:
            await plane.listen()
            await plane.settle()
            counts.append(await writes(World(plane, client)))
    assert counts == [8, 0]  # two in each of four namespaces
    await store.close()


async def test_a_full_quota_is_reported_without_a_traceback(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.plane.listen()
    await world.namespace("n")
    await world.plane.settle()
    metadata = {"name": "q", "namespace": "n"}
    quota: Object = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
    await world.client.create({**quota, "spec": {"hard": {"count/configmaps": "0"}}})
    await world.plane.settle()
    await world.client.delete(CONFIG_MAP, CA, "n")
    while not caplog.records:
        await asyncio.sleep(0.01)
    assert "ConfigMap kube-root-ca.crt cannot be created in n: " in caplog.text
    assert "exceeded quota: q" in caplog.text
    assert not [record for record in caplog.records if record.exc_info]
    await world.client.delete("v1/ResourceQuota", "q", "n")
    async with asyncio.timeout(PATIENCE):
        while not await world.is_there(CONFIG_MAP, CA, "n"):
            await asyncio.sleep(0.01)


async def test_a_secret_for_a_token_is_filled_and_the_token_is_good(world: World) -> None:
    await world.client.create(token_secret("default"))
    await world.plane.settle()
    secret = await world.client.get(SECRET, "token", "default")
    account = await world.client.get(ACCOUNT, "default", "default")
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == account["metadata"]["uid"]
    assert base64.b64decode(secret["data"]["namespace"]) == b"default"
    token = base64.b64decode(secret["data"]["token"]).decode()
    async with world.plane.client(token=token) as other:
        review: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
        found = await other.create(review)
    assert found["status"]["userInfo"]["username"] == "system:serviceaccount:default:default"


async def test_a_secret_goes_with_its_account(world: World) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine", "namespace": "default"}}
    await world.client.create(account)
    await world.client.create(token_secret("mine"))
    await world.plane.settle()
    assert await world.is_there(SECRET, "token", "default")
    await world.client.delete(ACCOUNT, "mine", "default")
    await world.plane.settle()
    assert not await world.is_there(SECRET, "token", "default")
    await world.client.create(token_secret("nobody"))
    await world.plane.settle()
    assert not await world.is_there(SECRET, "token", "default")
