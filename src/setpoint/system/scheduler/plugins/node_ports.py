"""NodePorts: the ports that a pod uses on its node are free."""

from setpoint.system.scheduler.cluster_state import NodeInfo
from setpoint.system.scheduler.framework import Cycle, Rejection


class NodePorts:
    """Rejects nodes where another pod has one of the ports."""

    name = "NodePorts"

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        wanted = cycle.requests.ports
        if not wanted:
            return None
        taken = [port for assigned in node.pods.values() for port in assigned.requests.ports]
        if any(port.conflicts(other) for port in wanted for other in taken):
            return Rejection("node(s) didn't have free ports for the requested pod ports")
        return None
