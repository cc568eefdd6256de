"""Preemption under faults: a pod of higher priority runs in the end, and no more pods end for it than necessary."""

from copy import deepcopy

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.scheduler.test_scheduler_faults import large_pods, overcommitted
from tests.system.workload_objects import POD, pods

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import REPLICA_SET, SCHEDULER
from setpoint.system.pods.state import is_active, is_ready

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
KIND = "apps/v1/ReplicaSet"
# The only node has room for two pods.
ROOM = 2
PRIORITY: Object = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "important"},
    "value": 1000,
}


def replicas(name: str, number: int, **spec: str) -> Object:
    """A replica set of large pods."""
    found = deepcopy(large_pods())
    labels = {"app": name}
    found["metadata"]["name"] = name
    found["spec"] |= {"replicas": number, "selector": {"matchLabels": labels}}
    found["spec"]["template"]["metadata"] = {"labels": labels}
    found["spec"]["template"]["spec"] |= spec
    return found


async def scale(world: testing.World) -> None:
    await world.client.patch(KIND, merge({"spec": {"replicas": 1}}), "important", "default")


async def are_placed(world: testing.World) -> bool:
    """True if the important pods run, and the others have the rest of the room."""
    wanted = (await world.find(KIND, "important"))["spec"]["replicas"]
    found = await pods(world)
    running = [each["metadata"]["labels"]["app"] for each in found if is_ready(each)]
    numbers = [(await world.find(KIND, name))["status"].get("readyReplicas", 0) for name in ("important", "usual")]
    counts = [running.count("important"), running.count("usual")]
    return counts == numbers == [wanted, ROOM - wanted] and len(found) == ROOM + wanted


class FewVictims:
    """Checks that at most one pod ends, from the moment when the node was full, and that the node has room."""

    def __init__(self) -> None:
        self._began = False

    def __call__(self, objects: Objects) -> str:
        found = objects.get(POD, {}).values()
        if not objects.get(KIND):
            self._began = False
        usual = [each for each in found if each["metadata"]["labels"]["app"] == "usual" and is_active(each)]
        running = sum(is_ready(each) for each in usual)
        self._began |= running == ROOM
        if self._began and len(objects.get(KIND, {})) == 2 and running < ROOM - 1:
            return f"only {running} usual pods run"
        return overcommitted(objects)


async def test_an_important_pod_ends_one_other() -> None:
    important = replicas("important", 0, priorityClassName="important")
    objects = [important, replicas("usual", ROOM), PRIORITY]
    case = FaultCase([SCHEDULER], objects, scale, are_placed, FewVictims(), [REPLICA_SET], "simulated:1", owners=2)
    runs = await check_faults(case)
    # Ten lasting faults; and two crashes for each write: three bindings, and for the preemption the status of the
    # important pod, the mark of the victim, and its deletion.
    assert runs >= 10 + 2 * (3 + 3)
