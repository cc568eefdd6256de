"""Replica sets under faults: never more pods than desired, and always the same end."""

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.workload_objects import LABELS, POD, pods, replica_set

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.system.controller_names import REPLICA_SET, REPLICATION_CONTROLLER
from setpoint.system.pods.state import is_active, is_ready

KIND = "apps/v1/ReplicaSet"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def too_many_pods(objects: Objects) -> str:
    active = [each for each in objects.get(POD, {}).values() if is_active(each)]
    return f"{len(active)} pods" if len(active) > 4 else ""


async def scale(world: testing.World) -> None:
    await world.client.patch(KIND, merge({"spec": {"replicas": 4}}), "web", "default")


async def has_all_pods(world: testing.World) -> bool:
    return await _has_all_pods(world, KIND)


async def _has_all_pods(world: testing.World, kind: str) -> bool:
    found = await world.find(kind, "web")
    wanted, status = found["spec"]["replicas"], found["status"]
    ready = [each for each in await pods(world) if is_ready(each)]
    is_observed: bool = status.get("observedGeneration") == found["metadata"]["generation"]
    numbers = [len(ready), status.get("availableReplicas"), status["replicas"]]
    return numbers == [wanted] * 3 and is_observed


REPLICATED = "v1/ReplicationController"


async def scale_controller(world: testing.World) -> None:
    await world.client.patch(REPLICATED, merge({"spec": {"replicas": 4}}), "web", "default")


async def controller_has_all_pods(world: testing.World) -> bool:
    return await _has_all_pods(world, REPLICATED)


async def test_a_scaled_replication_controller_survives_all_faults() -> None:
    owner = {**replica_set(selector=LABELS), "apiVersion": "v1", "kind": "ReplicationController"}
    case = FaultCase([REPLICATION_CONTROLLER], [owner], scale_controller, controller_has_all_pods, too_many_pods)
    assert await check_faults(case) >= 10 + 2 * 6


async def test_a_scaled_replica_set_survives_all_faults() -> None:
    runs = await check_faults(FaultCase([REPLICA_SET], [replica_set()], scale, has_all_pods, too_many_pods))
    # Ten lasting faults, and two crashes for each of the writes: four pods, and at least two of the status.
    assert runs >= 10 + 2 * 6
