"""The binder, the simulated provisioner and the scheduler under faults: no volume has two claims, no volume is left
over, and all pods run in the end."""

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.persistentvolume.storage_objects import CLAIM, POD, VOLUME, claim, consumer, volume

from setpoint import testing
from setpoint.objects.tree import Object
from setpoint.system.controller_names import SCHEDULER, VOLUME_BINDER
from setpoint.system.pods.state import is_ready

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def shared_volume(objects: Objects) -> str:
    """The volume that two claims name; empty if there is none."""
    names = [each["spec"].get("volumeName") for each in objects.get(CLAIM, {}).values()]
    return next((f"{name} has two claims" for name in names if name and names.count(name) > 1), "")


def storage() -> list[Object]:
    """A pod with a claim for each way to get a volume: provisioned, existing, and reserved."""
    reserved = {"namespace": "default", "name": "reserved"}
    return [
        consumer(claims=("provisioned", "existing", "reserved")),
        claim("provisioned", storageClassName=None),
        claim("existing"),
        claim("reserved", "512Mi"),
        volume("free"),
        volume("kept", claimRef=reserved),
    ]


async def replace(world: testing.World) -> None:
    """Replaces the pod, and the claims of the provisioned and the existing volume."""
    await world.client.delete(POD, "web", "default")
    await world.settle()
    for name in ("provisioned", "existing"):
        await world.client.delete(CLAIM, name, "default")
    await world.create(volume("second"))
    await world.settle()
    await world.create(claim("provisioned", storageClassName=None), claim("existing"))
    await world.create(consumer(claims=("provisioned", "existing", "reserved")))


async def is_done(world: testing.World) -> bool:
    """Returns True if all pods run, all claims are bound, and the phases of all volumes are right."""
    pods, claims = [(await world.client.list(kind, "default")).items for kind in (POD, CLAIM)]
    uids = {each["metadata"]["uid"] for each in claims if not each["metadata"].get("deletionTimestamp")}
    if len(claims) != len(uids) or not all(map(is_ready, pods)):
        return False
    for each in (await world.client.list(VOLUME)).items:
        uid = (each["spec"].get("claimRef") or {}).get("uid")
        expected = "Bound" if uid in uids else "Released" if uid else "Available"
        is_gone = expected == "Released" and each["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        if each["status"]["phase"] != expected or is_gone:
            return False
    return all(each["status"]["phase"] == "Bound" for each in claims)


async def test_the_binder_survives_all_faults() -> None:
    case = FaultCase([VOLUME_BINDER], storage(), replace, is_done, shared_volume, owners=4)
    assert await check_faults(case) >= 20 + 2 * 20


async def test_the_scheduler_survives_all_faults() -> None:
    case = FaultCase([SCHEDULER], storage(), replace, is_done, shared_volume, owners=4, beside=[VOLUME_BINDER])
    assert await check_faults(case) >= 20 + 2 * 4
