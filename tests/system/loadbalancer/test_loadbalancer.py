"""Load balancers: the addresses of Services."""

from collections.abc import AsyncIterator

import pytest
from tests.system.disturbances import check_conflicts, check_crashes, check_stale
from tests.system.service_endpoints.objects import SERVICE, service
from tests.system.workload_objects import events_of

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import SERVICE_LB


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[SERVICE_LB]) as world:
        yield world


async def ingress(world: testing.World, name: str) -> list[Object]:
    await world.settle()
    found: list[Object] = (await world.find(SERVICE, name))["status"]["loadBalancer"].get("ingress") or []
    return found


async def test_each_service_has_an_address_of_its_own(world: testing.World) -> None:
    await world.create(*(service(name, type="LoadBalancer") for name in ("a", "b")), service("c"))
    assert await ingress(world, "a") == [{"ip": "203.0.113.1", "ipMode": "VIP"}]
    assert await ingress(world, "b") == [{"ip": "203.0.113.2", "ipMode": "VIP"}]
    assert await ingress(world, "c") == []
    told = await world.events()
    assert events_of(told, "EnsuringLoadBalancer") == ["Ensuring load balancer"] * 2
    assert events_of(told, "EnsuredLoadBalancer") == ["Ensured load balancer"] * 2


async def test_an_address_is_released_with_its_service_or_type(world: testing.World) -> None:
    await world.create(service("a", type="LoadBalancer"))
    await world.settle()
    await world.client.delete(SERVICE, "a", "default")
    await world.create(service("b", type="LoadBalancer"))
    assert await ingress(world, "b") == [{"ip": "203.0.113.1", "ipMode": "VIP"}]
    await world.client.patch(SERVICE, merge({"spec": {"type": "ClusterIP"}}), "b", "default")
    assert await ingress(world, "b") == []
    await world.create(service("c", type="LoadBalancer"))
    assert await ingress(world, "c") == [{"ip": "203.0.113.1", "ipMode": "VIP"}]


async def test_classes_select_the_controller(world: testing.World) -> None:
    await world.create(
        service("a", type="LoadBalancer", loadBalancerClass="example.com/other"),
        service("b", type="LoadBalancer", loadBalancerClass="setpoint.dev/simulated", loadBalancerIP="203.0.113.9"),
        service("c", type="LoadBalancer", loadBalancerIP="203.0.113.9"),
        service("d", type="LoadBalancer", loadBalancerIP="192.0.2.1"),
    )
    assert await ingress(world, "a") == []
    assert await ingress(world, "b") == [{"ip": "203.0.113.9", "ipMode": "VIP"}]
    assert await ingress(world, "c") == [{"ip": "203.0.113.1", "ipMode": "VIP"}]
    assert await ingress(world, "d") == [{"ip": "203.0.113.2", "ipMode": "VIP"}]


async def test_an_exhausted_range_is_reported(world: testing.World, monkeypatch: pytest.MonkeyPatch) -> None:
    from ipaddress import IPv4Network

    from setpoint.system.loadbalancer import addresses

    monkeypatch.setitem(addresses.RANGES, "IPv4", IPv4Network("203.0.113.0/30"))
    await world.create(*(service(name, type="LoadBalancer") for name in ("a", "b", "c")))
    assert await ingress(world, "c") == []
    assert events_of(await world.events(), "SyncLoadBalancerFailed")[0] == (
        "Error syncing load balancer: failed to ensure load balancer: no address of 203.0.113.0/30 is free"
    )
    await world.client.delete(SERVICE, "a", "default")
    await world.advance(120)
    assert await ingress(world, "c") == [{"ip": "203.0.113.1", "ipMode": "VIP"}]


async def scenario(world: testing.World) -> None:
    for name in ("a", "b", "c"):
        await world.create(service(name, type="LoadBalancer"))
        await world.advance(20)
    await world.client.patch(SERVICE, merge({"spec": {"type": "ClusterIP"}}), "b", "default")


async def state(world: testing.World) -> object:
    """The services with addresses, and the number of addresses: a crash may change the order of the services."""
    found = {name: await ingress(world, name) for name in ("a", "b", "c")}
    used = {each["ip"] for addresses in found.values() for each in addresses}
    return {name: len(addresses) for name, addresses in found.items()}, len(used)


@pytest.mark.slow
async def test_crashes_lead_to_the_same_state() -> None:
    assert await check_crashes([SERVICE_LB], scenario, state) >= 6


async def test_conflicts_and_stale_caches_lead_to_the_same_state() -> None:
    await check_conflicts([SERVICE_LB], scenario, state, SERVICE)
    await check_stale([SERVICE_LB], scenario, state, SERVICE)
