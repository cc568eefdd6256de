"""Deployments under faults: surge and unavailability keep to their limits, and the end is always the same."""

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.workload_objects import POD, deployment, replica_sets

from setpoint import testing
from setpoint.client.patches import strategic
from setpoint.system.controller_names import DEPLOYMENT, REPLICA_SET
from setpoint.system.pods.state import is_active, is_ready

KIND, SET = "apps/v1/Deployment", "apps/v1/ReplicaSet"
STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Limits:
    """Checks the limits of a rollout with 3 replicas, from the moment when all were available."""

    def __init__(self) -> None:
        self._began = False

    def __call__(self, objects: Objects) -> str:
        if not objects.get(KIND):
            self._began = False
            return ""
        wanted = sum(each["spec"]["replicas"] for each in objects.get(SET, {}).values())
        if wanted > 4:
            return f"{wanted} desired pods exceed the surge"
        available = sum(is_active(each) and is_ready(each) for each in objects.get(POD, {}).values())
        self._began |= available == 3
        return f"only {available} pods are available" if self._began and available < 2 else ""


async def roll(world: testing.World) -> None:
    containers = [{"name": "web", "image": "example.com/web:2"}]
    patch = strategic({"spec": {"template": {"spec": {"containers": containers}}}})
    await world.client.patch(KIND, patch, "web", "default")


async def is_rolled_out(world: testing.World) -> bool:
    found = await world.find(KIND, "web")
    status = found["status"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    numbers = [status.get(name) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    sizes = [each["spec"]["replicas"] for each in await replica_sets(world)]
    conditions = {each["type"]: each["reason"] for each in status.get("conditions") or ()}
    is_reported = conditions.get("Progressing") == "NewReplicaSetAvailable" and status.get("terminatingReplicas") == 0
    return numbers == [3, 3, 3] and sum(sizes) == 3 and is_reported


@pytest.mark.parametrize("names", [[DEPLOYMENT], [DEPLOYMENT, REPLICA_SET]], ids=["deployment", "both"])
async def test_a_rollout_survives_all_faults(names: list[str]) -> None:
    beside = [name for name in (REPLICA_SET,) if name not in names]
    objects = [deployment(replicas=3, strategy=STRATEGY)]
    runs = await check_faults(FaultCase(names, objects, roll, is_rolled_out, Limits(), beside))
    assert runs >= 10 + 2 * 10
