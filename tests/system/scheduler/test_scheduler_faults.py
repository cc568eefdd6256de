"""The scheduler under faults: no node is ever overcommitted, and every pod runs in the end."""

from copy import deepcopy

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.replicaset.test_replicaset_faults import has_all_pods, scale
from tests.system.workload_objects import POD, replica_set

from setpoint.objects.tree import Object
from setpoint.system.controller_names import REPLICA_SET, SCHEDULER
from setpoint.system.pods.state import is_active

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# A node of 32 processors has room for two pods.
PODS_OF_NODE = 2


def large_pods() -> Object:
    found = deepcopy(replica_set())
    for container in found["spec"]["template"]["spec"]["containers"]:
        container["resources"] = {"requests": {"cpu": "16"}}
    return found


def overcommitted(objects: Objects) -> str:
    """The number of pods on a node that has no room for them; empty if there is room."""
    counts: dict[str, int] = {}
    for each in objects.get(POD, {}).values():
        node = each["spec"].get("nodeName")
        if node and is_active(each):
            counts[node] = counts.get(node, 0) + 1
    return next((f"{count} pods on {node}" for node, count in counts.items() if count > PODS_OF_NODE), "")


async def test_pods_are_assigned_within_the_resources_of_nodes() -> None:
    case = FaultCase([SCHEDULER], [large_pods()], scale, has_all_pods, overcommitted, beside=[REPLICA_SET])
    runs = await check_faults(case)
    # The lasting faults, and two crashes for the binding of each of the four pods.
    assert runs >= 10 + 2 * 4
