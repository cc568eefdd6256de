"""VolumeRestrictions: a claim with the access mode ReadWriteOncePod is used by one pod only."""

from setpoint.system.persistentvolume.storage_state import claims_of_pod
from setpoint.system.scheduler.cluster_state import AssignedPod, NodeInfo
from setpoint.system.scheduler.framework import Cycle, Rejection

_IN_USE = Rejection(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


class _Conflicts:
    """The claims of a pod that only one pod may use, and the number of their uses by other pods."""

    def __init__(self, claims: frozenset[str], number: int) -> None:
        self.claims = claims
        self.number = number


class VolumeRestrictions:
    """Rejects all nodes while another pod uses such a claim."""

    name = "VolumeRestrictions"

    async def prepare(self, cycle: Cycle) -> Rejection | None:
        exclusive = set()
        for use in claims_of_pod(cycle.pod):
            if use.is_ephemeral:
                continue
            claim = await cycle.objects.claim(use.claim, cycle.namespace)
            if claim is None:
                return Rejection(f'persistentvolumeclaim "{use.claim}" not found', unresolvable=True)
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ()):
                exclusive.add(use.claim)
        if exclusive:
            used = sum(cycle.cluster.uses_of(cycle.namespace, name) > 0 for name in exclusive)
            cycle.state[self.name] = _Conflicts(frozenset(exclusive), used)
        return None

    def count(self, cycle: Cycle, assigned: AssignedPod, node: NodeInfo, sign: int) -> None:
        found: _Conflicts | None = cycle.state.get(self.name)
        if found is not None and assigned.namespace == cycle.namespace:
            uses = (each for each in assigned.claims if not each.is_ephemeral)
            found.number += sign * sum(each.claim in found.claims for each in uses)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        found: _Conflicts | None = cycle.state.get(self.name)
        return _IN_USE if found is not None and found.number > 0 else None
