"""Jobs under faults: every pod is counted once, and no finalizers remain."""

from typing import Any

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.job_kubelet import KIND, end, index, job, running
from tests.system.workload_objects import POD

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.system.controller_names import JOB
from setpoint.system.pods.state import is_active, phase_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


async def resume(world: testing.World) -> None:
    await world.client.patch(KIND, merge({"spec": {"suspend": False}}), "work", "default")


async def is_done(world: testing.World) -> bool:
    """Ends the pods that run, the first one of index 1 with a failure. Returns True for a suspended or an ended job."""
    found = await world.find(KIND, "work")
    conditions = {
        each["type"] for each in (found.get("status") or {}).get("conditions") or () if each["status"] == "True"
    }
    if found["spec"].get("suspend") or conditions & {"Complete", "Failed"}:
        return bool(conditions)
    for each in await running(world):
        if phase_of(each) == "Running":
            pods = (await world.client.list(POD, "default")).items
            fails = index(each) == "1" and not any(phase_of(pod) == "Failed" for pod in pods)
            await end(world, each, 1 if fails else 0)
    return False


def too_many(objects: Objects) -> str:
    number = sum(map(is_active, objects.get(POD, {}).values()))
    return f"{number} active pods exceed the parallelism" if number > 2 else ""


@pytest.mark.parametrize("limit", [{"backoffLimit": 2}, {"backoffLimitPerIndex": 1}], ids=["job", "index"])
async def test_an_indexed_job_survives_all_faults(limit: dict[str, Any]) -> None:
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 2, "suspend": True, **limit}
    # Containers run until the test ends them.
    nodes = testing.simulated(2, scripts={"": lambda run: testing.Behaviour()})
    runs = await check_faults(FaultCase([JOB], [job(**spec)], resume, is_done, too_many, nodes=nodes))
    assert runs >= 15 + 2 * 10
