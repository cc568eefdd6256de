"""NodeResourcesFit and NodeResourcesBalancedAllocation: a node has the requested resources. Nodes with more free
resources are preferred, and nodes that use similar shares of their CPU and memory."""

from collections.abc import Sequence

from setpoint.system.scheduler.cluster_state import NodeInfo
from setpoint.system.scheduler.framework import MAX_SCORE, Cycle, Rejection
from setpoint.system.scheduler.pod_requests import CPU, MEMORY


class NodeResourcesFit:
    """Rejects nodes without the requested resources, and ranks nodes by their free CPU and memory."""

    name = "NodeResourcesFit"
    weight = 1

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        reasons = []
        if len(node.pods) + 1 > node.allocatable.get("pods", 0):
            reasons.append("Too many pods")
        is_unresolvable = False
        for name, number in cycle.requests.resources.items():
            available = node.allocatable.get(name, 0)
            if number > 0 and number > available - node.requested.get(name, 0):
                reasons.append(f"Insufficient {name}")
                is_unresolvable |= number > available
        return Rejection(*reasons, unresolvable=is_unresolvable) if reasons else None

    async def prepare_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        return True

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Sequence[int]:
        requests = cycle.requests
        found = []
        for node in nodes:
            cpu = _free(node.allocatable.get(CPU, 0), node.scored_cpu + requests.scored_cpu)
            memory = _free(node.allocatable.get(MEMORY, 0), node.scored_memory + requests.scored_memory)
            found.append((cpu + memory) // 2)
        return found


class NodeResourcesBalancedAllocation:
    """Ranks nodes by the difference between the used shares of CPU and memory."""

    name = "NodeResourcesBalancedAllocation"
    weight = 1

    async def prepare_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        return any(cycle.requests.resources.get(name) for name in (CPU, MEMORY))

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Sequence[int]:
        wanted = [cycle.requests.resources.get(name, 0) for name in (CPU, MEMORY)]
        found = []
        for node in nodes:
            capacity = [node.allocatable.get(name, 0) for name in (CPU, MEMORY)]
            before = [node.requested.get(name, 0) for name in (CPU, MEMORY)]
            after = [one + other for one, other in zip(before, wanted, strict=True)]
            gain = _balance(after, capacity) - _balance(before, capacity)
            found.append(MAX_SCORE // 2 + (MAX_SCORE // 2 + gain) // 2)
        return found


def _balance(requested: Sequence[int], capacity: Sequence[int]) -> int:
    shares = [min(used / most, 1.0) for used, most in zip(requested, capacity, strict=True) if most]
    difference = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
    return int((1 - difference) * MAX_SCORE)


def _free(capacity: int, requested: int) -> int:
    return (capacity - requested) * MAX_SCORE // capacity if capacity and requested <= capacity else 0
