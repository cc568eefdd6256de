"""The decisions about the claims of a pod on a node, which are written before the pod is assigned to the node."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.tree import Object


class VolumeChoice(NamedTuple):
    """An existing volume for a claim."""

    volume: Object
    claim: Object


class PodVolumes(NamedTuple):
    """The existing volumes for claims of a pod, and the claims for which volumes have to be provisioned."""

    choices: Sequence[VolumeChoice] = ()
    provisions: Sequence[Object] = ()


class Placement(NamedTuple):
    """The node for a pod, and the decisions about its claims."""

    node: str
    volumes: PodVolumes = PodVolumes()
