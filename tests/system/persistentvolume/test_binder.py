"""Claims and volumes are bound to each other, and released."""

from collections.abc import AsyncIterator

import pytest
from tests.system.persistentvolume.storage_objects import (
    CLAIM,
    CLASS,
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
from setpoint.system.controller_names import CLAIM_PROTECTION, VOLUME_BINDER, VOLUME_PROTECTION

BOUND_ANNOTATIONS = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[VOLUME_BINDER, CLAIM_PROTECTION, VOLUME_PROTECTION]) as world:
        yield world


async def test_a_claim_and_a_volume_are_bound(world: testing.World) -> None:
    await world.create(volume(size="2Gi"), claim())
    assert await bound(world) == ("Bound", "disk")
    found, disk = await world.find(CLAIM, "data"), await world.client.get(VOLUME, "disk")
    assert found["metadata"]["annotations"] == BOUND_ANNOTATIONS
    assert found["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}}
    assert disk["status"]["phase"] == "Bound"
    assert disk["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
    assert disk["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}


async def test_a_claim_waits_for_a_volume(world: testing.World) -> None:
    await world.create(claim())
    assert await bound(world) == ("Pending", "")
    text = "no persistent volumes available for this claim and no storage class is set"
    assert events_of(await world.events(), "FailedBinding") == [text]
    await world.create(volume())
    assert await bound(world) == ("Bound", "disk")


async def test_the_smallest_suitable_volume_is_chosen(world: testing.World) -> None:
    sizes = {"a": "512Mi", "b": "3Gi", "c": "2Gi", "d": "4Gi"}
    await world.create(*(volume(name, size) for name, size in sizes.items()))
    await world.settle()
    await world.create(claim())
    assert await bound(world) == ("Bound", "c")


@pytest.mark.parametrize(
    ("wanted", "offered"),
    [
        ({"accessModes": ["ReadWriteMany"]}, {}),
        ({"volumeMode": "Block"}, {}),
        ({"storageClassName": "fast"}, {}),
        ({"selector": {"matchLabels": {"tier": "gold"}}}, {}),
        ({}, {"storageClassName": "fast"}),
        ({}, {"claimRef": {"namespace": "default", "name": "other"}}),
        ({}, {"capacity": {"storage": "1023Mi"}}),
    ],
)
async def test_other_volumes_are_not_bound(world: testing.World, wanted: Object, offered: Object) -> None:
    await world.create(storage_class(provisioner="example.com/other"))
    await world.create(volume(labels={"tier": "tin"}, **offered), claim(**wanted))
    assert await bound(world) == ("Pending", "")
    assert await phase(world) == "Available"


async def test_a_selector_and_further_access_modes_match(world: testing.World) -> None:
    modes = ["ReadWriteOnce", "ReadOnlyMany"]
    await world.create(
        volume("tin", labels={"tier": "tin"}), volume("both", accessModes=modes, labels={"tier": "gold"})
    )
    await world.settle()
    await world.create(claim(selector={"matchLabels": {"tier": "gold"}}))
    assert await bound(world) == ("Bound", "both")


async def test_a_volume_with_fewer_access_modes_is_preferred_to_a_smaller_one(world: testing.World) -> None:
    await world.create(volume("small", accessModes=["ReadWriteOnce", "ReadWriteMany"]), volume("large", "9Gi"))
    await world.settle()
    await world.create(claim())
    assert await bound(world) == ("Bound", "large")


async def test_a_volume_is_reserved_for_a_claim(world: testing.World) -> None:
    await world.create(volume("small"), volume("reserved", "5Gi", claimRef={"namespace": "default", "name": "data"}))
    await world.settle()
    await world.create(claim("other"), claim())
    assert await bound(world) == ("Bound", "reserved")
    assert await bound(world, "other") == ("Bound", "small")
    reserved = await world.client.get(VOLUME, "reserved")
    assert "annotations" not in reserved["metadata"]


async def test_a_claim_names_its_volume(world: testing.World) -> None:
    await world.create(claim(volumeName="disk"))
    assert await bound(world) == ("Pending", "disk")
    await world.create(volume(size="8Gi"))
    assert await bound(world) == ("Bound", "disk")
    annotations = (await world.find(CLAIM, "data"))["metadata"]["annotations"]
    assert annotations == {"pv.kubernetes.io/bind-completed": "yes"}


@pytest.mark.parametrize(
    ("wanted", "offered", "reason"),
    [
        ({}, {"capacity": {"storage": "1Mi"}}, "requested PV is too small"),
        ({}, {"storageClassName": "fast"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, {}, "incompatible volumeMode"),
        ({"accessModes": ["ReadWriteMany"]}, {}, "incompatible accessMode"),
    ],
)
async def test_a_named_volume_must_suit(world: testing.World, wanted: Object, offered: Object, reason: str) -> None:
    await world.create(volume(**offered), claim(volumeName="disk", **wanted))
    assert await bound(world) == ("Pending", "disk")
    text = f'Cannot bind to requested volume "disk": {reason}'
    assert events_of(await world.events(), "VolumeMismatch") == [text]


async def test_a_named_volume_may_belong_to_another_claim(world: testing.World) -> None:
    await world.create(volume())
    await world.settle()
    await world.create(claim("other"))
    await world.settle()
    await world.create(claim(volumeName="disk"))
    assert await bound(world) == ("Pending", "disk")
    text = 'volume "disk" already bound to a different claim.'
    assert events_of(await world.events(), "FailedBinding") == [text]


async def test_each_claim_gets_a_volume_of_its_own(world: testing.World) -> None:
    names = [f"claim-{number}" for number in range(12)]
    await world.create(*(claim(name) for name in names))
    await world.settle()
    await world.create(*(volume(f"disk-{number}", f"{number + 1}Gi") for number in range(12)))
    found = [await bound(world, name) for name in names]
    assert {state for state, _ in found} == {"Bound"}
    assert len({name for _, name in found}) == 12


async def test_a_volume_that_a_claim_does_not_choose_finds_the_next_claim(world: testing.World) -> None:
    await world.create(claim("first"), claim("second"))
    await world.settle()
    await world.create(volume("large", "8Gi"), volume("small", "1Gi"))
    assert {await bound(world, "first"), await bound(world, "second")} == {("Bound", "large"), ("Bound", "small")}


# Releasing


async def test_a_retained_volume_stays_released(world: testing.World) -> None:
    await world.create(volume(), claim())
    assert await bound(world) == ("Bound", "disk")
    await world.client.delete(CLAIM, "data", "default")
    assert await phase(world) == "Released"
    await world.create(claim())
    assert await bound(world) == ("Pending", "")
    await world.client.patch(VOLUME, merge({"spec": {"claimRef": None}}), "disk")
    assert await bound(world) == ("Bound", "disk")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({}, "host_path deleter only supports /tmp/.+ but received provided /data/disk"),
        (
            {"nfs": {"server": "nfs", "path": "/"}},
            'error getting deleter volume plugin for volume "disk": no deletable volume plugin matched',
        ),
    ],
)
async def test_a_volume_that_cannot_be_deleted_fails(world: testing.World, source: Object, text: str) -> None:
    await world.create(volume(persistentVolumeReclaimPolicy="Delete", **source), claim())
    await world.settle()
    await world.client.delete(CLAIM, "data", "default")
    assert await phase(world) == "Failed"
    assert (await world.client.get(VOLUME, "disk"))["status"]["message"] == text
    assert events_of(await world.events(), "VolumeFailedDelete") == [text]


async def test_a_volume_of_an_external_driver_is_left_to_the_driver(world: testing.World) -> None:
    driver = {"driver": "example.com", "volumeHandle": "1"}
    await world.create(volume(persistentVolumeReclaimPolicy="Delete", csi=driver), claim())
    await world.settle()
    await world.client.delete(CLAIM, "data", "default")
    assert await phase(world) == "Released"


async def test_volumes_are_not_recycled(world: testing.World) -> None:
    await world.create(volume(persistentVolumeReclaimPolicy="Recycle"), claim())
    await world.settle()
    await world.client.delete(CLAIM, "data", "default")
    assert await phase(world) == "Failed"
    assert events_of(await world.events(), "VolumeFailedRecycle") == ["No recycler plugin found for the volume!"]


async def test_a_claim_without_its_volume_is_lost(world: testing.World) -> None:
    await world.create(volume(), claim())
    await world.settle()
    await world.client.patch(VOLUME, merge({"metadata": {"finalizers": None}}), "disk")
    await world.client.delete(VOLUME, "disk")
    assert await bound(world) == ("Lost", "disk")
    assert (await world.find(CLAIM, "data"))["status"] == {"phase": "Lost"}
    text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    assert events_of(await world.events(), "ClaimLost") == [text]


async def test_a_second_claim_of_a_volume_is_lost(world: testing.World) -> None:
    await world.create(volume(), claim("other"))
    await world.settle()
    await world.create(claim(volumeName="disk", annotations=BOUND_ANNOTATIONS))
    assert await bound(world) == ("Lost", "disk")
    text = "Two claims are bound to the same volume, this one is bound incorrectly"
    assert events_of(await world.events(), "ClaimMisbound") == [text]


async def test_a_volume_in_use_is_deleted_after_its_claim(world: testing.World) -> None:
    await world.create(volume(), claim())
    await world.settle()
    await world.client.delete(VOLUME, "disk")
    assert await phase(world) == "Bound"
    await world.client.delete(CLAIM, "data", "default")
    await world.settle()
    assert (await world.client.list(VOLUME)).items == []


async def test_a_volume_whose_claim_has_another_one_is_available_again(world: testing.World) -> None:
    await world.create(volume(), claim())
    await world.settle()
    uid = (await world.find(CLAIM, "data"))["metadata"]["uid"]
    reference = {"namespace": "default", "name": "data", "uid": uid}
    await world.create(volume("second", claimRef=reference))
    assert await phase(world, "second") == "Available"
    assert (await world.client.get(VOLUME, "second"))["spec"]["claimRef"] == {"namespace": "default", "name": "data"}


# Classes


async def test_a_claim_gets_the_default_class_later(world: testing.World) -> None:
    await world.create(claim(storageClassName=None))
    assert await bound(world) == ("Pending", "")
    await world.create(storage_class("slow"), storage_class(default=True))
    assert (await bound(world))[0] == "Bound"
    assert (await world.find(CLAIM, "data"))["spec"]["storageClassName"] == "fast"


async def test_a_missing_class_is_reported(world: testing.World) -> None:
    await world.create(claim(storageClassName="fast"))
    assert await bound(world) == ("Pending", "")
    text = 'storageclass.storage.k8s.io "fast" not found'
    assert events_of(await world.events(), "ProvisioningFailed") == [text]
    await world.create(storage_class())
    assert (await bound(world))[0] == "Bound"


async def test_a_class_without_a_provisioner_waits_for_volumes(world: testing.World) -> None:
    await world.create(storage_class(provisioner="kubernetes.io/no-provisioner"), claim(storageClassName="fast"))
    assert await bound(world) == ("Pending", "")
    text = "no volume plugin matched name: kubernetes.io/no-provisioner"
    assert events_of(await world.events(), "ProvisioningFailed") == [text]
    await world.create(volume(storageClassName="fast"))
    assert await bound(world) == ("Bound", "disk")


async def test_an_external_provisioner_is_named(world: testing.World) -> None:
    await world.create(storage_class(provisioner="example.com/disks"), claim(storageClassName="fast"))
    assert await bound(world) == ("Pending", "")
    assert (await world.find(CLAIM, "data"))["metadata"]["annotations"] == {
        "volume.beta.kubernetes.io/storage-provisioner": "example.com/disks",
        "volume.kubernetes.io/storage-provisioner": "example.com/disks",
    }
    [text] = events_of(await world.events(), "ExternalProvisioning")
    assert text.startswith("Waiting for a volume to be created either by the external provisioner 'example.com/disks'")


async def test_a_class_delays_the_binding(world: testing.World) -> None:
    await world.create(storage_class(volumeBindingMode="WaitForFirstConsumer"), volume(storageClassName="fast"))
    await world.create(claim(storageClassName="fast"))
    assert await bound(world) == ("Pending", "")
    assert await phase(world) == "Available"
    text = "waiting for first consumer to be created before binding"
    assert events_of(await world.events(), "WaitForFirstConsumer") == [text]
    await world.create(consumer("a"), consumer("b"))
    await world.advance(20)
    [text] = events_of(await world.events(), "WaitForPodScheduled")
    assert text == "waiting for pods a,b to be scheduled"


async def test_a_reserved_volume_is_bound_without_delay(world: testing.World) -> None:
    await world.create(storage_class(volumeBindingMode="WaitForFirstConsumer"), claim(storageClassName="fast"))
    await world.create(volume(storageClassName="fast", claimRef={"namespace": "default", "name": "data"}))
    assert await bound(world) == ("Bound", "disk")


# The simulated provisioner


async def test_a_volume_is_provisioned_and_deleted_with_its_claim(world: testing.World) -> None:
    await world.create(storage_class(mountOptions=["ro"]), claim(storageClassName="fast", size="3Gi"))
    state, name = await bound(world)
    uid = (await world.find(CLAIM, "data"))["metadata"]["uid"]
    assert (state, name) == ("Bound", f"pvc-{uid}")
    found = await world.client.get(VOLUME, name)
    assert found["spec"]["capacity"] == {"storage": "3Gi"}
    assert found["spec"]["csi"] == {"driver": "simulated.setpoint.dev", "volumeHandle": uid}
    assert (found["spec"]["persistentVolumeReclaimPolicy"], found["spec"]["mountOptions"]) == ("Delete", ["ro"])
    assert events_of(await world.events(), "ProvisioningSucceeded") == [f"Successfully provisioned volume {name}"]
    await world.client.delete(CLAIM, "data", "default")
    await world.settle()
    assert (await world.client.list(VOLUME)).items == []


async def test_a_provisioned_volume_can_be_retained(world: testing.World) -> None:
    await world.create(storage_class(reclaimPolicy="Retain"), claim(storageClassName="fast"))
    _, name = await bound(world)
    await world.client.delete(CLAIM, "data", "default")
    assert await phase(world, name) == "Released"


async def test_a_selector_cannot_be_provisioned(world: testing.World) -> None:
    await world.create(storage_class(), claim(storageClassName="fast", selector={"matchLabels": {"a": "b"}}))
    assert await bound(world) == ("Pending", "")
    text = 'failed to provision volume with StorageClass "fast": claim Selector is not supported'
    assert events_of(await world.events(), "ProvisioningFailed") == [text]


async def test_simulated_nodes_have_a_default_class_unless_there_is_another_class() -> None:
    async with testing.world(nodes="simulated") as world:
        [found] = (await world.client.list(CLASS)).items
        assert (found["metadata"]["name"], found["provisioner"]) == ("standard", "setpoint.dev/simulated")
        assert (found["volumeBindingMode"], found["allowVolumeExpansion"]) == ("WaitForFirstConsumer", True)
    async with testing.world(system=[VOLUME_BINDER]) as world:
        assert (await world.client.list(CLASS)).items == []
