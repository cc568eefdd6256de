"""An autoscaler under all injected faults: the same replicas in the end, never above its maximum."""

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.horizontalpodautoscaler.test_autoscaler import AUTOSCALER, DEPLOYMENT, Load, autoscaler, web

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.system.controller_names import DEPLOYMENT as DEPLOYMENTS
from setpoint.system.controller_names import HORIZONTAL_POD_AUTOSCALER, REPLICA_SET
from setpoint.testing import simulated


async def raise_the_minimum(world: testing.World) -> None:
    await world.client.patch(AUTOSCALER, merge({"spec": {"minReplicas": 4}}), "web", "default")


async def has_settled(world: testing.World) -> bool:
    target = await world.client.get(DEPLOYMENT, "web", "default")
    found = await world.client.get(AUTOSCALER, "web", "default")
    least = found["spec"].get("minReplicas") or 1
    status, wanted = target.get("status") or {}, target["spec"]["replicas"]
    own = found.get("status") or {}
    known = {each["type"]: each["reason"] for each in own.get("conditions") or () if each["type"] != "ScaledToZero"}
    return (
        wanted == max(least, 2)
        and status.get("availableReplicas") == wanted == status.get("replicas")
        and (own.get("currentReplicas"), own.get("desiredReplicas")) == (wanted, wanted)
        and known
        == {"AbleToScale": "ReadyForNewScale", "ScalingActive": "ValidMetricFound", "ScalingLimited": "TooFewReplicas"}
    )


def above_the_maximum(objects: Objects) -> str:
    for each in objects[DEPLOYMENT].values():
        if each["spec"]["replicas"] > 4:
            return f"{each['spec']['replicas']} replicas"
    return ""


@pytest.mark.slow
async def test_faults_do_not_change_the_replicas() -> None:
    case = FaultCase(
        controllers=[HORIZONTAL_POD_AUTOSCALER],
        objects=[web(), autoscaler(minReplicas=2)],
        change=raise_the_minimum,
        is_done=has_settled,
        violation=above_the_maximum,
        beside=[REPLICA_SET, DEPLOYMENTS],
        owners=2,
        nodes=simulated(2, scripts={"": Load(0.01)}),
    )
    assert await check_faults(case) > 20
