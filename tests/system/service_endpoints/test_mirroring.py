"""Mirrored slices: Endpoints that users write for Services without a selector."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.system.disturbances import check_conflicts, check_crashes, check_stale
from tests.system.service_endpoints.objects import ENDPOINTS, SERVICE, SLICE, service, slices
from tests.system.workload_objects import LABELS, events_of

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import ENDPOINT_SLICE_MIRRORING as CONTROLLER

HTTP = {"name": "http", "port": 80, "protocol": "TCP"}
BOTH = [{"addresses": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}], "ports": [HTTP]}]


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[CONTROLLER]) as world:
        yield world


def endpoints(subsets: list[Object], **metadata: Any) -> Object:
    metadata = {"name": "web", "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}


async def addresses(world: testing.World) -> dict[str, list[str]]:
    found = await slices(world)
    return {each["addressType"]: [one["addresses"][0] for one in each["endpoints"]] for each in found}


async def patch(world: testing.World, change: Object) -> None:
    await world.client.patch(ENDPOINTS, merge(change), "web", "default")


async def test_each_family_has_a_slice(world: testing.World) -> None:
    annotations = {"note": "x", "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z"}
    await world.create(service(selector=None))
    [made] = await world.create(endpoints(BOTH, labels={"team": "a"}, annotations=annotations))
    assert await addresses(world) == {"IPv4": ["192.0.2.1"], "IPv6": ["2001:db8::1"]}
    for each in await slices(world):
        assert each["metadata"]["labels"] == {
            "team": "a",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        }
        assert each["metadata"]["annotations"] == {"note": "x"}
        assert each["ports"] == [HTTP]
        assert each["endpoints"][0]["conditions"] == {"ready": True}
        assert each["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]


async def test_changes_replace_the_slice(world: testing.World) -> None:
    await world.create(service(selector=None), endpoints([{"addresses": [{"ip": "192.0.2.1"}], "ports": [HTTP]}]))
    [before] = await slices(world)
    other = {**HTTP, "port": 81}
    await patch(world, {"subsets": [{"notReadyAddresses": [{"ip": "192.0.2.2"}], "ports": [other]}]})
    [after] = await slices(world)
    assert after["metadata"]["name"] == before["metadata"]["name"]
    assert after["ports"] == [other]
    assert after["endpoints"] == [{"addresses": ["192.0.2.2"], "conditions": {"ready": False}}]
    await world.client.delete(SLICE, after["metadata"]["name"], "default")
    assert await addresses(world) == {"IPv4": ["192.0.2.2"]}
    await patch(world, {"subsets": []})
    assert await slices(world) == []


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
async def test_marked_endpoints_are_not_mirrored(world: testing.World, metadata: Object) -> None:
    await world.create(service(selector=None), endpoints(BOTH))
    assert len(await slices(world)) == 2
    await patch(world, {"metadata": metadata})
    assert await slices(world) == []


async def test_slices_follow_the_service(world: testing.World) -> None:
    await world.create(endpoints(BOTH))
    assert await slices(world) == []
    await world.create(service(selector=None))
    assert len(await slices(world)) == 2
    await world.client.patch(SERVICE, merge({"spec": {"selector": LABELS}}), "web", "default")
    assert await slices(world) == []


async def test_more_than_a_thousand_addresses_are_reported(world: testing.World) -> None:
    many = [{"ip": f"10.0.{number // 256}.{number % 256}"} for number in range(1001)]
    await world.create(service(selector=None), endpoints([{"addresses": many, "ports": [HTTP]}]))
    [found] = await slices(world)
    assert len(found["endpoints"]) == 1000
    assert events_of(await world.events(), "TooManyAddressesToMirror") == [
        "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped"
    ]


async def scenario(world: testing.World) -> None:
    await world.create(service(selector=None), endpoints(BOTH))
    await world.settle()
    await patch(world, {"subsets": [*BOTH, {"addresses": [{"ip": "192.0.2.3"}], "ports": [{**HTTP, "port": 90}]}]})
    await world.settle()
    await patch(world, {"metadata": {"labels": {"team": "b"}}})


async def state(world: testing.World) -> object:
    return sorted(
        (str(each["ports"]), str(each["endpoints"]), str(each["metadata"]["labels"])) for each in await slices(world)
    )


@pytest.mark.slow
async def test_crashes_lead_to_the_same_slices() -> None:
    assert await check_crashes([CONTROLLER], scenario, state) >= 6


async def test_conflicts_and_stale_caches_lead_to_the_same_slices() -> None:
    await check_conflicts([CONTROLLER], scenario, state, SLICE)
    await check_stale([CONTROLLER], scenario, state, ENDPOINTS, SLICE, SERVICE)
