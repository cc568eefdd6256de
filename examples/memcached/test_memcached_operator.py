"""Tests of the Memcached operator, with the rights of the generated role."""

from pathlib import Path

import pytest
import yaml
from examples.memcached.memcached_operator import FINALIZER, Memcached, MemcachedSpec, memcached

import setpoint as sp
from setpoint import testing
from setpoint.api.apps.v1 import Deployment
from setpoint.objects.errors import Invalid

RULES = next(
    each["rules"]
    for each in yaml.safe_load_all((Path(__file__).parent / "deploy/rbac.yaml").read_text())
    if each["kind"] == "ClusterRole"
)
CACHE = Memcached(metadata=sp.ObjectMeta(name="cache", namespace="default"), spec=MemcachedSpec(size=2))


async def report(world: testing.World, available: int) -> None:
    """Reports available servers, as the controller of Deployments would."""
    found = await world.client.get("apps/v1/Deployment", "cache", "default")
    counts = {"replicas": 2, "readyReplicas": available, "availableReplicas": available}
    await world.client.update({**found, "status": counts}, subresource="status")
    await world.settle()


async def condition(world: testing.World) -> tuple[str, str]:
    found = await world.find(Memcached, "cache")
    assert found.status is not None
    [available] = [each for each in found.status.conditions if each.type == "Available"]
    return available.status, available.message


@pytest.mark.world(crds=[Memcached], objects=[CACHE], rights=RULES)
async def test_the_deployment_has_the_requested_size_and_the_status_follows(world: testing.World) -> None:
    await world.run(memcached)
    await world.settle()
    assert (await world.find(Deployment, "cache")).spec.replicas == 2
    assert await condition(world) == ("False", "0 of 2 servers are available")
    await report(world, 2)
    assert await condition(world) == ("True", "2 of 2 servers are available")

    def grow(found: Memcached) -> None:
        found.spec.size = 3

    await world.client.edit(Memcached, "cache", "default", grow)
    await world.settle()
    assert (await world.find(Deployment, "cache")).spec.replicas == 3
    assert await condition(world) == ("False", "2 of 3 servers are available")


@pytest.mark.world(crds=[Memcached], objects=[CACHE], rights=RULES)
async def test_a_change_of_the_deployment_by_another_client_is_reverted(world: testing.World) -> None:
    def shrink(found: Deployment) -> None:
        found.spec.replicas = 1

    await world.run(memcached)
    await world.settle()
    await world.client.edit(Deployment, "cache", "default", shrink)
    await world.settle()
    assert (await world.find(Deployment, "cache")).spec.replicas == 2


@pytest.mark.world(crds=[Memcached], objects=[CACHE], rights=RULES)
async def test_the_finalizer_runs_before_the_end_and_is_told_as_an_event(world: testing.World) -> None:
    await world.run(memcached)
    await world.settle()
    assert (await world.find(Memcached, "cache")).metadata.finalizers == [FINALIZER]
    await world.client.delete(Memcached, "cache", "default")
    await world.settle()
    assert await world.names(Memcached) == []
    assert "Deleting" in [event.reason for event in await world.events()]


@pytest.mark.world(crds=[Memcached])
async def test_the_schema_limits_the_size(world: testing.World) -> None:
    wrong = Memcached(metadata=CACHE.metadata, spec=MemcachedSpec(size=4))
    with pytest.raises(Invalid, match=r"spec\.size"):
        await world.client.create(wrong)
