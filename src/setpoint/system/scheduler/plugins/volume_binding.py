"""VolumeBinding: a node reaches the volumes of a pod, and volumes for claims that wait for the pod can be found or
provisioned."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.labels import Labels
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.storage_state import (
    NO_PROVISIONER,
    SELECTED_NODE,
    annotations_of,
    claims_of_pod,
    class_of,
    foreign_claim,
    is_delayed,
    is_fully_bound,
    phase_of,
    requested,
)
from setpoint.system.persistentvolume.volume_match import suitable_volumes
from setpoint.system.scheduler.cluster_state import AssignedPod, NodeInfo
from setpoint.system.scheduler.framework import Cycle, Rejection
from setpoint.system.scheduler.plugins.node_affinity import matches_selector
from setpoint.system.scheduler.pod_volumes import PodVolumes, VolumeChoice

NAME = "VolumeBinding"
_NO_MATCH = Rejection("node(s) didn't find available persistent volumes to bind", unresolvable=True)
_OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
_NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


class _Delayed(NamedTuple):
    """A claim that waits for its first pod, its class, and the suitable volumes, the best one first."""

    claim: Object
    storage_class: Object
    volumes: Sequence[Object]


class _Claims:
    """The claims of a pod in one cycle."""

    def __init__(self) -> None:
        # The volumes of the bound claims; None for a volume that does not exist.
        self.volumes: list[Object | None] = []
        self.delayed: list[_Delayed] = []
        self.by_node: dict[str, PodVolumes] = {}


def volumes_on(cycle: Cycle, node: str) -> PodVolumes:
    """Returns the decisions for a node that has passed the filter."""
    found: _Claims | None = cycle.state.get(NAME)
    return PodVolumes() if found is None else found.by_node.get(node, PodVolumes())


class VolumeBinding:
    """Rejects nodes that cannot provide the volumes of a pod."""

    name = NAME

    async def prepare(self, cycle: Cycle) -> Rejection | None:
        found, has_immediate = _Claims(), False
        pod = cycle.pod
        for use in claims_of_pod(pod):
            claim = await cycle.objects.claim(use.claim, cycle.namespace)
            problem = _problem(pod, use.claim, claim, is_ephemeral=use.is_ephemeral)
            if claim is None or problem:
                return Rejection(problem, unresolvable=True)
            if is_fully_bound(claim):
                found.volumes.append(await cycle.objects.volume(claim["spec"]["volumeName"]))
                continue
            storage_class = await cycle.objects.storage_class(class_of(claim)) if class_of(claim) else None
            if storage_class is None or not is_delayed(storage_class) or claim["spec"].get("volumeName"):
                has_immediate = True
            else:
                volumes = suitable_volumes(claim, await cycle.objects.volumes_for(claim))
                found.delayed.append(_Delayed(claim, storage_class, volumes))
        if has_immediate:
            return Rejection(_UNBOUND, unresolvable=True)
        if found.volumes or found.delayed:
            # Small claims choose first, so that each gets the smallest volume that suits.
            found.delayed.sort(key=lambda each: requested(each.claim))
            cycle.state[NAME] = found
        return None

    def count(self, cycle: Cycle, assigned: AssignedPod, node: NodeInfo, sign: int) -> None:
        """Ignores other pods: they do not matter."""

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        claims: _Claims | None = cycle.state.get(NAME)
        if claims is None:
            return None
        reasons = _bound_reasons(claims.volumes, node)
        chosen = _choose(claims.delayed, node)
        if chosen is None:
            reasons += _NO_MATCH.reasons
        if reasons:
            return Rejection(*reasons, unresolvable=True)
        assert chosen is not None
        claims.by_node[node.name] = chosen
        return None


def _problem(pod: Object, name: str, claim: Object | None, *, is_ephemeral: bool) -> str:
    """Returns the reason why a claim cannot be used by a pod at present; empty if the claim can be used."""
    if claim is None:
        if is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if phase_of(claim) == "Lost":
        volume = claim["spec"].get("volumeName", "")
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim["metadata"].get("deletionTimestamp"):
        return f'persistentvolumeclaim "{name}" is being deleted'
    return foreign_claim(pod, claim) if is_ephemeral else ""


def _bound_reasons(volumes: Sequence[Object | None], node: NodeInfo) -> tuple[str, ...]:
    for volume in volumes:
        if volume is None:
            return (_NO_VOLUME,)
        if not reaches(volume, node):
            return (_OUT_OF_REACH,)
    return ()


def reaches(volume: Object, node: NodeInfo) -> bool:
    """Returns True if a node reaches a volume."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or matches_selector(required, node)


def _choose(delayed: Sequence[_Delayed], node: NodeInfo) -> PodVolumes | None:
    """Returns the volumes for the claims that wait for the pod; None if there are none for a claim."""
    choices: list[VolumeChoice] = []
    provisions: list[Object] = []
    taken: set[str] = set()
    for each in delayed:
        selected = annotations_of(each.claim).get(SELECTED_NODE)
        if selected is not None and selected != node.name:
            return None
        free = (found for found in each.volumes if found["metadata"]["name"] not in taken and reaches(found, node))
        volume = next(free, None) if selected is None else None
        if volume is not None:
            taken.add(volume["metadata"]["name"])
            choices.append(VolumeChoice(volume, each.claim))
        elif _can_provision(each.storage_class, node.labels):
            provisions.append(each.claim)
        else:
            return None
    return PodVolumes(choices, provisions)


def _can_provision(storage_class: Object, labels: Labels) -> bool:
    """Returns True if a class provisions volumes that a node with some labels reaches."""
    if storage_class["provisioner"] == NO_PROVISIONER:
        return False
    terms = storage_class.get("allowedTopologies") or ()
    return not terms or any(
        all(labels.get(each["key"]) in each["values"] for each in term.get("matchLabelExpressions") or ())
        for term in terms
    )
