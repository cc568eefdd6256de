"""Preemption: the choice of pods of lower priority that end to make room for a pod.

On each node that other pods block, all pods of lower priority are removed for a trial. Then as many as possible are
added again, first those that a budget protects, and the most important ones first. The rest are the victims.
The node with the fewest violated budgets and the least important victims is chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from setpoint.objects.times import parse_time
from setpoint.system.scheduler.cluster_state import AssignedPod, NodeInfo
from setpoint.system.scheduler.framework import Cycle, Nomination, Profile, Rejection, count_for_trial, failure_message
from setpoint.system.selectors import selector_of

TARGET, PREEMPTED = "DisruptionTarget", "PreemptionByScheduler"
# Of many nodes, this share and at least this number of candidates is examined.
_PERCENT, _FEW_CANDIDATES = 10, 100
_NO_VICTIMS = Rejection("No preemption victims found for incoming pod")
_USELESS = Rejection("Preemption is not helpful for scheduling")
_LOWEST = 2**31

Fits = Callable[[Cycle, NodeInfo], Rejection | None]


class Preempted(NamedTuple):
    """The result of preemption: the sentence for the message, and the nomination. None keeps an earlier one."""

    message: str
    nomination: Nomination | None


class _Candidate(NamedTuple):
    node: str
    victims: Sequence[AssignedPod]
    violations: int


class Preemption:
    """Finds victims. `fits` runs the filters for a node."""

    def __init__(self, profile: Profile, fits: Fits) -> None:
        self._profile = profile
        self._fits = fits

    async def preempt(self, cycle: Cycle, rejections: Mapping[str, Rejection], now: datetime) -> Preempted:
        """Returns the node with the best victims, and the victims."""
        refusal = self._refusal(cycle, rejections)
        if refusal:
            return Preempted(refusal, None)
        names = [name for name, rejection in rejections.items() if not rejection.unresolvable]
        enough = min(max(len(names) * _PERCENT // 100, _FEW_CANDIDATES), len(names))
        candidates: list[_Candidate] = []
        failures: dict[str, Rejection] = {}
        for name in names:
            node = cycle.cluster.existing(name)
            if node is None:
                continue
            found = self._victims(cycle, node, now)
            if isinstance(found, Rejection):
                failures[name] = found
            else:
                candidates.append(found)
                if len(candidates) >= enough and any(not each.violations for each in candidates):
                    break
            await cycle.cluster.pause()
        if not candidates:
            others = {name: _USELESS for name in rejections if name not in failures}
            text = failure_message(len(cycle.cluster), {**failures, **others})
            return Preempted(text, Nomination("", ()))
        best = max(candidates, key=lambda each: _preference(each, now))
        text = f"found a potential placement for pod on node {best.node}, preempting {len(best.victims)} victims"
        return Preempted(text, Nomination(best.node, [each.reference for each in best.victims]))

    def _refusal(self, cycle: Cycle, rejections: Mapping[str, Rejection]) -> str:
        """Returns the reason why a pod may not preempt others; empty if none."""
        if cycle.pod["spec"].get("preemptionPolicy") == "Never":
            return "not eligible due to preemptionPolicy=Never."
        nominated = (cycle.pod.get("status") or {}).get("nominatedNodeName", "")
        node = cycle.cluster.existing(nominated) if nominated else None
        if node is None or (nominated in rejections and rejections[nominated].unresolvable):
            return ""
        if any(each.priority < cycle.priority and is_preempted(each) for each in node.pods.values()):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _victims(self, cycle: Cycle, node: NodeInfo, now: datetime) -> _Candidate | Rejection:
        """Returns the victims on a node, or the reason why their end does not help. The node is unchanged after."""
        if not any(priority < cycle.priority for priority in node.priorities):
            return _NO_VICTIMS
        possible = [each for each in node.pods.values() if each.priority < cycle.priority]
        for each in possible:
            count_for_trial(self._profile, cycle, each, node, -1)
        removed = dict.fromkeys(each.uid for each in possible)
        by_uid = {each.uid: each for each in possible}
        try:
            rejection = self._fits(cycle, node)
            if rejection is not None:
                return rejection
            possible.sort(key=lambda each: _importance(each, now))
            violating, others = _by_budgets(cycle, possible)
            violations = 0
            for place, each in enumerate((*violating, *others)):
                count_for_trial(self._profile, cycle, each, node, 1)
                if self._fits(cycle, node) is None:
                    del removed[each.uid]
                    continue
                count_for_trial(self._profile, cycle, each, node, -1)
                violations += place < len(violating)
            victims = [each for each in possible if each.uid in removed]
            return _Candidate(node.name, victims, violations) if victims else _NO_VICTIMS
        finally:
            for uid in removed:
                count_for_trial(self._profile, cycle, by_uid[uid], node, 1)


def is_preempted(pod: AssignedPod) -> bool:
    """Returns True for a pod that ends because of preemption."""
    return pod.is_terminating and pod.disruption == PREEMPTED


def _started(assigned: AssignedPod, now: datetime) -> datetime:
    return parse_time(assigned.start_time) if assigned.start_time else now


def _importance(assigned: AssignedPod, now: datetime) -> tuple[int, datetime]:
    """Returns the place of a pod, the most important ones first."""
    return -assigned.priority, _started(assigned, now)


def _by_budgets(cycle: Cycle, pods: Sequence[AssignedPod]) -> tuple[list[AssignedPod], list[AssignedPod]]:
    """Divides pods: those that a budget protects if all are disrupted in this order, and the others."""
    allowed: dict[tuple[str, str], int] = {}
    violating: list[AssignedPod] = []
    others: list[AssignedPod] = []
    budgets = {space: cycle.objects.budgets(space) for space in {each.namespace for each in pods}}
    for each in pods:
        is_violated = False
        for budget in budgets[each.namespace]:
            status, selector = budget.get("status") or {}, selector_of(budget)
            if selector.is_everything or not each.labels or not selector.matches(each.labels):
                continue
            if each.name in (status.get("disruptedPods") or {}):
                continue
            key = each.namespace, budget["metadata"]["name"]
            allowed[key] = allowed.get(key, status.get("disruptionsAllowed") or 0) - 1
            is_violated |= allowed[key] < 0
        (violating if is_violated else others).append(each)
    return violating, others


def _preference(candidate: _Candidate, now: datetime) -> tuple[int, int, int, int, datetime]:
    victims = candidate.victims
    highest = victims[0].priority
    total = sum(each.priority + _LOWEST for each in victims)
    earliest = min(_started(each, now) for each in victims if each.priority == highest)
    return -candidate.violations, -highest, -total, -len(victims), earliest
