"""NodeAffinity: the labels and the name of a node match the selector and the affinity of a pod."""

from collections.abc import Callable, Mapping, Sequence

from setpoint.objects.labels import Labels
from setpoint.objects.tree import Object
from setpoint.system.scheduler.cluster_state import NodeInfo
from setpoint.system.scheduler.framework import MAX_SCORE, Cycle, Rejection

_REASON = "node(s) didn't match Pod's node affinity/selector"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity:
    """Rejects nodes that a pod does not select, and ranks nodes by the preferences of the pod."""

    name = "NodeAffinity"
    weight = 2

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        return None if matches(cycle.pod, node) else Rejection(_REASON, unresolvable=True)

    async def prepare_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        return bool(_affinity(cycle.pod).get(_PREFERRED))

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Sequence[int]:
        preferred = _affinity(cycle.pod).get(_PREFERRED) or ()
        sums = [sum(each["weight"] for each in preferred if _matches_term(each["preference"], node)) for node in nodes]
        highest = max(sums)
        return [number * MAX_SCORE // highest if highest else 0 for number in sums]


def matches(pod: Object, node: NodeInfo) -> bool:
    """Returns True if a pod may run on a node by its node selector and its required node affinity."""
    labels = node.labels
    for key, value in (pod["spec"].get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return False
    required = _affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or matches_selector(required, node)


def matches_selector(selector: Object, node: NodeInfo) -> bool:
    """Returns True if a node meets one of the terms of a node selector."""
    return any(_matches_term(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _affinity(pod: Object) -> Object:
    found: Object = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return found


def _matches_term(term: Object, node: NodeInfo) -> bool:
    """Returns True if a node meets all requirements of a term. An empty term matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_meets(each, node.labels) for each in expressions) and all(
        _meets(each, {"metadata.name": node.name}) for each in fields
    )


_OPERATORS: Mapping[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda found, values: found is not None and found in values,
    "NotIn": lambda found, values: found is None or found not in values,
    "Exists": lambda found, values: found is not None,
    "DoesNotExist": lambda found, values: found is None,
    "Gt": lambda found, values: (number := _integer(found)) is not None and number > int(values[0]),
    "Lt": lambda found, values: (number := _integer(found)) is not None and number < int(values[0]),
}


def _meets(requirement: Object, labels: Labels) -> bool:
    return _OPERATORS[requirement["operator"]](labels.get(requirement["key"]), requirement.get("values") or ())


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
