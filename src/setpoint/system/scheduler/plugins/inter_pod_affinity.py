"""InterPodAffinity: a pod runs near or away from other pods, in the topology domains of its terms and of theirs."""

from collections.abc import Mapping, Sequence

from setpoint.objects.labels import Labels, Selector
from setpoint.system.scheduler.affinity_terms import AffinityTerm
from setpoint.system.scheduler.cluster_state import AssignedPod, NodeInfo
from setpoint.system.scheduler.framework import MAX_SCORE, Cycle, Rejection
from setpoint.system.scheduler.pod_counts import PodQuery

_AFFINITY = Rejection("node(s) didn't match pod affinity rules", unresolvable=True)
_ANTI_AFFINITY = Rejection("node(s) didn't match pod anti-affinity rules")
_EXISTING = Rejection("node(s) didn't satisfy existing pods anti-affinity rules")
# The weight of the required affinity of other pods to the pod.
_HARD_WEIGHT = 1
# The number of sets of terms after which other tasks run.
_YIELDS_AFTER = 64
_NO_LABELS: Labels = {}

# The number of pods by topology key and value.
_Domains = dict[tuple[str, str], int]


class _State:
    """The data of a cycle: the pods that match the own terms, and those with an anti-affinity to the pod."""

    def __init__(self, namespace_labels: Labels, spaces: Mapping[AffinityTerm, frozenset[str] | None]) -> None:
        self.namespace_labels = namespace_labels
        # The namespaces of each own term.
        self.spaces = spaces
        self.affinity: _Domains = {}
        self.anti_affinity: _Domains = {}
        self.existing: _Domains = {}


class InterPodAffinity:
    """Rejects nodes by required terms, and ranks nodes by preferred ones."""

    name = "InterPodAffinity"
    weight = 2

    async def prepare(self, cycle: Cycle) -> Rejection | None:
        cluster, terms = cycle.cluster, cycle.terms
        if not cluster.terms and not any(terms):
            return None
        state = await self._state(cycle)
        if terms.required:
            nodes = await cluster.counts.by_node(_all_of(state, terms.required))
            for term in terms.required:
                _spread(state.affinity, cycle, term.topology_key, nodes)
        for term in terms.required_anti:
            _spread(state.anti_affinity, cycle, term.topology_key, await cluster.counts.by_node(_query(state, term)))
        for number, (others, nodes) in enumerate(list(cluster.terms.items()), 1):
            for term in others.required_anti:
                if term.matches(cycle.namespace, cycle.labels, state.namespace_labels):
                    _spread(state.existing, cycle, term.topology_key, nodes)
            if number % _YIELDS_AFTER == 0:
                await cluster.pause()
        return None

    async def _state(self, cycle: Cycle) -> _State:
        has_selectors = cycle.terms.has_namespace_selectors or any(
            terms.has_namespace_selectors for terms in cycle.cluster.terms
        )
        labels = await cycle.objects.namespace_labels(cycle.namespace) if has_selectors else _NO_LABELS
        spaces: dict[AffinityTerm, frozenset[str] | None] = {}
        for term in (each for terms in cycle.terms for each in terms):
            chosen = term.namespace_selector
            if chosen is None:
                spaces[term] = term.namespaces
            elif chosen.is_everything:
                spaces[term] = None
            else:
                spaces[term] = term.namespaces | await cycle.objects.namespaces(chosen)
        state = cycle.state[self.name] = _State(labels, spaces)
        return state

    def count(self, cycle: Cycle, assigned: AssignedPod, node: NodeInfo, sign: int) -> None:
        state: _State | None = cycle.state.get(self.name)
        if state is None:
            return
        for term in assigned.terms.required_anti:
            if term.matches(cycle.namespace, cycle.labels, state.namespace_labels):
                _add(state.existing, term.topology_key, node, sign)
        for term in cycle.terms.required_anti:
            if _selects(state, (term,), assigned):
                _add(state.anti_affinity, term.topology_key, node, sign)
        if _selects(state, cycle.terms.required, assigned):
            for term in cycle.terms.required:
                _add(state.affinity, term.topology_key, node, sign)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        state: _State | None = cycle.state.get(self.name)
        if state is None:
            return None
        if not self._has_affinity(cycle, state, node):
            return _AFFINITY
        if any(state.anti_affinity.get(_domain(term, node), 0) for term in cycle.terms.required_anti):
            return _ANTI_AFFINITY
        if state.existing and any(state.existing.get(pair, 0) for pair in node.labels.items()):
            return _EXISTING
        return None

    def _has_affinity(self, cycle: Cycle, state: _State, node: NodeInfo) -> bool:
        required = cycle.terms.required
        if any(term.topology_key not in node.labels for term in required):
            return False
        if all(state.affinity.get(_domain(term, node), 0) for term in required):
            return True
        # The first pod of a group that wants to be together matches its own terms.
        own = cycle.namespace, cycle.labels, state.namespace_labels
        return not state.affinity and all(term.matches(*own) for term in required)

    async def prepare_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        state: _State | None = cycle.state.get(self.name)
        if state is None:
            return False
        found: _Domains = {}
        for terms, sign in ((cycle.terms.preferred, 1), (cycle.terms.preferred_anti, -1)):
            for term in terms:
                counted = await cycle.cluster.counts.by_node(_query(state, term))
                _spread(found, cycle, term.topology_key, counted, sign * term.weight)
        for number, (others, counted) in enumerate(list(cycle.cluster.terms.items()), 1):
            weighted = (
                *((term, _HARD_WEIGHT) for term in others.required),
                *((term, term.weight) for term in others.preferred),
                *((term, -term.weight) for term in others.preferred_anti),
            )
            for term, weight in weighted:
                if term.matches(cycle.namespace, cycle.labels, state.namespace_labels):
                    _spread(found, cycle, term.topology_key, counted, weight)
            if number % _YIELDS_AFTER == 0:
                await cycle.cluster.pause()
        cycle.state[f"{self.name} scores"] = found
        return bool(found)

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Sequence[int]:
        domains: _Domains = cycle.state[f"{self.name} scores"]
        keys = {key for key, _ in domains}
        sums = [sum(domains.get((key, node.labels.get(key, "")), 0) for key in keys) for node in nodes]
        least, most = min(sums), max(sums)
        return [int(MAX_SCORE * ((number - least) / (most - least))) if most > least else 0 for number in sums]


def _query(state: _State, term: AffinityTerm) -> PodQuery:
    return PodQuery(term.selector, state.spaces[term])


def _all_of(state: _State, terms: Sequence[AffinityTerm]) -> PodQuery:
    """Returns the pods that match all terms."""
    spaces: frozenset[str] | None = None
    selector = terms[0].selector
    for term in terms:
        own = state.spaces[term]
        spaces = own if spaces is None else spaces if own is None else spaces & own
        if not term.selector.matches(None) and not term.selector.requirements:
            return PodQuery(term.selector, spaces)  # matches no pod
        selector = selector if term is terms[0] else Selector(selector.requirements + term.selector.requirements)
    return PodQuery(selector, spaces)


def _selects(state: _State, terms: Sequence[AffinityTerm], assigned: AssignedPod) -> bool:
    """Returns True if a pod matches all terms, at least one."""
    return bool(terms) and all(
        _query(state, term).matches(assigned.namespace, assigned.labels, False) for term in terms
    )


def _domain(term: AffinityTerm, node: NodeInfo) -> tuple[str, str]:
    return term.topology_key, node.labels.get(term.topology_key, "")


def _spread(domains: _Domains, cycle: Cycle, key: str, nodes: Mapping[str, int], weight: int = 1) -> None:
    """Adds the pods of nodes to their domains."""
    for name, number in nodes.items():
        node = cycle.cluster.existing(name)
        if node is not None:
            _add(domains, key, node, number * weight)


def _add(domains: _Domains, key: str, node: NodeInfo, number: int) -> None:
    value = node.labels.get(key)
    if value is None:
        return
    found = domains.get((key, value), 0) + number
    if found:
        domains[key, value] = found
    else:
        domains.pop((key, value), None)
