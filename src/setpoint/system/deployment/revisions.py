"""The revisions of a deployment: the names and annotations of its replica sets, and their pod templates."""

import struct
from collections.abc import Iterable

import msgspec

from setpoint.objects.frozen import thaw
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.system.deployment.numbers import DESIRED, MAX, by_age, max_surge, new_replicas, replicas_of

HASH_LABEL = "pod-template-hash"
REVISION, HISTORY = "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"
_ROLLBACK = "deprecated.deployment.rollback.to"
# The annotations of a deployment that its replica sets do not have.
_OWN = frozenset(("kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAX, _ROLLBACK))
# The length of the list of earlier revisions.
_LONGEST_HISTORY = 2000
_LONGEST_NAME = 253
# The characters of names that form no words.
_SAFE = "bcdfghjklmnpqrstvwxz2456789"


def template_hash(template: Object, collisions: int | None) -> str:
    """Returns the hash of a pod template, as a part of a name. The hash is FNV-1a over the template as sorted JSON: as
    stable as that of kube-controller-manager, which hashes a dump of Go's structs, but another one."""
    data = msgspec.json.encode(template, order="sorted")
    if collisions is not None:
        data += struct.pack("<Q", collisions & 0xFFFFFFFF)
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(value))


def is_same_template(one: Object, other: Object) -> bool:
    """Returns True if two pod templates are equal apart from the hash label."""
    return _without_hash(one) == _without_hash(other)


def _without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    rest = {name: value for name, value in metadata.items() if name != "labels" and value is not None}
    return {**template, "metadata": {**rest, "labels": kept}}


def find_new(deployment: Object, replica_sets: Iterable[Object]) -> Object | None:
    """Returns the oldest replica set with the template of the deployment; None if there is none."""
    template = deployment["spec"]["template"]
    return next((each for each in by_age(replica_sets) if is_same_template(each["spec"]["template"], template)), None)


def revision_of(obj: Object) -> int | None:
    """Returns the revision of a replica set, 0 if missing; None for an invalid one."""
    text = (obj["metadata"].get("annotations") or {}).get(REVISION)
    if text is None:
        return 0
    try:
        return int(text)
    except ValueError:
        return None


def max_revision(replica_sets: Iterable[Object]) -> int:
    """Returns the highest revision; 0 if there is none."""
    return max((revision_of(each) or 0 for each in replica_sets), default=0)


def by_revision(replica_sets: Iterable[Object]) -> list[Object]:
    """Returns replica sets from the lowest to the highest revision, and from old to new."""
    return sorted(by_age(replica_sets), key=lambda each: revision_of(each) or 0)


def replica_annotations(deployment: Object) -> Object:
    """Returns the annotations with the numbers of replicas that a replica set keeps for proportional scaling."""
    wanted = replicas_of(deployment)
    return {DESIRED: str(wanted), MAX: str(wanted + max_surge(deployment))}


def new_annotations(deployment: Object, replica_set: Object, revision: int) -> Object:
    """Returns the annotations of the new replica set: those of the deployment, and the revision. A replica set that
    becomes the new one again, by a rollback, remembers its earlier revisions."""
    found = dict(replica_set["metadata"].get("annotations") or {})
    given = deployment["metadata"].get("annotations") or {}
    found.update({name: value for name, value in given.items() if name not in _OWN})
    before = revision_of(replica_set)
    if before is None or before >= revision:
        return found
    earlier = found.get(REVISION)
    found[REVISION] = str(revision)
    if earlier is not None:
        history = [each for each in found.get(HISTORY, "").split(",") if each]
        while history and len(",".join((*history, earlier))) > _LONGEST_HISTORY:
            history.pop(0)
        found[HISTORY] = ",".join((*history, earlier))
    return found


def new_replica_set(deployment: Object, old: Iterable[Object], revision: int) -> Object:
    """Returns the replica set for the current template of a deployment. Its name is determined by the template, so that
    a second creation after a crash fails."""
    spec, metadata = deployment["spec"], deployment["metadata"]
    label = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount"))
    template = thaw(spec["template"])
    template.setdefault("metadata", {}).setdefault("labels", {})[HASH_LABEL] = label
    selector = thaw(spec["selector"])
    selector.setdefault("matchLabels", {})[HASH_LABEL] = label
    longest = _LONGEST_NAME - len(label) - 1
    found: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name'][:longest]}-{label}",
            "namespace": metadata["namespace"],
            "ownerReferences": [controller_reference(deployment)],
            "labels": dict(template["metadata"]["labels"]),
        },
        "spec": {"replicas": new_replicas(deployment, old, 0), "selector": selector, "template": template},
    }
    if spec.get("minReadySeconds"):
        found["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    annotations = new_annotations(deployment, found, revision)
    found["metadata"]["annotations"] = annotations | replica_annotations(deployment)
    return found
