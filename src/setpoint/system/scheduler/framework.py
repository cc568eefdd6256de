"""The plug-in structure of the scheduler.

A cycle tries to place one pod. Filters reject nodes with a reason, in the order of the profile; the first rejection
counts. Scores rank the remaining nodes. If no node remains, preemption may make room for a later attempt. A plug-in
that needs data of the whole cluster prepares them once for a cycle, and keeps them in `cycle.state` under its own name.

    class OnlyLargeNodes:
        name = "OnlyLargeNodes"

        def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
            return Rejection("node(s) were too small") if node.allocatable.get("cpu", 0) < 8000 else None
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from setpoint.objects.labels import Labels
from setpoint.objects.tree import Object
from setpoint.system.scheduler.affinity_terms import labels_of, terms_of
from setpoint.system.scheduler.cluster_objects import ClusterObjects
from setpoint.system.scheduler.cluster_state import AssignedPod, ClusterState, NodeInfo, priority_of
from setpoint.system.scheduler.pod_requests import PodRequests

# The highest score of a node before the weight.
MAX_SCORE = 100


class Rejection:
    """The reasons why a node cannot run a pod. An unresolvable rejection stays if other pods leave the node."""

    __slots__ = ("reasons", "unresolvable")

    def __init__(self, *reasons: str, unresolvable: bool = False) -> None:
        self.reasons = reasons
        self.unresolvable = unresolvable


class Cycle:
    """The attempt to place one pod."""

    def __init__(self, pod: Object, cluster: ClusterState, objects: ClusterObjects) -> None:
        self.pod = pod
        self.requests = PodRequests.of(pod)
        self.terms = terms_of(pod)
        self.priority = priority_of(pod)
        self.cluster = cluster
        self.objects = objects
        # The data of plug-ins for this cycle, by their names.
        self.state: dict[str, Any] = {}

    @property
    def namespace(self) -> str:
        found: str = self.pod["metadata"].get("namespace", "")
        return found

    @property
    def labels(self) -> Labels:
        return labels_of(self.pod)


class Preparation(Protocol):
    """Collects data of the cluster before the filters, and follows pods that are added to or removed from nodes for a
    trial."""

    name: str

    async def prepare(self, cycle: Cycle) -> Rejection | None:
        """Collects the data. A rejection concerns all nodes."""

    def count(self, cycle: Cycle, assigned: AssignedPod, node: NodeInfo, sign: int) -> None:
        """Adds (1) or removes (-1) a pod."""


class Filter(Protocol):
    """Rejects nodes."""

    name: str

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Returns the rejection of a node, or None."""


class Score(Protocol):
    """Ranks nodes."""

    name: str
    weight: int

    async def prepare_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        """Collects data of the cluster. Returns False if the scores of all nodes are the same."""

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Sequence[int]:
        """Returns a number from 0 to MAX_SCORE for each node, the best one the highest."""


class Profile(NamedTuple):
    """The plug-ins of a scheduler, in order."""

    preparations: Sequence[Preparation]
    filters: Sequence[Filter]
    scores: Sequence[Score]


def count_for_trial(profile: Profile, cycle: Cycle, assigned: AssignedPod, node: NodeInfo, sign: int) -> None:
    """Adds a pod to a node (1) or removes the pod (-1), until the opposite call."""
    if sign > 0:
        node.add(assigned)
    else:
        node.remove(assigned)
    for plugin in profile.preparations:
        plugin.count(cycle, assigned, node, sign)


class Nomination(NamedTuple):
    """The node that has room for a pod after the end of other pods, the victims."""

    node: str
    victims: Sequence[Object]


class Unschedulable(Exception):  # noqa: N818 - named for the condition
    """No node can run a pod. `nomination` is the result of preemption; None if an earlier one remains in force, and a
    nomination without a node if there is none."""

    def __init__(self, message: str, nomination: Nomination | None = None) -> None:
        super().__init__(message)
        self.nomination = nomination


def failure_message(number: int, rejections: Mapping[str, Rejection], preemption: str = "") -> str:
    """Returns kube-scheduler's message: the number of nodes for each reason, and the result of preemption."""
    if not number:
        return "no nodes available to schedule pods"
    reasons = Counter(reason for rejection in rejections.values() for reason in rejection.reasons)
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    parts = f"0/{number} nodes are available:", text and f"{text}.", preemption and f"preemption: {preemption}"
    return " ".join(filter(None, parts))


def general_failure(number: int, rejection: Rejection) -> str:
    """Returns kube-scheduler's message about a rejection that concerns all nodes. Preemption cannot help. The last
    words are those of its plug-in for devices, which does not find its own data in such a cycle."""
    return f"0/{number} nodes are available: {', '.join(rejection.reasons)}. not found"
