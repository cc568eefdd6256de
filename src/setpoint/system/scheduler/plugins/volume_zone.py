"""VolumeZone: the zone and the region in the labels of a volume are those of the node."""

from typing import NamedTuple

from setpoint.system.persistentvolume.storage_state import claims_of_pod
from setpoint.system.scheduler.cluster_state import AssignedPod, NodeInfo
from setpoint.system.scheduler.framework import Cycle, Rejection

# The labels of topologies, with their names before Kubernetes 1.17.
_STABLE = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_LABELS = (*_STABLE, *_STABLE.values())
# Separates the zones of a volume that several zones reach.
_SEPARATOR = "__"
_CONFLICT = Rejection("node(s) had no available volume zone", unresolvable=True)


class _Topology(NamedTuple):
    label: str
    values: frozenset[str]


class VolumeZone:
    """Rejects nodes in other zones than the volumes of a pod."""

    name = "VolumeZone"

    async def prepare(self, cycle: Cycle) -> Rejection | None:
        found: list[_Topology] = []
        for use in claims_of_pod(cycle.pod):
            claim = None if use.is_ephemeral else await cycle.objects.claim(use.claim, cycle.namespace)
            name = claim["spec"].get("volumeName") if claim is not None else None
            if not name:
                continue
            volume = await cycle.objects.volume(name)
            if volume is None:
                return Rejection(f'persistentvolume "{name}" not found', unresolvable=True)
            labels = volume["metadata"].get("labels") or {}
            found += [
                _Topology(label, frozenset(labels[label].split(_SEPARATOR))) for label in _LABELS if label in labels
            ]
        if found:
            cycle.state[self.name] = found
        return None

    def count(self, cycle: Cycle, assigned: AssignedPod, node: NodeInfo, sign: int) -> None:
        """Ignores other pods: they do not matter."""

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        found: list[_Topology] = cycle.state.get(self.name) or []
        # The nodes of a cluster with a single zone may have no such labels.
        if not found or not any(label in node.labels for label in _LABELS):
            return None
        for each in found:
            value = node.labels.get(each.label, node.labels.get(_STABLE.get(each.label, each.label)))
            if value not in each.values:
                return _CONFLICT
        return None
