"""Stateful sets under faults: one pod at a time is unavailable in an update, and claims disappear by their policy."""

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.statefulset.test_statefulset import KIND, claim_template, stateful_set
from tests.system.workload_objects import POD

from setpoint import testing
from setpoint.client.patches import strategic
from setpoint.system.controller_names import STATEFUL_SET, VOLUME_BINDER
from setpoint.system.pods.state import is_active, is_ready

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
POLICY = {"whenScaled": "Delete", "whenDeleted": "Delete"}


class Limits:
    """Checks the availability of the pods that stay, from the moment when all were available."""

    def __init__(self) -> None:
        self._began = False

    def __call__(self, objects: Objects) -> str:
        if not objects.get(KIND):
            self._began = False
            return ""
        available = sum(is_active(each) and is_ready(each) for each in objects.get(POD, {}).values())
        self._began |= available == 3
        return f"only {available} pods are available" if self._began and available < 1 else ""


async def update(world: testing.World) -> None:
    """Changes the template, and removes the last replica."""
    containers = [{"name": "web", "image": "example.com/web:2"}]
    patch = strategic({"spec": {"replicas": 2, "template": {"spec": {"containers": containers}}}})
    await world.client.patch(KIND, patch, "web", "default")


async def is_done(world: testing.World) -> bool:
    found = await world.find(KIND, "web")
    status, replicas = found["status"], found["spec"]["replicas"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    names = ("replicas", "updatedReplicas", "availableReplicas", "currentReplicas")
    claims = await world.names("v1/PersistentVolumeClaim")
    is_updated = status["currentRevision"] == status["updateRevision"]
    return is_updated and [status.get(name) for name in names] == [replicas] * 4 and len(claims) == replicas


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
async def test_an_update_survives_all_faults(policy: str) -> None:
    made = stateful_set(
        volumeClaimTemplates=[claim_template()],
        persistentVolumeClaimRetentionPolicy=POLICY,
        podManagementPolicy=policy,
    )
    runs = await check_faults(FaultCase([STATEFUL_SET], [made], update, is_done, Limits(), beside=[VOLUME_BINDER]))
    assert runs >= 15 + 2 * 10
