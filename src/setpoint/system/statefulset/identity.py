"""The identity of a pod of a stateful set: its ordinal, its name, its labels, and the volumes of its claims."""

import re

from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.system.pods.control import pod_of_template

POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"
_NAME = re.compile(r"(.*)-([0-9]+)\Z", re.ASCII | re.DOTALL)
_LARGEST = 2**31 - 1


def parent_and_ordinal(pod: Object) -> tuple[str, int]:
    """Returns the name of the set and the ordinal in the name of a pod; an empty name and -1 for another name."""
    found = _NAME.match(pod["metadata"].get("name", ""))
    if found is None:
        return "", -1
    ordinal = int(found[2]) if len(found[2]) < 12 else _LARGEST + 1
    return found[1], ordinal if ordinal <= _LARGEST else -1


def ordinal_of(pod: Object) -> int:
    """Returns the ordinal of a pod; -1 if its name has none."""
    return parent_and_ordinal(pod)[1]


def is_member(stateful_set: Object, pod: Object) -> bool:
    """Returns True if the name of a pod begins with that of the set."""
    name: str = stateful_set["metadata"]["name"]
    return parent_and_ordinal(pod)[0] == name


def replicas_of(stateful_set: Object) -> int:
    """Returns the desired number of pods."""
    found: int | None = stateful_set["spec"].get("replicas")
    return 1 if found is None else found


def first_ordinal(stateful_set: Object) -> int:
    """Returns the ordinal of the first pod."""
    found: int = (stateful_set["spec"].get("ordinals") or {}).get("start") or 0
    return found


def is_in_range(stateful_set: Object, pod: Object) -> bool:
    """Returns True for a pod with the ordinal of a desired one."""
    return 0 <= ordinal_of(pod) - first_ordinal(stateful_set) < replicas_of(stateful_set)


def revision_label(pod: Object) -> str:
    """Returns the name of the revision of a pod; empty without one."""
    found: str = (pod["metadata"].get("labels") or {}).get(REVISION_LABEL, "")
    return found


def claim_name(stateful_set: Object, template: Object, ordinal: int) -> str:
    """Returns the name of the claim that a pod has for a template."""
    return f"{template['metadata']['name']}-{stateful_set['metadata']['name']}-{ordinal}"


def claim_templates(stateful_set: Object) -> list[Object]:
    """Returns the templates of claims."""
    return list(stateful_set["spec"].get("volumeClaimTemplates") or ())


def claims_of(stateful_set: Object, pod: Object) -> list[Object]:
    """Returns the claims of a pod as they are created."""
    labels, found = stateful_set["spec"]["selector"].get("matchLabels") or {}, []
    for template in claim_templates(stateful_set):
        claim = thaw(template)
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        claim.pop("status", None)
        metadata = claim["metadata"]
        metadata["name"] = claim_name(stateful_set, template, ordinal_of(pod))
        metadata["namespace"] = stateful_set["metadata"]["namespace"]
        if labels or metadata.get("labels"):
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
        found.append(claim)
    return found


def has_identity(stateful_set: Object, pod: Object) -> bool:
    """Returns True if the labels of a pod have its name."""
    metadata = pod["metadata"]
    labels = metadata.get("labels") or {}
    return is_member(stateful_set, pod) and bool(labels.get(POD_NAME) == metadata["name"])


def has_storage(stateful_set: Object, pod: Object) -> bool:
    """Returns True if the volumes of a pod are those of its claims."""
    volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
    for template in claim_templates(stateful_set):
        volume = volumes.get(template["metadata"]["name"]) or {}
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim != claim_name(stateful_set, template, ordinal_of(pod)):
            return False
    return True


def set_identity(pod: Object) -> None:
    """Sets the labels with the name and the ordinal of a pod."""
    metadata = pod["metadata"]
    own = {POD_NAME: metadata["name"], POD_INDEX: str(ordinal_of(pod))}
    metadata["labels"] = {**(metadata.get("labels") or {}), **own}


def set_storage(stateful_set: Object, pod: Object) -> None:
    """Sets the volumes of the claims of a pod. They replace volumes of the same names."""
    templates = claim_templates(stateful_set)
    names = {each["metadata"]["name"] for each in templates}
    own = [
        {
            "name": each["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(stateful_set, each, ordinal_of(pod))},
        }
        for each in templates
    ]
    volumes = [*own, *(each for each in pod["spec"].get("volumes") or () if each["name"] not in names)]
    if volumes:
        pod["spec"]["volumes"] = volumes


def new_pod(stateful_set: Object, template: Object, revision: str, ordinal: int) -> Object:
    """Returns a new pod of a template, with its identity, its volumes, and the label of its revision."""
    pod = pod_of_template(template, stateful_set)
    name = f"{stateful_set['metadata']['name']}-{ordinal}"
    del pod["metadata"]["generateName"]
    pod["metadata"].update(name=name, namespace=stateful_set["metadata"]["namespace"])
    set_identity(pod)
    pod["metadata"]["labels"][REVISION_LABEL] = revision
    pod["spec"]["hostname"] = name
    if stateful_set["spec"].get("serviceName"):
        pod["spec"]["subdomain"] = stateful_set["spec"]["serviceName"]
    set_storage(stateful_set, pod)
    return pod
