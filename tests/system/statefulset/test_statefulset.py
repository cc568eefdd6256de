"""Stateful sets: order, scaling, updates, revisions, claims, status and events."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from tests.system.workload_objects import LABELS, POD, change_image, change_spec, events_of, pod, pods, report

from setpoint import testing
from setpoint.objects.tree import Object
from setpoint.system.controller_names import CLAIM_PROTECTION, GARBAGE_COLLECTOR, STATEFUL_SET
from setpoint.system.statefulset.revisions import revision_hash

KIND, REVISION, CLAIM = "apps/v1/StatefulSet", "apps/v1/ControllerRevision", "v1/PersistentVolumeClaim"


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[STATEFUL_SET, GARBAGE_COLLECTOR, CLAIM_PROTECTION]) as world:
        yield world


def stateful_set(replicas: int = 3, image: str = "example.com/web:1", **spec: Any) -> Object:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {
        "replicas": replicas,
        "serviceName": "web",
        "selector": {"matchLabels": LABELS},
        "template": template,
        **spec,
    }
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}


def rolling(**fields: Any) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": fields}


def claim_template(name: str = "data") -> Object:
    resources = {"requests": {"storage": "1Gi"}}
    return {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}


async def names(world: testing.World) -> list[str]:
    await world.settle()
    return [each["metadata"]["name"] for each in await pods(world)]


async def ready(world: testing.World, *ordinals: int) -> None:
    for ordinal in ordinals:
        await report(world, f"web-{ordinal}")
        await world.settle()


async def make(world: testing.World, made: Object, number: int = 3) -> None:
    """Creates a set, and makes all its pods ready."""
    await world.create(made)
    await world.settle()
    await ready(world, *range(number))


async def status(world: testing.World) -> Object:
    await world.settle()
    found: Object = (await world.find(KIND, "web"))["status"]
    return found


change = partial(change_spec, kind=KIND)
set_image = partial(change_image, kind=KIND)


async def images(world: testing.World) -> list[str]:
    await world.settle()
    return [each["spec"]["containers"][0]["image"].rpartition(":")[2] for each in await pods(world)]


async def revisions(world: testing.World) -> list[Object]:
    found = (await world.client.list(REVISION, "default")).items
    return sorted(found, key=lambda each: each["revision"])


async def claims(world: testing.World) -> list[Object]:
    await world.settle()
    return sorted((await world.client.list(CLAIM, "default")).items, key=lambda each: each["metadata"]["name"])


async def test_pods_are_created_in_order_with_their_identity(world: testing.World) -> None:
    await world.create(stateful_set())
    assert await names(world) == ["web-0"]
    await ready(world, 0)
    assert await names(world) == ["web-0", "web-1"]
    await ready(world, 1)
    assert await names(world) == ["web-0", "web-1", "web-2"]
    await ready(world, 2)
    [revision] = await revisions(world)
    name = revision["metadata"]["name"]
    for ordinal, each in enumerate(await pods(world)):
        assert each["metadata"]["labels"] == {
            **LABELS,
            "statefulset.kubernetes.io/pod-name": f"web-{ordinal}",
            "apps.kubernetes.io/pod-index": str(ordinal),
            "controller-revision-hash": name,
        }
        assert (each["spec"]["hostname"], each["spec"]["subdomain"]) == (f"web-{ordinal}", "web")
        assert each["metadata"]["ownerReferences"][0]["controller"] is True
    assert await status(world) == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "currentRevision": name,
        "updateRevision": name,
        "collisionCount": 0,
    }
    created = events_of(await world.events(), "SuccessfulCreate")
    assert created == [f"Create Pod web-{ordinal} in StatefulSet web successful" for ordinal in range(3)]


async def test_parallel_pods_are_created_and_deleted_at_once(world: testing.World) -> None:
    await world.create(stateful_set(podManagementPolicy="Parallel"))
    assert await names(world) == ["web-0", "web-1", "web-2"]
    await change(world, replicas=1)
    assert await names(world) == ["web-0"]


async def test_pods_are_deleted_one_after_the_other_from_the_last(world: testing.World) -> None:
    await world.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    await make(world, stateful_set())
    for each in await pods(world):
        await world.client.bind(each["metadata"]["name"], "default", node="n1")
    await change(world, replicas=1)
    # A bound pod ends when its kubelet says so.
    assert await names(world) == ["web-0", "web-1"]
    await world.client.delete(POD, "web-2", "default", grace_period=0)
    assert await names(world) == ["web-0"]
    await world.client.delete(POD, "web-1", "default", grace_period=0)
    await world.settle()
    assert (await status(world))["replicas"] == 1
    deleted = events_of(await world.events(), "SuccessfulDelete")
    assert deleted == [f"Delete Pod web-{ordinal} in StatefulSet web successful" for ordinal in (2, 1)]


async def test_scaling_down_waits_for_unhealthy_pods(world: testing.World) -> None:
    await make(world, stateful_set())
    await report(world, "web-0", ready=False)
    await change(world, replicas=1)
    assert await names(world) == ["web-0", "web-1", "web-2"]
    await ready(world, 0)
    assert await names(world) == ["web-0"]


async def test_the_ordinals_have_a_start(world: testing.World) -> None:
    await world.create(stateful_set(2, ordinals={"start": 5}, podManagementPolicy="Parallel"))
    assert await names(world) == ["web-5", "web-6"]
    await change(world, ordinals={"start": 6})
    assert await names(world) == ["web-6", "web-7"]


async def test_an_ended_pod_is_replaced(world: testing.World) -> None:
    await make(world, stateful_set(1), 1)
    [before] = await pods(world)
    await report(world, "web-0", ready=False, phase="Failed")
    await world.settle()
    [after] = await pods(world)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["metadata"]["name"] == "web-0"


async def test_a_pod_must_be_ready_for_some_seconds(world: testing.World) -> None:
    await world.create(stateful_set(2, minReadySeconds=10))
    await world.settle()
    await ready(world, 0)
    assert await names(world) == ["web-0"]
    found = await status(world)
    assert (found["readyReplicas"], found["availableReplicas"]) == (1, 0)
    await world.advance(11)
    assert await names(world) == ["web-0", "web-1"]
    assert (await status(world))["availableReplicas"] == 1


async def test_an_update_replaces_pods_from_the_last(world: testing.World) -> None:
    await make(world, stateful_set())
    await set_image(world, "example.com/web:2")
    assert await images(world) == ["1", "1", "2"]
    first, second = await revisions(world)
    found = await status(world)
    assert (found["currentRevision"], found["updateRevision"]) == (
        first["metadata"]["name"],
        second["metadata"]["name"],
    )
    assert (found["currentReplicas"], found["updatedReplicas"]) == (2, 1)
    await ready(world, 2)
    assert await images(world) == ["1", "2", "2"]
    await ready(world, 1)
    await ready(world, 0)
    assert await images(world) == ["2", "2", "2"]
    found = await status(world)
    assert found["currentRevision"] == found["updateRevision"] == second["metadata"]["name"]
    assert found["currentReplicas"] == 3


async def test_a_partition_limits_an_update(world: testing.World) -> None:
    await make(world, stateful_set(updateStrategy=rolling(partition=2)))
    await set_image(world, "example.com/web:2")
    await ready(world, 2)
    assert await images(world) == ["1", "1", "2"]
    # A lost pod below the partition returns with the current revision.
    await world.client.delete(POD, "web-0", "default", grace_period=0)
    assert await images(world) == ["1", "1", "2"]
    await ready(world, 0)
    await change(world, updateStrategy=rolling(partition=0))
    await ready(world, 1)
    await ready(world, 0)
    assert await images(world) == ["2", "2", "2"]


@pytest.mark.parametrize(("policy", "at_once"), [("OrderedReady", 2), ("Parallel", 2)])
async def test_several_pods_may_be_unavailable_in_an_update(world: testing.World, policy: str, at_once: int) -> None:
    made = stateful_set(4, podManagementPolicy=policy, updateStrategy=rolling(maxUnavailable="50%"))
    await make(world, made, 4)
    await set_image(world, "example.com/web:2")
    found = await images(world)
    assert found[:2] == ["1", "1"]
    for _ in range(4):
        for each in await pods(world):
            if not each["status"].get("conditions"):
                await report(world, each["metadata"]["name"])
                await world.settle()
    assert await images(world) == ["2"] * 4
    deleted = events_of(await world.events(), "SuccessfulDelete")
    assert deleted[:at_once] == [f"Delete Pod web-{ordinal} in StatefulSet web successful" for ordinal in (3, 2)]


async def test_a_parallel_update_replaces_broken_pods_first(world: testing.World) -> None:
    await make(world, stateful_set(podManagementPolicy="Parallel"))
    await report(world, "web-0", ready=False)
    await set_image(world, "example.com/web:2")
    assert await images(world) == ["2", "1", "1"]


async def test_on_delete_updates_only_deleted_pods(world: testing.World) -> None:
    await make(world, stateful_set(updateStrategy={"type": "OnDelete"}))
    await set_image(world, "example.com/web:2")
    assert await images(world) == ["1", "1", "1"]
    await world.client.delete(POD, "web-1", "default", grace_period=0)
    assert await images(world) == ["1", "2", "1"]


async def test_a_rollback_makes_an_earlier_revision_the_newest(world: testing.World) -> None:
    await make(world, stateful_set(1), 1)
    [first] = await revisions(world)
    await set_image(world, "example.com/web:2")
    await ready(world, 0)
    await set_image(world, "example.com/web:1")
    await ready(world, 0)
    found = await revisions(world)
    assert [each["revision"] for each in found] == [2, 3]
    assert found[1]["metadata"]["name"] == first["metadata"]["name"]
    assert (await status(world))["currentRevision"] == first["metadata"]["name"]


async def test_the_history_of_revisions_has_a_limit(world: testing.World) -> None:
    await make(world, stateful_set(1, revisionHistoryLimit=1), 1)
    for number in range(2, 6):
        await set_image(world, f"example.com/web:{number}")
        await ready(world, 0)
    assert [each["revision"] for each in await revisions(world)] == [4, 5]


def test_the_hash_is_that_of_kubernetes() -> None:
    """Computed with Go: fnv.New32 over the JSON and the number of collisions, then rand.SafeEncodeString."""
    data = {"spec": {"template": {"$patch": "replace", "spec": {"containers": [{"args": ["a<b"], "name": "c"}]}}}}
    assert revision_hash(data, 0) == "7886cb998b"
    assert revision_hash(data, 1) == "7886cb998c"


async def test_a_matching_pod_with_a_name_of_the_set_is_adopted(world: testing.World) -> None:
    await world.create(pod("web-0"), pod("other-0"))
    [made] = await world.create(stateful_set(1))
    await world.settle()
    adopted = await world.find(POD, "web-0")
    assert adopted["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    other = await world.find(POD, "other-0")
    assert "ownerReferences" not in other["metadata"]
    await ready(world, 0)
    # The identity of an adopted pod is restored; without a revision it is outdated, and replaced.
    replaced = await world.find(POD, "web-0")
    assert replaced["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-0"


async def test_each_pod_has_claims(world: testing.World) -> None:
    await world.create(stateful_set(2, volumeClaimTemplates=[claim_template()], podManagementPolicy="Parallel"))
    found = await claims(world)
    assert [each["metadata"]["name"] for each in found] == ["data-web-0", "data-web-1"]
    assert found[0]["metadata"]["labels"] == LABELS
    [first, _] = await pods(world)
    assert first["spec"]["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
    told = events_of(await world.events(), "SuccessfulCreate")
    assert "Create Claim data-web-0 Pod web-0 in StatefulSet web success" in told
    await change(world, replicas=1)
    assert len(await claims(world)) == 2
    await world.client.delete(KIND, "web", "default", propagation="Background")
    assert len(await claims(world)) == 2


async def test_claims_are_deleted_after_scaling_down(world: testing.World) -> None:
    policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    made = stateful_set(2, volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=policy)
    await make(world, made, 2)
    assert not [each for each in await claims(world) if each["metadata"].get("ownerReferences")]
    await change(world, replicas=1)
    assert [each["metadata"]["name"] for each in await claims(world)] == ["data-web-0"]
    await world.client.delete(KIND, "web", "default", propagation="Background")
    assert len(await claims(world)) == 1


async def test_claims_are_deleted_with_the_set(world: testing.World) -> None:
    policy = {"whenScaled": "Retain", "whenDeleted": "Delete"}
    made = stateful_set(2, volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=policy)
    await make(world, made, 2)
    owners = [each["metadata"]["ownerReferences"][0]["kind"] for each in await claims(world)]
    assert owners == ["StatefulSet"] * 2
    await change(world, replicas=1)
    assert len(await claims(world)) == 2
    await world.client.delete(KIND, "web", "default", propagation="Background")
    assert await claims(world) == []


async def test_a_changed_policy_changes_the_owners(world: testing.World) -> None:
    await make(world, stateful_set(1, volumeClaimTemplates=[claim_template()]), 1)
    await change(world, persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete", "whenDeleted": "Delete"})
    [only] = await claims(world)
    assert [each["kind"] for each in only["metadata"]["ownerReferences"]] == ["StatefulSet"]
    await change(world, persistentVolumeClaimRetentionPolicy={"whenScaled": "Retain", "whenDeleted": "Retain"})
    [only] = await claims(world)
    assert not only["metadata"].get("ownerReferences")


async def test_a_refused_pod_is_reported_and_tried_again(world: testing.World) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"}}
    await world.create({**quota, "spec": {"hard": {"pods": "1"}}})
    await world.create(stateful_set(2, podManagementPolicy="Parallel"))
    await world.advance(1)
    assert await names(world) == ["web-0"]
    refused = events_of(await world.events(), "FailedCreate")
    assert refused[0].startswith('Create Pod web-1 in StatefulSet web failed error: pods "web-1" is forbidden')
    await world.client.delete("v1/ResourceQuota", "few", "default")
    await world.advance(60)
    assert await names(world) == ["web-0", "web-1"]


async def test_a_deleted_set_creates_no_pods(world: testing.World) -> None:
    made = stateful_set()
    made["metadata"]["finalizers"] = ["example.com/keep"]
    await make(world, made)
    await world.client.delete(KIND, "web", "default", propagation="Background")
    await world.client.delete(POD, "web-2", "default", grace_period=0)
    assert await names(world) == ["web-0", "web-1"]
