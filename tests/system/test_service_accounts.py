"""What every namespace has: an account, the authority of the server, and tokens where somebody asks for them."""

import base64

from tests.system.worlds import CONFIG_MAP, World

from setpoint.client.patches import merge
from setpoint.objects.tree import Object

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
