"""Simulated nodes under faults: every pod runs in the end, and keeps its own address."""

import pytest
from tests.system.fault_runs import FaultCase, Objects, check_faults
from tests.system.replicaset.test_replicaset_faults import has_all_pods, scale
from tests.system.workload_objects import POD, replica_set

from setpoint.system.controller_names import REPLICA_SET, SIMULATED_NODES
from setpoint.system.pods.state import is_active

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class OwnAddresses:
    """Checks that no pod changes its address, and that no two pods have the same one."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, objects: Objects) -> str:
        if not objects.get(POD):
            self._known.clear()  # the next run, with the same UIDs
        owners: dict[str, str] = {}
        for each in objects.get(POD, {}).values():
            address = (each.get("status") or {}).get("podIP")
            if not address or not is_active(each):
                continue
            name, uid = each["metadata"]["name"], each["metadata"]["uid"]
            if self._known.setdefault(uid, address) != address:
                return f"pod {name} has the address {address} in place of {self._known[uid]}"
            if owners.setdefault(address, name) != name:
                return f"the pods {owners[address]} and {name} have the address {address}"
        return ""


async def test_pods_run_and_keep_their_addresses() -> None:
    case = FaultCase([SIMULATED_NODES], [replica_set()], scale, has_all_pods, OwnAddresses(), beside=[REPLICA_SET])
    runs = await check_faults(case)
    # Ten lasting faults; and two crashes for each write: three for each of the two nodes, and one for each pod.
    assert runs >= 10 + 2 * (3 * 2 + 4)
