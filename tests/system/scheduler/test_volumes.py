"""The scheduler and the volumes of pods."""

from collections.abc import AsyncIterator

import pytest
from tests.system.persistentvolume.storage_objects import (
    CLAIM,
    CLASS,
    POD,
    VOLUME,
    bound,
    claim,
    consumer,
    phase,
    storage_class,
    volume,
)
from tests.system.workload_objects import events_of

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object

USELESS = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
ZONE = "topology.kubernetes.io/zone"
DELAYED = "WaitForFirstConsumer"


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(nodes="simulated:3") as world:
        for number in range(3):
            labels = merge({"metadata": {"labels": {ZONE: f"zone-{number}"}}})
            await world.client.patch("v1/Node", labels, f"node-{number}")
        yield world


async def node_of(world: testing.World, name: str = "web") -> str:
    """The node of a pod; empty while the pod waits."""
    await world.settle()
    found: str = (await world.find(POD, name))["spec"].get("nodeName", "")
    return found


async def failure(world: testing.World, name: str = "web") -> str:
    """The reason why a pod is not scheduled."""
    await world.settle()
    [found] = [each for each in (await world.find(POD, name))["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert found["status"] == "False"
    text: str = found["message"]
    return text


def on_nodes(*names: str) -> Object:
    """The node affinity of a volume that some nodes reach."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(names)}]}
    return {"required": {"nodeSelectorTerms": [term]}}


async def test_a_volume_is_provisioned_for_the_node_of_the_first_pod(world: testing.World) -> None:
    await world.create(claim(storageClassName=None))
    assert await bound(world) == ("Pending", "")
    await world.create(consumer())
    node = await node_of(world)
    assert node
    assert (await bound(world))[0] == "Bound"
    found = await world.find(CLAIM, "data")
    assert found["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == node
    assert found["spec"]["storageClassName"] == "standard"
    assert (await world.find(POD, "web"))["status"]["phase"] == "Running"


async def test_a_pod_waits_for_a_missing_claim(world: testing.World) -> None:
    await world.create(consumer())
    text = '0/3 nodes are available: persistentvolumeclaim "data" not found. not found'
    assert await failure(world) == text
    await world.create(claim(storageClassName=None))
    await world.advance(2)
    assert await node_of(world)


async def test_a_pod_waits_for_an_immediate_claim(world: testing.World) -> None:
    await world.create(claim(), consumer())
    text = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    assert await failure(world) == text
    await world.create(volume(nodeAffinity=on_nodes("node-1")))
    await world.advance(2)
    assert await node_of(world) == "node-1"


async def test_nodes_out_of_reach_are_rejected(world: testing.World) -> None:
    await world.create(volume(nodeAffinity=on_nodes("other")), claim())
    assert (await bound(world))[0] == "Bound"
    await world.create(consumer())
    text = f"0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity. {USELESS}"
    assert await failure(world) == text


async def test_the_zone_of_a_volume_decides(world: testing.World) -> None:
    await world.create(volume(labels={ZONE: "zone-2"}), claim())
    await world.settle()
    await world.create(consumer())
    assert await node_of(world) == "node-2"
    await world.create(consumer("elsewhere", nodeSelector={ZONE: "zone-0"}))
    assert "1 node(s) had no available volume zone" in await failure(world, "elsewhere")


async def test_existing_volumes_are_chosen_with_the_node(world: testing.World) -> None:
    await world.create(storage_class(provisioner="kubernetes.io/no-provisioner", volumeBindingMode=DELAYED))
    await world.create(
        volume("a", "2Gi", storageClassName="fast", nodeAffinity=on_nodes("node-0", "node-2")),
        volume("b", "1Gi", storageClassName="fast", nodeAffinity=on_nodes("node-2")),
        volume("c", "1Gi", storageClassName="fast", nodeAffinity=on_nodes("node-1")),
    )
    await world.create(claim("one", storageClassName="fast"), claim("two", "2Gi", storageClassName="fast"))
    await world.create(consumer(claims=("one", "two")))
    assert await node_of(world) == "node-2"
    assert (await bound(world, "one"), await bound(world, "two")) == (("Bound", "b"), ("Bound", "a"))
    assert await phase(world, "c") == "Available"


async def test_a_pod_waits_for_a_volume(world: testing.World) -> None:
    await world.create(storage_class(provisioner="kubernetes.io/no-provisioner", volumeBindingMode=DELAYED))
    await world.create(claim(storageClassName="fast"), consumer())
    text = f"0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. {USELESS}"
    assert await failure(world) == text
    await world.create(volume(storageClassName="fast"))
    await world.advance(2)
    assert await node_of(world)


async def test_a_class_restricts_the_topology(world: testing.World) -> None:
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zone-1", "zone-7"]}]}]
    await world.create(storage_class(volumeBindingMode=DELAYED, allowedTopologies=terms))
    await world.create(claim(storageClassName="fast"), consumer())
    assert await node_of(world) == "node-1"
    _, name = await bound(world)
    affinity = (await world.client.get(VOLUME, name))["spec"]["nodeAffinity"]
    [term] = affinity["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": ZONE, "operator": "In", "values": ["zone-1"]}]


async def test_a_pod_waits_until_its_volume_is_provisioned(world: testing.World) -> None:
    await world.create(storage_class(provisioner="example.com/disks", volumeBindingMode=DELAYED))
    await world.create(claim(storageClassName="fast"), consumer())
    assert await node_of(world) == ""
    found = await world.find(CLAIM, "data")
    node = found["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
    reference = {"namespace": "default", "name": "data", "uid": found["metadata"]["uid"]}
    await world.create(volume(storageClassName="fast", claimRef=reference))
    assert await node_of(world) == node


async def test_a_provisioner_can_reject_the_node(world: testing.World) -> None:
    await world.create(storage_class(provisioner="example.com/disks", volumeBindingMode=DELAYED))
    await world.create(claim(storageClassName="fast"), consumer())
    await world.settle()
    removed = merge({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}})
    await world.client.patch(CLAIM, removed, "data", "default")
    await world.settle()
    text = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
    assert events_of(await world.events(), "FailedScheduling") == [text]
    await world.advance(2)
    annotations = (await world.find(CLAIM, "data"))["metadata"]["annotations"]
    assert annotations["volume.kubernetes.io/selected-node"]


async def test_a_claim_that_is_not_bound_in_time_is_reported(world: testing.World) -> None:
    await world.create(storage_class(provisioner="example.com/disks", volumeBindingMode=DELAYED))
    await world.create(claim(storageClassName="fast"), consumer())
    await world.advance(601)
    text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    assert events_of(await world.events(), "FailedScheduling") == [text]


async def test_a_deleted_pod_releases_its_place(world: testing.World) -> None:
    await world.create(storage_class(provisioner="example.com/disks", volumeBindingMode=DELAYED))
    await world.create(claim(storageClassName="fast"))
    large = [{"name": "web", "image": "example.com/web:1", "resources": {"requests": {"cpu": "32"}}}]
    await world.create(consumer(containers=large))
    assert await node_of(world) == ""
    await world.client.delete(POD, "web", "default")
    await world.settle()
    await world.create(*(consumer(f"other-{number}", (), containers=large) for number in range(3)))
    assert {await node_of(world, f"other-{number}") for number in range(3)} == {"node-0", "node-1", "node-2"}


async def test_only_one_pod_uses_an_exclusive_claim(world: testing.World) -> None:
    await world.create(claim(storageClassName=None, accessModes=["ReadWriteOncePod"]), consumer("first"))
    assert await node_of(world, "first")
    await world.create(consumer())
    mode = "PersistentVolumeClaim with ReadWriteOncePod access mode"
    reason = f"0/3 nodes are available: 3 node(s) unavailable due to {mode} already in-use by another pod. preemption: "
    assert (await failure(world)).startswith(reason)
    await world.client.delete(POD, "first", "default")
    await world.advance(2)
    assert await node_of(world)


async def test_an_exclusive_claim_is_taken_from_a_less_important_pod(world: testing.World) -> None:
    important = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    await world.create(important, claim(storageClassName=None, accessModes=["ReadWriteOncePod"]), consumer("first"))
    assert await node_of(world, "first")
    await world.create(consumer(priorityClassName="high"))
    await world.advance(5)
    assert await node_of(world)
    assert await world.names(POD) == ["web"]


async def test_a_lost_claim_is_reported(world: testing.World) -> None:
    await world.create(volume(), claim())
    await world.settle()
    await world.client.patch(VOLUME, merge({"metadata": {"finalizers": None}}), "disk")
    await world.client.delete(VOLUME, "disk")
    await world.settle()
    await world.create(consumer())
    text = 'persistentvolumeclaim "data" bound to non-existent persistentvolume "disk"'
    assert await failure(world) == f"0/3 nodes are available: {text}. not found"


async def test_a_claim_that_is_being_deleted_is_not_used(world: testing.World) -> None:
    await world.create(claim(storageClassName=None), consumer("first"))
    assert await node_of(world, "first")
    await world.client.delete(CLAIM, "data", "default")
    await world.create(consumer())
    assert await failure(world) == '0/3 nodes are available: persistentvolumeclaim "data" is being deleted. not found'


async def test_a_new_class_lets_pods_be_scheduled(world: testing.World) -> None:
    await world.client.delete(CLASS, "standard")
    await world.create(claim(storageClassName="fast"), consumer())
    assert "pod has unbound immediate PersistentVolumeClaims" in await failure(world)
    await world.create(storage_class(volumeBindingMode=DELAYED))
    await world.advance(2)
    assert await node_of(world)


async def test_stateful_pods_get_volumes_that_they_keep(world: testing.World) -> None:
    spec = claim(storageClassName=None)["spec"]
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "db:1"}]}}
    made = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": template,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}],
        },
    }
    await world.create(made)
    await world.settle()
    assert (await world.find("apps/v1/StatefulSet", "db"))["status"]["readyReplicas"] == 3
    before = [await bound(world, f"data-db-{number}") for number in range(3)]
    assert {state for state, _ in before} == {"Bound"}
    await world.client.delete(POD, "db-1", "default")
    await world.advance(5)
    assert (await world.find("apps/v1/StatefulSet", "db"))["status"]["readyReplicas"] == 3
    assert [await bound(world, f"data-db-{number}") for number in range(3)] == before
