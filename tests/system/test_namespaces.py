"""The end of namespaces: their content goes, and they say what they wait for."""

from copy import copy

import pytest
from tests.system.worlds import CONFIG_MAP, World

from setpoint.cache.cache import Cache
from setpoint.client.mapper import Mapper
from setpoint.client.patches import merge
from setpoint.client.transport import Answer, Call
from setpoint.controller.request import Request
from setpoint.objects.errors import ServiceUnavailable
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.system.namespaces import NamespaceDeletion

NAMESPACE = "v1/Namespace"


def condition(namespace: Object, name: str) -> tuple[str, str]:
    found = next(each for each in namespace["status"]["conditions"] if each["type"] == name)
    return found["status"], found["message"]


def pod(name: str, **spec: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "n"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


async def test_a_namespace_goes_with_all_that_is_in_it(world: World) -> None:
    await world.namespace("n")
    await world.make("a", namespace="n")
    await world.client.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}, "data": {}}
    )
    await world.client.create(pod("p"))
    await world.plane.settle()
    await world.client.delete(NAMESPACE, "n")
    await world.plane.settle()
    assert not await world.is_there(NAMESPACE, "n")
    for kind in (CONFIG_MAP, "v1/Secret", "v1/Pod", "v1/ServiceAccount"):
        assert not (await world.client.list(kind, "n")).items


async def test_deprecated_resources_are_deleted_without_a_warning_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.namespace("n")
    await world.client.delete(NAMESPACE, "n")
    await world.plane.settle()
    assert not await world.is_there(NAMESPACE, "n")
    assert [record.getMessage() for record in caplog.records if "deprecated" in record.getMessage()] == []


async def test_it_waits_for_finalizers_and_says_so_and_goes_with_the_last_of_them(world: World) -> None:
    await world.namespace("n")
    await world.make("a", namespace="n", finalizers=["example.com/hold"])
    await world.make("b", namespace="n", finalizers=["example.com/hold"])
    await world.client.delete(NAMESPACE, "n")
    await world.plane.settle()
    found = await world.client.get(NAMESPACE, "n")
    assert found["status"]["phase"] == "Terminating"
    assert condition(found, "NamespaceContentRemaining") == (
        "True",
        "Some resources are remaining: configmaps. has 2 resource instances",
    )
    assert condition(found, "NamespaceFinalizersRemaining") == (
        "True",
        "Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances",
    )
    assert condition(found, "NamespaceDeletionContentFailure")[0] == "False"
    for name in ("a", "b"):
        await world.client.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), name, "n")
    await world.plane.settle()
    assert not await world.is_there(NAMESPACE, "n")


async def test_pods_have_their_time_and_the_rest_is_there_until_they_are_gone(world: World) -> None:
    await world.namespace("n")
    await world.make("a", namespace="n")
    await world.client.create(pod("p", nodeName="node", terminationGracePeriodSeconds=60))
    await world.client.delete(NAMESPACE, "n")
    await world.plane.settle()
    found = await world.client.get(NAMESPACE, "n")
    assert condition(found, "NamespaceContentRemaining") == (
        "True",
        "Some resources are remaining: pods. has 1 resource instances",
    )
    assert "a" in await world.names("n")
    await world.client.delete("v1/Pod", "p", "n", grace_period=0)
    await world.plane.settle()
    assert not await world.is_there(NAMESPACE, "n")


async def test_a_finalizer_of_somebody_else_keeps_the_namespace_itself(world: World) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    await world.client.create({**namespace, "spec": {"finalizers": ["example.com/hold"]}})
    await world.client.delete(NAMESPACE, "n")
    await world.plane.settle()
    found = await world.client.get(NAMESPACE, "n")
    assert found["spec"]["finalizers"] == ["example.com/hold"]
    await world.client.update({**found, "spec": {"finalizers": []}}, subresource="finalize")
    assert not await world.is_there(NAMESPACE, "n")


async def test_a_namespace_can_come_back(world: World) -> None:
    for _ in range(3):
        await world.namespace("n")
        await world.make("a", namespace="n")
        await world.client.delete(NAMESPACE, "n")
        await world.plane.settle()
        assert not await world.is_there(NAMESPACE, "n")


async def test_a_group_that_cannot_be_read_keeps_the_namespace_and_the_rest_goes() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:

        async def send(call: Call) -> Answer:
            if call.path == "/apis/batch/v1":
                raise ServiceUnavailable("the server is currently unable to handle the request")
            return await client.send(call._replace(headers={"accept": "application/json"}))

        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
        metadata = {"name": "a", "namespace": "n"}
        await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await client.delete(NAMESPACE, "n")
        partial = copy(client)
        partial.mapper = Mapper(send)
        async with Cache(client) as cache:
            controller = NamespaceDeletion(partial).controller
            await controller.start(cache)
            ran = await controller.run_once(Request("n"))
            await controller.stop()
        assert ran.result != "success"
        found = await client.get(NAMESPACE, "n")
        assert found["spec"]["finalizers"] == ["kubernetes"]
        assert condition(found, "NamespaceDeletionDiscoveryFailure") == (
            "True",
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
            "batch/v1: the server is currently unable to handle the request",
        )
        assert not (await client.list(CONFIG_MAP, "n")).items
