"""Ephemeral volumes: claims that belong to their pods."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.system.disturbances import check_crashes, check_stale
from tests.system.persistentvolume.storage_objects import CLAIM, POD, VOLUME, bound, claim, consumer
from tests.system.workload_objects import events_of

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import EPHEMERAL_VOLUME


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(nodes="simulated") as world:
        yield world


def with_scratch(**metadata: Any) -> Object:
    """A pod with an ephemeral volume."""
    template = {"metadata": metadata, "spec": claim(storageClassName=None)["spec"]}
    return consumer(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])


async def test_a_claim_lives_as_long_as_its_pod(world: testing.World) -> None:
    await world.create(with_scratch(labels={"a": "b"}, annotations={"c": "d"}))
    # The scheduler tries the pod again a second after the first attempt, which finds no claim.
    await world.advance(2)
    assert (await bound(world, "web-scratch"))[0] == "Bound"
    pod, found = await world.find(POD, "web"), await world.find(CLAIM, "web-scratch")
    assert pod["status"]["phase"] == "Running"
    [owner] = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", pod["metadata"]["uid"], True)
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["metadata"]["annotations"]["c"] == "d"
    await world.client.delete(POD, "web", "default")
    await world.advance(30)
    assert await world.names(CLAIM) == []
    assert (await world.client.list(VOLUME)).items == []


async def test_a_claim_of_another_owner_is_not_used(world: testing.World) -> None:
    await world.create(claim("web-scratch"), with_scratch())
    await world.settle()
    problem = "PVC default/web-scratch was not created for pod default/web (pod is not owner)"
    told = await world.events()
    assert events_of(told, "FailedBinding")[-1] == f"ephemeral volume scratch: {problem}"
    assert problem in events_of(told, "FailedScheduling")[-1]
    await world.client.delete(CLAIM, "web-scratch", "default")
    await world.advance(120)
    assert (await world.find(POD, "web"))["status"]["phase"] == "Running"


async def test_a_deleted_claim_of_a_waiting_pod_is_created_again(world: testing.World) -> None:
    await world.client.patch("v1/Node", merge({"spec": {"unschedulable": True}}), "node-0")
    await world.create(with_scratch())
    await world.settle()
    before = (await world.find(CLAIM, "web-scratch"))["metadata"]["uid"]
    await world.client.delete(CLAIM, "web-scratch", "default")
    await world.settle()
    assert (await world.find(CLAIM, "web-scratch"))["metadata"]["uid"] != before


async def test_a_pod_waits_for_its_claim() -> None:
    async with testing.world(nodes="simulated", system=["*", f"-{EPHEMERAL_VOLUME}"]) as world:
        await world.create(with_scratch())
        await world.settle()
        [text] = events_of(await world.events(), "FailedScheduling")
        assert 'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"' in text


async def create(world: testing.World) -> None:
    await world.create(with_scratch())


async def claims(world: testing.World) -> object:
    return await world.names(CLAIM)


async def test_faults_lead_to_the_same_claims() -> None:
    assert await check_crashes([EPHEMERAL_VOLUME], create, claims) >= 2
    await check_stale([EPHEMERAL_VOLUME], create, claims, POD, CLAIM)
