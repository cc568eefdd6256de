"""TaintToleration and NodeUnschedulable: a pod tolerates the taints of a node, and a cordoned node gets no pods."""

from collections.abc import Iterable, Sequence

from setpoint.objects.tree import Object
from setpoint.system.scheduler.cluster_state import NodeInfo
from setpoint.system.scheduler.framework import MAX_SCORE, Cycle, Rejection

NO_SCHEDULE, NO_EXECUTE, PREFER_NO_SCHEDULE = "NoSchedule", "NoExecute", "PreferNoSchedule"
_UNSCHEDULABLE: Object = {"key": "node.kubernetes.io/unschedulable", "effect": NO_SCHEDULE}


class NodeUnschedulable:
    """Rejects cordoned nodes."""

    name = "NodeUnschedulable"

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        assert node.node is not None
        is_cordoned = node.node["spec"].get("unschedulable")
        if not is_cordoned or tolerates(cycle.pod, _UNSCHEDULABLE):
            return None
        return Rejection("node(s) were unschedulable", unresolvable=True)


class TaintToleration:
    """Rejects nodes with taints that a pod does not tolerate, and prefers nodes without."""

    name = "TaintToleration"
    weight = 3

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        if untolerated(cycle.pod, node, (NO_SCHEDULE, NO_EXECUTE)):
            return Rejection("node(s) had untolerated taint(s)", unresolvable=True)
        return None

    async def prepare_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        return any(node.node is not None and node.node["spec"].get("taints") for node in nodes)

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Sequence[int]:
        numbers = [len(untolerated(cycle.pod, node, (PREFER_NO_SCHEDULE,))) for node in nodes]
        highest = max(numbers)
        return [MAX_SCORE - number * MAX_SCORE // highest if highest else MAX_SCORE for number in numbers]


def untolerated(pod: Object, node: NodeInfo, effects: Iterable[str]) -> list[Object]:
    """Returns the taints of a node with one of these effects that a pod does not tolerate."""
    taints = (node.node or {}).get("spec", {}).get("taints") or ()
    return [taint for taint in taints if taint["effect"] in effects and not tolerates(pod, taint)]


def tolerates(pod: Object, taint: Object) -> bool:
    """Returns True if a pod tolerates a taint."""
    return bool(tolerations_of(pod, taint))


def tolerations_of(pod: Object, taint: Object) -> list[Object]:
    """Returns the tolerations of a pod for a taint."""
    return [each for each in pod["spec"].get("tolerations") or () if _tolerates(each, taint)]


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")
