"""PodTopologySpread: pods of a group are spread evenly over topology domains, such as nodes or zones."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import floor, log
from typing import NamedTuple

import msgspec

from setpoint.objects.labels import Selector, from_object
from setpoint.objects.tree import Object
from setpoint.system.scheduler.cluster_state import AssignedPod, NodeInfo
from setpoint.system.scheduler.framework import MAX_SCORE, Cycle, Rejection
from setpoint.system.scheduler.plugins.node_affinity import matches as matches_affinity
from setpoint.system.scheduler.plugins.taint_toleration import NO_EXECUTE, NO_SCHEDULE, untolerated
from setpoint.system.scheduler.pod_counts import PodQuery

_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_REASON = "node(s) didn't match pod topology spread constraints"
_UNEVEN = Rejection(_REASON)
_NO_LABEL = Rejection(f"{_REASON} (missing required label)", unresolvable=True)
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_HONOR, _IGNORE = "Honor", "Ignore"
# The constraints of a pod without own ones: the key, and the tolerated difference.
_DEFAULTS = ((_HOST, 3), (_ZONE, 5))
_encode = msgspec.json.Encoder(order="sorted").encode


class _Constraint(NamedTuple):
    key: str
    skew: int
    selector: Selector
    least_domains: int = 1
    affinity_policy: str = _HONOR
    taints_policy: str = _IGNORE

    def includes(self, pod: Object, node: NodeInfo) -> bool:
        """Returns True if the pods of a node count."""
        if self.affinity_policy == _HONOR and not matches_affinity(pod, node):
            return False
        return not (self.taints_policy == _HONOR and untolerated(pod, node, (NO_SCHEDULE, NO_EXECUTE)))


class _Spread:
    """The number of matching pods in each domain of a constraint."""

    def __init__(self, constraint: _Constraint, domains: dict[str, int]) -> None:
        self.constraint = constraint
        self.domains = domains
        self._least: int | None = None

    @property
    def least(self) -> int:
        """The number of pods in the emptiest domain; 0 with fewer domains than required."""
        if self._least is None:
            is_enough = len(self.domains) >= self.constraint.least_domains
            self._least = min(self.domains.values(), default=0) if is_enough else 0
        return self._least

    def add(self, value: str, number: int) -> None:
        self.domains[value] = self.domains.get(value, 0) + number
        self._least = None


class PodTopologySpread:
    """Rejects nodes by constraints with DoNotSchedule, and ranks nodes by those with ScheduleAnyway."""

    name = "PodTopologySpread"
    weight = 2

    async def prepare(self, cycle: Cycle) -> Rejection | None:
        constraints = _constraints(cycle.pod, _HARD)
        if constraints:
            cycle.state[self.name] = [_Spread(each, await _domains(cycle, each, constraints)) for each in constraints]
        return None

    def count(self, cycle: Cycle, assigned: AssignedPod, node: NodeInfo, sign: int) -> None:
        spreads: Sequence[_Spread] = cycle.state.get(self.name) or ()
        if assigned.namespace != cycle.namespace or any(each.constraint.key not in node.labels for each in spreads):
            return
        for each in spreads:
            constraint = each.constraint
            if constraint.selector.matches(assigned.labels) and constraint.includes(cycle.pod, node):
                each.add(node.labels[constraint.key], sign)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        spreads: Sequence[_Spread] = cycle.state.get(self.name) or ()
        for each in spreads:
            constraint = each.constraint
            value = node.labels.get(constraint.key)
            if value is None:
                return _NO_LABEL
            own = 1 if constraint.selector.matches(cycle.labels) else 0
            if each.domains.get(value, 0) + own - each.least > constraint.skew:
                return _UNEVEN
        return None

    async def prepare_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        constraints = _constraints(cycle.pod, _SOFT)
        is_default = not cycle.pod["spec"].get("topologySpreadConstraints")
        if is_default:
            selector = await cycle.objects.default_selector(cycle.pod)
            if selector is not None:
                constraints = tuple(_Constraint(key, skew, selector) for key, skew in _DEFAULTS)
        if not constraints:
            return False
        required = () if is_default else constraints
        counted = []
        for each in constraints:
            if each.key == _HOST:
                counted.append((each, await _by_node(cycle, each)))
            else:
                counted.append((each, await _domains(cycle, each, required)))
        cycle.state[f"{self.name} scores"] = counted, required
        return True

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Sequence[int]:
        counted, required = cycle.state[f"{self.name} scores"]
        eligible = [all(each.key in node.labels for each in required) for node in nodes]
        sums = [0.0] * len(nodes)
        for each, numbers in counted:
            values = {
                node.labels.get(each.key) if each.key != _HOST else node.name
                for node, counts in zip(nodes, eligible, strict=True)
                if counts
            }
            weight = log(len(values) + 2)
            for place, node in enumerate(nodes):
                value = node.labels.get(each.key)
                if value is not None:
                    number = numbers.get(node.name if each.key == _HOST else value, 0)
                    sums[place] += number * weight + each.skew - 1
        # Rounds halves up, as Go does.
        rounded = [floor(number + 0.5) for number in sums]
        among = [number for number, counts in zip(rounded, eligible, strict=True) if counts]
        if not among:
            return [0] * len(nodes)
        least, most = min(among), max(among)
        return [
            0 if not counts else MAX_SCORE if most == 0 else MAX_SCORE * (most + least - number) // most
            for number, counts in zip(rounded, eligible, strict=True)
        ]


async def _domains(cycle: Cycle, constraint: _Constraint, required: Sequence[_Constraint]) -> dict[str, int]:
    """Returns the number of matching pods by domain, over the nodes that count and have the keys of all required
    constraints."""
    counted = await _by_node(cycle, constraint)
    found: dict[str, int] = {}
    for node in cycle.cluster.nodes():
        value = node.labels.get(constraint.key)
        if value is None or any(each.key not in node.labels for each in required):
            continue
        if constraint.includes(cycle.pod, node):
            found[value] = found.get(value, 0) + counted.get(node.name, 0)
    return found


async def _by_node(cycle: Cycle, constraint: _Constraint) -> Mapping[str, int]:
    """Returns the number of matching pods by node. As in kube-scheduler, an empty selector counts no pods."""
    if constraint.selector.is_everything:
        return {}
    query = PodQuery(constraint.selector, frozenset((cycle.namespace,)), counts_terminating=False)
    return await cycle.cluster.counts.by_node(query)


def _constraints(pod: Object, action: str) -> tuple[_Constraint, ...]:
    """Returns the own constraints of a pod with an action. The server has added matchLabelKeys to their selectors."""
    given = pod["spec"].get("topologySpreadConstraints")
    if not given:
        return ()
    return tuple(_compiled(_encode(each)) for each in given if each["whenUnsatisfiable"] == action)


@lru_cache(maxsize=4096)
def _compiled(encoded: bytes) -> _Constraint:
    given = msgspec.json.decode(encoded)
    return _Constraint(
        given["topologyKey"],
        given["maxSkew"],
        from_object(given.get("labelSelector")),
        given.get("minDomains") or 1,
        given.get("nodeAffinityPolicy") or _HONOR,
        given.get("nodeTaintsPolicy") or _IGNORE,
    )
