"""Endpoint slices: the endpoints of a Service's pods, their packing, labels and annotations."""

from collections.abc import AsyncIterator

import pytest
from tests.system.disturbances import check_conflicts, check_crashes, check_stale
from tests.system.service_endpoints.objects import (
    PORTS,
    SERVICE,
    SLICE,
    add_pod,
    add_pods,
    names_in,
    node,
    patch_service,
    remove_pod,
    service,
    slices,
)
from tests.system.workload_objects import LABELS, POD, events_of, report

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.times import format_time
from setpoint.system.controller_names import ENDPOINT_SLICE

TIME = "endpoints.kubernetes.io/last-change-trigger-time"


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[ENDPOINT_SLICE]) as world:
        await world.create(node(zone="a"))
        yield world


async def test_a_ready_pod_is_an_endpoint(world: testing.World) -> None:
    [made] = await world.create(service(labels={"team": "a"}))
    began = format_time(world.clock.now())
    [placeholder] = await slices(world)
    assert not placeholder.get("endpoints")
    assert not placeholder.get("ports")
    assert placeholder["metadata"]["annotations"] == {TIME: began}
    await world.advance(5)
    one = await add_pod(world, 1)
    [found] = await slices(world)
    assert found["metadata"]["name"] == placeholder["metadata"]["name"]
    assert found["metadata"]["generateName"] == "web-"
    assert found["metadata"]["labels"] == {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert found["metadata"]["annotations"] == {TIME: format_time(world.clock.now())}
    assert found["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "name": "web",
            "uid": made["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert found["addressType"] == "IPv4"
    assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert found["endpoints"] == [
        {
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": "n1",
            "zone": "a",
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "p1", "uid": one["metadata"]["uid"]},
        }
    ]


async def test_conditions_follow_the_pod(world: testing.World) -> None:
    await world.create(service())
    await add_pod(world, 1, ready=False)

    async def conditions() -> tuple[bool, bool, bool]:
        [found] = await slices(world)
        [endpoint] = found["endpoints"]
        got = endpoint["conditions"]
        return got["ready"], got["serving"], got["terminating"]

    assert await conditions() == (False, False, False)
    await patch_service(world, {"spec": {"publishNotReadyAddresses": True}})
    assert await conditions() == (True, False, False)
    await patch_service(world, {"spec": {"publishNotReadyAddresses": False}})
    await report(world, "p1")
    assert await conditions() == (True, True, False)
    await world.client.patch(POD, merge({"metadata": {"finalizers": ["example.com/keep"]}}), "p1", "default")
    await world.client.delete(POD, "p1", "default", grace_period=0)
    assert await conditions() == (False, True, True)
    await report(world, "p1", ready=False, phase="Failed")
    [found] = await slices(world)
    assert not found.get("endpoints")


async def test_named_ports_group_the_pods(world: testing.World) -> None:
    def containers(port: int) -> list[dict[str, object]]:
        return [{"name": "web", "image": "example.com/web:1", "ports": [{"name": "web", "containerPort": port}]}]

    await world.create(service(ports=[{"name": "http", "port": 80, "targetPort": "web"}]))
    await add_pod(world, 1, containers=containers(8080))
    await add_pod(world, 2, containers=containers(9090))
    await add_pod(world, 3)
    found = {(each["ports"] or [{}])[0].get("port"): names_in(each) for each in await slices(world)}
    assert found == {8080: ["p1"], 9090: ["p2"], None: ["p3"]}


async def test_headless_services_have_a_label_and_host_names(world: testing.World) -> None:
    await world.create(service(clusterIP="None", ports=[]))
    await add_pod(world, 1, hostname="one", subdomain="web")
    await add_pod(world, 2, hostname="two", subdomain="other")
    [found] = await slices(world)
    assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    assert [each.get("hostname") for each in found["endpoints"]] == ["one", None]
    assert not found.get("ports")


async def test_services_without_selector_are_left_alone(world: testing.World) -> None:
    await world.create(service(selector=None), service("out", type="ExternalName", externalName="example.com"))
    own = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": []}
    labels = {"kubernetes.io/service-name": "web"}
    await world.create({**own, "metadata": {"name": "mine", "namespace": "default", "labels": labels}})
    assert [each["metadata"]["name"] for each in await slices(world)] == ["mine"]


async def test_a_missing_node_is_reported_and_its_pod_left_out(world: testing.World) -> None:
    await world.create(service())
    await add_pod(world, 1)
    await add_pod(world, 2, node="n2")
    [found] = await slices(world)
    assert names_in(found) == ["p1"]
    assert events_of(await world.events(), "FailedToUpdateEndpointSlices")[0] == (
        "Error updating Endpoint Slices for Service default/web: "
        "skipping Pod p2 for Service default/web: Node n2 Not Found"
    )
    await world.create(node("n2"))
    await world.advance(120)
    [found] = await slices(world)
    assert names_in(found) == ["p1", "p2"]


async def test_labels_and_deleted_slices_are_restored(world: testing.World) -> None:
    await world.create(service())
    await add_pod(world, 1)
    await patch_service(world, {"metadata": {"labels": {"team": "b"}}})
    [found] = await slices(world)
    assert found["metadata"]["labels"]["team"] == "b"
    await world.client.delete(SLICE, found["metadata"]["name"], "default")
    [again] = await slices(world)
    assert again["metadata"]["uid"] != found["metadata"]["uid"]
    assert names_in(again) == ["p1"]
    assert again["metadata"]["labels"] == found["metadata"]["labels"]


async def test_traffic_distribution_sets_hints(world: testing.World) -> None:
    await world.create(service(trafficDistribution="PreferSameZone"))
    await add_pod(world, 1)
    await add_pod(world, 2, ready=False)
    [found] = await slices(world)
    assert [each.get("hints") for each in found["endpoints"]] == [{"forZones": [{"name": "a"}]}, None]
    await patch_service(world, {"spec": {"trafficDistribution": "PreferSameNode"}})
    [found] = await slices(world)
    assert found["endpoints"][0]["hints"] == {"forZones": [{"name": "a"}], "forNodes": [{"name": "n1"}]}
    await patch_service(world, {"spec": {"trafficDistribution": None}})
    [found] = await slices(world)
    assert not any(each.get("hints") for each in found["endpoints"])


async def test_unrelated_changes_of_pods_write_no_slice(world: testing.World) -> None:
    await world.create(service())
    await add_pod(world, 1)
    [before] = await slices(world)
    await world.client.patch(POD, merge({"metadata": {"annotations": {"a": "b"}}}), "p1", "default")
    [after] = await slices(world)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def scenario(world: testing.World) -> None:
    await world.create(node(zone="a"), service())
    await add_pods(world, 1, 3)
    await world.settle()
    await remove_pod(world, 2)
    await world.settle()
    await world.client.patch(SERVICE, merge({"spec": {"ports": [{**PORTS[0], "targetPort": 9090}]}}), "web", "default")
    await world.settle()
    await world.client.patch(SERVICE, merge({"spec": {"selector": {"app": "none"}}}), "web", "default")
    await world.settle()
    await world.client.patch(SERVICE, merge({"spec": {"selector": LABELS}}), "web", "default")


async def state(world: testing.World) -> object:
    found = await slices(world)
    return [(each["addressType"], each["ports"], names_in(each), each["metadata"]["labels"]) for each in found]


@pytest.mark.slow
async def test_crashes_lead_to_the_same_slices() -> None:
    assert await check_crashes([ENDPOINT_SLICE], scenario, state) >= 8


async def test_conflicts_and_stale_caches_lead_to_the_same_slices() -> None:
    await check_conflicts([ENDPOINT_SLICE], scenario, state, SLICE)
    await check_stale([ENDPOINT_SLICE], scenario, state, SLICE, POD, SERVICE)
