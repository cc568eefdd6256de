"""Replica sets: the number of pods, their owners, the status and the events."""

from collections.abc import AsyncIterator

import pytest
from tests.system.faulty_system import faulty_system
from tests.system.workload_objects import LABELS, POD, TEMPLATE, events_of, pod, pods, replica_set, report

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import REPLICA_SET, REPLICATION_CONTROLLER

KIND = "apps/v1/ReplicaSet"


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[REPLICA_SET, REPLICATION_CONTROLLER]) as world:
        yield world


async def status(world: testing.World, name: str = "web") -> Object:
    await world.settle()
    found: Object = (await world.find(KIND, name))["status"]
    return found


async def scale(world: testing.World, replicas: int) -> None:
    await world.client.patch(KIND, merge({"spec": {"replicas": replicas}}), "web", "default")
    await world.settle()


async def test_missing_pods_are_created_with_owner_and_events(world: testing.World) -> None:
    [made] = await world.create(replica_set())
    await world.settle()
    found = await pods(world)
    assert len(found) == 3
    for each in found:
        assert each["metadata"]["generateName"] == "web-"
        assert each["metadata"]["labels"] == LABELS
        assert each["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web",
                "uid": made["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert [entry["manager"] for entry in each["metadata"]["managedFields"]] == ["kube-controller-manager"]
    created = events_of(await world.events(), "SuccessfulCreate")
    assert sorted(created) == [f"Created pod: {each['metadata']['name']}" for each in found]
    assert await status(world) == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }


async def test_ready_pods_are_counted_and_available_after_their_time(world: testing.World) -> None:
    await world.create(replica_set(replicas=2, minReadySeconds=10))
    await world.settle()
    first, second = [each["metadata"]["name"] for each in await pods(world)]
    await report(world, first)
    await world.advance(5)
    await report(world, second)
    found = await status(world)
    assert (found["readyReplicas"], found.get("availableReplicas")) == (2, None)
    await world.advance(5)
    assert (await status(world))["availableReplicas"] == 1
    await world.advance(5)
    assert (await status(world))["availableReplicas"] == 2


async def test_superfluous_pods_are_deleted_the_least_useful_first(world: testing.World) -> None:
    await world.create(replica_set())
    await world.settle()
    names = [each["metadata"]["name"] for each in await pods(world)]
    await report(world, names[0])
    await report(world, names[2])
    await scale(world, 2)
    assert [each["metadata"]["name"] for each in await pods(world)] == [names[0], names[2]]
    assert events_of(await world.events(), "SuccessfulDelete") == [f"Deleted pod: {names[1]}"]
    assert (await status(world))["replicas"] == 2


async def test_a_matching_pod_is_adopted_and_another_released(world: testing.World) -> None:
    await world.create(pod("orphan"), pod("other", {"app": "other"}))
    [made] = await world.create(replica_set(replicas=2))
    await world.settle()
    [orphan] = [each for each in await pods(world) if each["metadata"]["name"] == "orphan"]
    assert orphan["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    other = await world.find(POD, "other")
    assert "ownerReferences" not in other["metadata"]
    # A pod that does not match any more is released, and replaced.
    await world.client.patch(POD, merge({"metadata": {"labels": {"app": "debug"}}}), "orphan", "default")
    await world.settle()
    released = await world.find(POD, "orphan")
    assert not released["metadata"].get("ownerReferences")
    assert (await status(world))["replicas"] == 2
    assert len(await pods(world)) == 4


async def test_pods_of_another_owner_are_left_alone(world: testing.World) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": True}
    await world.create(pod("foreign", ownerReferences=[owner]))
    await world.create(replica_set(replicas=1))
    await world.settle()
    assert len(await pods(world)) == 2


async def test_ended_pods_are_replaced(world: testing.World) -> None:
    await world.create(replica_set(replicas=1))
    await world.settle()
    [only] = await pods(world)
    await report(world, only["metadata"]["name"], ready=False, phase="Failed")
    await world.settle()
    assert len(await pods(world)) == 2
    assert (await status(world))["replicas"] == 1


async def test_a_refused_pod_is_reported_and_tried_again(world: testing.World) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"hard": {"pods": "1"}},
    }
    await world.create(quota)
    await world.create(replica_set())
    await world.settle()
    await world.advance(1)
    found = await status(world)
    [condition] = found["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("ReplicaFailure", "True", "FailedCreate")
    assert "exceeded quota: few" in condition["message"]
    assert found["replicas"] == 1
    refused = events_of(await world.events(), "FailedCreate")
    assert refused[0].startswith('Error creating: pods "web-')
    assert "exceeded quota: few" in refused[0]
    await world.client.delete("v1/ResourceQuota", "few", "default")
    await world.advance(60)
    found = await status(world)
    assert found["replicas"] == 3
    assert "conditions" not in found


async def test_a_refused_batch_is_the_last_one(world: testing.World) -> None:
    """Batches of 1, 2, 4, ... pods: a failure in the third batch ends the attempt."""
    hard = {"hard": {"pods": "4"}}
    metadata = {"name": "few", "namespace": "default"}
    await world.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": hard})
    await world.create(replica_set(replicas=50))
    # Three pods in two batches, then one of the third batch and three failures; later attempts fail at the first pod.
    await world.settle()
    told = await world.events()
    assert len(events_of(told, "SuccessfulCreate")) == 4
    assert len(await pods(world)) == 4


async def test_a_stale_view_leads_to_no_additional_pods() -> None:
    """kubernetes/kubernetes#129795: a controller whose cache lags behind its own writes."""
    async with testing.world() as world, faulty_system(world, [REPLICA_SET]):
        with world.faults.stale(POD):
            await world.create(replica_set())
            await world.settle()
            assert len(await pods(world)) == 3
            await world.client.patch(KIND, merge({"metadata": {"labels": {"a": "b"}}}), "web", "default")
            await scale(world, 4)
            # The reconcile waits for its writes, and asks the server in the end.
            await world.advance(30)
            assert len(await pods(world)) == 4
            await scale(world, 1)
            await world.advance(30)
            assert len(await pods(world)) == 1
        await world.advance(30)
        assert len(await pods(world)) == 1


async def test_lost_responses_lead_to_no_additional_pods() -> None:
    async with testing.world() as world, faulty_system(world, [REPLICA_SET]):
        lost = world.faults.lose("create", POD)
        await world.create(replica_set())
        await world.advance(30)
        assert lost.hits == 1
        assert len(await pods(world)) == 3


async def test_a_deleted_set_creates_no_pods(world: testing.World) -> None:
    made = replica_set()
    made["metadata"]["finalizers"] = ["example.com/keep"]
    await world.create(made)
    await world.settle()
    await world.client.delete(KIND, "web", "default", propagation="Background")
    [first, *_] = await pods(world)
    await world.client.delete(POD, first["metadata"]["name"], "default", grace_period=0)
    await world.settle()
    assert len(await pods(world)) == 2


async def test_replication_controllers_work_alike(world: testing.World) -> None:
    spec = {"replicas": 2, "selector": LABELS, "template": TEMPLATE}
    metadata = {"name": "old", "namespace": "default"}
    await world.create({"apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata, "spec": spec})
    await world.settle()
    found = await pods(world)
    assert [each["metadata"]["ownerReferences"][0]["kind"] for each in found] == ["ReplicationController"] * 2
    assert (await world.find("v1/ReplicationController", "old"))["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "observedGeneration": 1,
    }
