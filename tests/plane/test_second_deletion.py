"""A second deletion of an object that waits for its finalizers, in another version than the stored one."""

from setpoint.plane import ControlPlane

AUTOSCALER = "autoscaling/v1/HorizontalPodAutoscaler"


async def test_a_second_deletion_in_another_version_writes_nothing() -> None:
    name = {"name": "h", "namespace": "default"}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    head = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": name}
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.create({**head, "spec": {"maxReplicas": 5, "scaleTargetRef": target}})
        await client.delete(AUTOSCALER, "h", "default", propagation="Orphan")
        # The stored version has no average value for this; the annotations of v1 have "0", which a conversion adds.
        status = {"currentCPUUtilizationPercentage": 30}
        await client.apply({**head, "status": status}, field_manager="m", subresource="status")
        before = await client.get(AUTOSCALER, "h", "default")
        await client.delete(AUTOSCALER, "h", "default")
        after = await client.get(AUTOSCALER, "h", "default")
    assert before["metadata"]["finalizers"] == ["orphan"]
    assert after == before
