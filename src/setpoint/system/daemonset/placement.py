"""The nodes of a daemon set: their selection, and the pods for them. Pure functions of the objects."""

from typing import NamedTuple

from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.system.pods.control import pod_of_template
from setpoint.system.scheduler.cluster_state import NodeInfo
from setpoint.system.scheduler.plugins.node_affinity import matches
from setpoint.system.scheduler.plugins.taint_toleration import NO_EXECUTE, NO_SCHEDULE, untolerated

HASH_LABEL, GENERATION_LABEL = "controller-revision-hash", "pod-template-generation"
_GENERATION = "deprecated.daemonset.template.generation"
_NAME = "metadata.name"
# The taints that daemon pods tolerate, with their effects.
_TOLERATED = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
_NETWORK = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


def tolerations(spec: Object) -> list[Object]:
    """Returns the tolerations of a pod spec with those of all daemon pods."""
    found: list[Object] = thaw(spec.get("tolerations") or [])
    for key, effect in (*_TOLERATED, *((_NETWORK,) if spec.get("hostNetwork") else ())):
        wanted = {"key": key, "operator": "Exists", "effect": effect}
        if wanted not in found:
            found.append(wanted)
    return found


class Decision(NamedTuple):
    """The decision about a node: True if a pod should run there, and True if a running one may stay."""

    should_run: bool
    may_stay: bool


class Placement:
    """The selection of nodes by one daemon set."""

    def __init__(self, daemon_set: Object) -> None:
        spec = daemon_set["spec"]["template"]["spec"]
        self._pod: Object = {"spec": {**spec, "tolerations": tolerations(spec)}}

    def decide(self, node: Object) -> Decision:
        """Decides about a node."""
        name, wanted = node["metadata"]["name"], self._pod["spec"].get("nodeName")
        info = NodeInfo(name)
        info.set_node(node)
        if (wanted and wanted != name) or not matches(self._pod, info):
            return Decision(False, False)
        if untolerated(self._pod, info, (NO_SCHEDULE, NO_EXECUTE)):
            return Decision(False, not untolerated(self._pod, info, (NO_EXECUTE,)))
        return Decision(True, True)


def template_generation(daemon_set: Object) -> str | None:
    """Returns the generation of the pod template that an annotation tells; None without one."""
    text = (daemon_set["metadata"].get("annotations") or {}).get(_GENERATION, "")
    return text if text.isascii() and text.isdecimal() else None


def is_updated(pod: Object, daemon_set: Object, revision: str) -> bool:
    """Returns True if a pod has the current template."""
    labels = pod["metadata"].get("labels") or {}
    generation = template_generation(daemon_set)
    return labels.get(HASH_LABEL) == revision or (generation is not None and labels.get(GENERATION_LABEL) == generation)


def pod_for(daemon_set: Object, node: str, revision: str) -> Object:
    """Returns the pod of a daemon set for a node. The scheduler binds the pod there by its affinity."""
    pod = pod_of_template(daemon_set["spec"]["template"], daemon_set)
    labels = pod["metadata"].setdefault("labels", {})
    generation = template_generation(daemon_set)
    if generation is not None:
        labels[GENERATION_LABEL] = generation
    labels[HASH_LABEL] = revision
    spec = pod["spec"]
    spec["tolerations"] = tolerations(spec)
    required = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    term = {"matchFields": [{"key": _NAME, "operator": "In", "values": [node]}]}
    required["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
    return pod


def target_of(pod: Object) -> str | None:
    """Returns the node of a pod, or the one that its affinity names; None without one."""
    name: str | None = pod["spec"].get("nodeName")
    if name:
        return name
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for each in term.get("matchFields") or ():
            if each["key"] == _NAME and each["operator"] == "In" and len(each.get("values") or ()) == 1:
                found: str = each["values"][0]
                return found
    return None
