"""Claims that request more, and their volumes."""

from collections.abc import AsyncIterator

import pytest
from tests.system.disturbances import check_conflicts, check_crashes, check_stale
from tests.system.persistentvolume.storage_objects import CLAIM, VOLUME, bound, claim, storage_class, volume
from tests.system.workload_objects import events_of

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.errors import Forbidden
from setpoint.system.controller_names import VOLUME_BINDER, VOLUME_EXPANDER

WAITING = "waiting for an external controller to expand this PVC"
NAMES = [VOLUME_BINDER, VOLUME_EXPANDER]


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=NAMES) as world:
        yield world


async def request(world: testing.World, size: str) -> None:
    await world.settle()
    wanted = merge({"spec": {"resources": {"requests": {"storage": size}}}})
    await world.client.patch(CLAIM, wanted, "data", "default")
    await world.settle()


async def sizes(world: testing.World) -> tuple[str, str]:
    """The sizes of the claim and of its volume."""
    found = await world.find(CLAIM, "data")
    disk = await world.client.get(VOLUME, found["spec"]["volumeName"])
    return found["status"]["capacity"]["storage"], disk["spec"]["capacity"]["storage"]


async def test_a_simulated_volume_grows(world: testing.World) -> None:
    await world.create(storage_class(allowVolumeExpansion=True), claim(storageClassName="fast"))
    await request(world, "5Gi")
    assert await sizes(world) == ("5Gi", "5Gi")
    told = await world.events()
    assert events_of(told, "ExternalExpanding") == [WAITING]
    assert events_of(told, "VolumeResizeSuccessful") == ["Resize volume succeeded"]


async def test_other_volumes_are_left_to_their_drivers(world: testing.World) -> None:
    driver = {"driver": "example.com", "volumeHandle": "1"}
    await world.create(storage_class(provisioner="example.com/other", allowVolumeExpansion=True))
    await world.create(volume(storageClassName="fast", csi=driver), claim(storageClassName="fast"))
    assert (await bound(world))[0] == "Bound"
    await request(world, "5Gi")
    assert await sizes(world) == ("1Gi", "1Gi")
    assert events_of(await world.events(), "ExternalExpanding") == [WAITING]


async def test_a_class_forbids_growth(world: testing.World) -> None:
    await world.create(storage_class(), claim(storageClassName="fast"))
    with pytest.raises(Forbidden, match="only dynamically provisioned pvc can be resized"):
        await request(world, "5Gi")
    assert await sizes(world) == ("1Gi", "1Gi")


async def grow(world: testing.World) -> None:
    await world.create(storage_class(allowVolumeExpansion=True), claim(storageClassName="fast"))
    found = await world.find(CLAIM, "data")
    disk = volume(f"pvc-{found['metadata']['uid']}", storageClassName="fast")
    disk["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "setpoint.dev/simulated"}
    reference = {name: found["metadata"][name] for name in ("namespace", "name", "uid")}
    disk["spec"]["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference}
    await world.create(disk)
    found["spec"]["volumeName"] = disk["metadata"]["name"]
    found = await world.client.update(found)
    found["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    await world.client.update(found, subresource="status")
    wanted = merge({"spec": {"resources": {"requests": {"storage": "3Gi"}}}})
    await world.client.patch(CLAIM, wanted, "data", "default")


@pytest.mark.slow
async def test_faults_lead_to_the_same_sizes() -> None:
    assert await check_crashes([VOLUME_EXPANDER], grow, sizes) >= 4
    await check_stale([VOLUME_EXPANDER], grow, sizes, CLAIM, VOLUME)
    await check_conflicts([VOLUME_EXPANDER], grow, sizes, CLAIM, VOLUME)
