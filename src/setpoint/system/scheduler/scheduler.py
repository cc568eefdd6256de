"""The choice of a node for a pod: a pure function of the pod and the state of the cluster."""

from collections.abc import Sequence
from datetime import datetime

from setpoint.objects.tree import Object
from setpoint.system.scheduler.cluster_objects import ClusterObjects, NoObjects
from setpoint.system.scheduler.cluster_state import ClusterState, NodeInfo
from setpoint.system.scheduler.framework import (
    Cycle,
    Profile,
    Rejection,
    Unschedulable,
    count_for_trial,
    failure_message,
    general_failure,
)
from setpoint.system.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from setpoint.system.scheduler.plugins.node_affinity import NodeAffinity
from setpoint.system.scheduler.plugins.node_ports import NodePorts
from setpoint.system.scheduler.plugins.node_resources import NodeResourcesBalancedAllocation, NodeResourcesFit
from setpoint.system.scheduler.plugins.pod_topology_spread import PodTopologySpread
from setpoint.system.scheduler.plugins.taint_toleration import NodeUnschedulable, TaintToleration
from setpoint.system.scheduler.plugins.volume_binding import VolumeBinding, volumes_on
from setpoint.system.scheduler.plugins.volume_restrictions import VolumeRestrictions
from setpoint.system.scheduler.plugins.volume_zone import VolumeZone
from setpoint.system.scheduler.pod_volumes import Placement
from setpoint.system.scheduler.preemption import Preemption

# All nodes of a smaller cluster are examined; of a larger one, until this many candidates are found, or a share.
_FEW_NODES = 100
_LEAST_PERCENT, _MOST_PERCENT, _NODES_PER_PERCENT = 5, 50, 125
# The number of nodes after which other tasks run.
_YIELDS_AFTER = 512


def default_profile() -> Profile:
    """Returns the plug-ins of the default scheduler, in kube-scheduler's order."""
    taints, affinity, resources = TaintToleration(), NodeAffinity(), NodeResourcesFit()
    spread, pods = PodTopologySpread(), InterPodAffinity()
    storage = VolumeRestrictions(), VolumeBinding(), VolumeZone()
    return Profile(
        preparations=(*storage, spread, pods),
        filters=(NodeUnschedulable(), taints, affinity, NodePorts(), resources, *storage, spread, pods),
        scores=(taints, affinity, resources, spread, pods, NodeResourcesBalancedAllocation()),
    )


class Scheduler:
    """Places pods by the plug-ins of a profile."""

    def __init__(self, profile: Profile, cluster: ClusterState, objects: ClusterObjects | None = None) -> None:
        self._profile = profile
        self.cluster = cluster
        self._objects = objects or NoObjects()
        self._preemption = Preemption(profile, self._reject)

    async def place(self, pod: Object, now: datetime) -> Placement:
        """Returns the best node for a pod. Raises Unschedulable with the reasons, and a nomination."""
        cycle = Cycle(pod, self.cluster, self._objects)
        number = len(self.cluster)
        if not number:
            raise Unschedulable(failure_message(0, {}))
        for preparation in self._profile.preparations:
            rejection = await preparation.prepare(cycle)
            if rejection is not None:
                raise Unschedulable(general_failure(number, rejection))
        candidates, rejections = await self._filter(cycle)
        if candidates:
            best = await self._best(cycle, candidates)
            return Placement(best.name, volumes_on(cycle, best.name))
        found = await self._preemption.preempt(cycle, rejections, now)
        raise Unschedulable(failure_message(number, rejections, found.message), found.nomination)

    async def _filter(self, cycle: Cycle) -> tuple[list[NodeInfo], dict[str, Rejection]]:
        """Returns enough nodes that pass all filters, and the rejections of the other examined ones. A nominated node
        that passes is the only result."""
        nominated = (cycle.pod.get("status") or {}).get("nominatedNodeName")
        info = self.cluster.existing(nominated) if nominated else None
        if info is not None and self._reject(cycle, info) is None:
            return [info], {}
        enough = enough_candidates(len(self.cluster))
        candidates: list[NodeInfo] = []
        rejections: dict[str, Rejection] = {}
        for place, node in enumerate(list(self.cluster.nodes()), 1):
            if place % _YIELDS_AFTER == 0:
                await self.cluster.pause()
            rejection = self._reject(cycle, node)
            if rejection is not None:
                rejections[node.name] = rejection
                continue
            candidates.append(node)
            if len(candidates) >= enough:
                break
        self.cluster.examined(len(candidates) + len(rejections))
        return candidates, rejections

    def _reject(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Returns the first rejection of a node: with the pods that wait for room on the node and are at least as
        important, and without them, because they may not arrive."""
        if node.node is None:
            return Rejection("node(s) were deleted", unresolvable=True)
        uid = cycle.pod["metadata"]["uid"]
        nominated = [
            each
            for each in self.cluster.nominated_to(node.name)
            if each.priority >= cycle.priority and each.uid != uid and each.uid not in node.pods
        ]
        if nominated:
            for each in nominated:
                count_for_trial(self._profile, cycle, each, node, 1)
            try:
                rejection = self._first_rejection(cycle, node)
            finally:
                for each in nominated:
                    count_for_trial(self._profile, cycle, each, node, -1)
            if rejection is not None:
                return rejection
        return self._first_rejection(cycle, node)

    def _first_rejection(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        for each in self._profile.filters:
            found = each.filter(cycle, node)
            if found is not None:
                return found
        return None

    async def _best(self, cycle: Cycle, candidates: Sequence[NodeInfo]) -> NodeInfo:
        """Returns the node with the highest score; of equals the one with the fewest pods, then the first one."""
        if len(candidates) == 1:
            return candidates[0]
        totals = [0] * len(candidates)
        for plugin in self._profile.scores:
            if not await plugin.prepare_scores(cycle, candidates):
                continue
            for place, score in enumerate(plugin.scores(cycle, candidates)):
                totals[place] += score * plugin.weight
        best = max(range(len(totals)), key=lambda place: (totals[place], -len(candidates[place].pods)))
        return candidates[best]


def enough_candidates(number: int) -> int:
    """Returns the number of candidates after which a cycle examines no further nodes: one cycle stays short in a
    cluster with thousands of nodes."""
    if number < _FEW_NODES:
        return number
    percent = max(_MOST_PERCENT - number // _NODES_PER_PERCENT, _LEAST_PERCENT)
    return max(number * percent // 100, _FEW_NODES)
