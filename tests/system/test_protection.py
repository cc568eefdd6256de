"""Claims and volumes that are to be deleted: they go when nobody uses them."""

from tests.system.worlds import World

from setpoint.objects.tree import Object

CLAIM, VOLUME = "v1/PersistentVolumeClaim", "v1/PersistentVolume"


def claim() -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": spec,
    }


async def test_a_claim_that_nobody_uses_goes(world: World) -> None:
    made = await world.client.create(claim())
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    await world.client.delete(CLAIM, "c", "default")
    await world.plane.settle()
    assert not await world.is_there(CLAIM, "c", "default")


async def test_a_claim_waits_for_the_pod_that_uses_it(world: World) -> None:
    await world.client.create(claim())
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "nodeName": "node",
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        },
    }
    await world.client.create(pod)
    await world.client.delete(CLAIM, "c", "default")
    await world.plane.settle()
    assert await world.is_there(CLAIM, "c", "default")
    await world.client.delete("v1/Pod", "p", "default", grace_period=0)
    await world.plane.settle()
    assert not await world.is_there(CLAIM, "c", "default")


async def test_a_volume_goes_unless_it_is_bound(world: World) -> None:
    for name, phase in (("free", "Available"), ("bound", "Bound")):
        volume: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": "/data"},
            },
        }
        made = await world.client.create(volume)
        await world.client.update({**made, "status": {"phase": phase}}, subresource="status")
        await world.client.delete(VOLUME, name)
    await world.plane.settle()
    assert not await world.is_there(VOLUME, "free")
    assert await world.is_there(VOLUME, "bound")
