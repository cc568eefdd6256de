"""Endpoints: the subsets of a Service's pods, their order and their limit."""

from collections.abc import AsyncIterator

import pytest
from tests.system.disturbances import check_conflicts, check_crashes, check_stale
from tests.system.service_endpoints.objects import (
    ENDPOINTS,
    SERVICE,
    add_pod,
    add_pods,
    patch_service,
    remove_pod,
    service,
)
from tests.system.workload_objects import POD, report

from setpoint import testing
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_names import ENDPOINTS as CONTROLLER
from setpoint.system.service_endpoints.subsets import number_of, repacked, truncated

TIME = "endpoints.kubernetes.io/last-change-trigger-time"


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[CONTROLLER]) as world:
        yield world


async def endpoints(world: testing.World) -> Object:
    await world.settle()
    found: Object = await world.find(ENDPOINTS, "web")
    return found


def addresses(found: Object, field: str = "addresses") -> list[str]:
    return [each["ip"] for subset in found.get("subsets") or () for each in subset.get(field) or ()]


async def test_pods_are_addresses_by_their_readiness(world: testing.World) -> None:
    await world.create(service(labels={"team": "a"}))
    began = format_time(world.clock.now())
    found = await endpoints(world)
    assert not found.get("subsets")
    assert found["metadata"]["annotations"] == {TIME: began}
    await world.advance(5)
    one = await add_pod(world, 1)
    await add_pod(world, 2, ready=False)
    found = await endpoints(world)
    assert found["metadata"]["labels"] == {"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert found["metadata"]["annotations"] == {TIME: format_time(world.clock.now())}
    [subset] = found["subsets"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    reference = {"kind": "Pod", "namespace": "default", "name": "p1", "uid": one["metadata"]["uid"]}
    assert subset["addresses"] == [{"ip": "10.0.0.1", "nodeName": "n1", "targetRef": reference}]
    assert addresses(found, "notReadyAddresses") == ["10.0.0.2"]
    await report(world, "p2")
    assert addresses(await endpoints(world)) == ["10.0.0.1", "10.0.0.2"]
    await remove_pod(world, 1)
    assert addresses(await endpoints(world)) == ["10.0.0.2"]


async def test_unready_and_terminating_pods_can_be_published(world: testing.World) -> None:
    await world.create(service(publishNotReadyAddresses=True, clusterIP="None", ports=[]))
    await add_pod(world, 1, ready=False, hostname="one", subdomain="web")
    found = await endpoints(world)
    assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    [subset] = found["subsets"]
    assert "ports" not in subset
    assert [each["hostname"] for each in subset["addresses"]] == ["one"]
    await patch_service(world, {"spec": {"publishNotReadyAddresses": False}})
    assert addresses(await endpoints(world), "notReadyAddresses") == ["10.0.0.1"]


async def test_endpoints_end_with_their_service_and_are_restored(world: testing.World) -> None:
    await world.create(service())
    await add_pod(world, 1)
    await world.settle()
    await world.client.delete(ENDPOINTS, "web", "default")
    assert addresses(await endpoints(world)) == ["10.0.0.1"]
    await world.client.delete(SERVICE, "web", "default")
    await world.settle()
    assert "web" not in await world.names(ENDPOINTS)


async def test_given_endpoints_are_left_alone(world: testing.World) -> None:
    subsets = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]
    metadata = {"name": "web", "namespace": "default"}
    await world.create(service(selector=None))
    await world.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets})
    assert addresses(await endpoints(world)) == ["192.0.2.1"]


async def test_endpoints_without_service_are_deleted_at_the_start_only() -> None:
    leader = {"control-plane.alpha.kubernetes.io/leader": "{}"}
    left = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "left", "namespace": "default"}}
    lock = {**left, "metadata": {"name": "lock", "namespace": "default", "annotations": leader}}
    from tests.system.faulty_system import faulty_system

    async with testing.world() as world:
        await world.create(left, lock)
        async with faulty_system(world, [CONTROLLER]):
            await world.settle()
            assert "left" not in await world.names(ENDPOINTS)
            assert "lock" in await world.names(ENDPOINTS)
            await world.create(left)
            await world.settle()
            assert "left" in await world.names(ENDPOINTS)


def address(number: int) -> Object:
    return {"ip": f"10.0.{number // 256}.{number % 256}"}


def test_more_than_a_thousand_addresses_are_truncated_in_proportion() -> None:
    ready = [address(number) for number in range(900)]
    waiting = [address(number) for number in range(1000, 1600)]
    found = [{"addresses": ready, "notReadyAddresses": waiting[:200]}, {"notReadyAddresses": waiting[200:]}]
    made = truncated(found)
    assert number_of(made) == 1000
    assert [len(each.get("notReadyAddresses") or ()) for each in made] == [34, 66]
    many = [{"addresses": [address(number) for number in range(1200)], "notReadyAddresses": waiting}]
    [made_many] = truncated(many)
    assert (len(made_many["addresses"]), "notReadyAddresses" in made_many) == (1000, False)


def test_subsets_are_packed_by_ports_and_addresses() -> None:
    http, admin = {"name": "http", "port": 80, "protocol": "TCP"}, {"name": "admin", "port": 81, "protocol": "TCP"}
    one, two, three = address(1), address(2), address(3)
    given = [
        {"addresses": [two], "ports": [http, admin]},
        {"addresses": [one], "ports": [http, admin]},
        {"addresses": [three], "ports": [http]},
        {"notReadyAddresses": [one], "ports": [http]},
    ]
    assert repacked(given) == [
        {"addresses": [one, two], "ports": [admin]},
        {"addresses": [two, three], "notReadyAddresses": [one], "ports": [http]},
    ]
    assert repacked(repacked(given)) == repacked(given)


async def scenario(world: testing.World) -> None:
    await world.create(service())
    await add_pods(world, 1, 3)
    await world.settle()
    await remove_pod(world, 2)
    await world.create(service("gone"))
    await world.settle()
    await world.client.delete(SERVICE, "gone", "default")


async def state(world: testing.World) -> object:
    await world.settle()
    found = await world.find(ENDPOINTS, "web")
    return addresses(found), found["metadata"]["labels"], await world.names(ENDPOINTS)


@pytest.mark.slow
async def test_crashes_lead_to_the_same_endpoints() -> None:
    assert await check_crashes([CONTROLLER], scenario, state) >= 8


async def test_conflicts_and_stale_caches_lead_to_the_same_endpoints() -> None:
    await check_conflicts([CONTROLLER], scenario, state, ENDPOINTS)
    await check_stale([CONTROLLER], scenario, state, ENDPOINTS, POD, SERVICE)
