"""The state of claims and volumes: their class, sizes, annotations and references. Pure functions of the objects."""

from collections.abc import Iterable, Iterator
from typing import Any

from setpoint.cache.entry import CachedObject
from setpoint.objects.owners import is_controlled_by
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.system.pods.facts import ClaimUse

CLAIM, VOLUME, CLASS = "v1/PersistentVolumeClaim", "v1/PersistentVolume", "storage.k8s.io/v1/StorageClass"
# The annotations of claims.
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
# The annotation of claims and volumes if a controller has set their reference to each other.
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
# The annotation of volumes.
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
WAIT_FOR_CONSUMER = "WaitForFirstConsumer"
# The provisioner of classes without a provisioner: only administrators create their volumes.
NO_PROVISIONER = "kubernetes.io/no-provisioner"

# The names of the indexes of the cache.
VOLUMES, CLAIMS = "claim or class of the volume", "volume or class of the claim"


def annotations_of(obj: Object) -> Object:
    """Returns the annotations of an object."""
    found: Object = obj["metadata"].get("annotations") or {}
    return found


def with_annotations(obj: Object, changed: Object) -> Object:
    """Returns an object with changed annotations; None removes one."""
    merged = {key: value for key, value in {**annotations_of(obj), **changed}.items() if value is not None}
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    return {**obj, "metadata": {**metadata, **({"annotations": merged} if merged else {})}}


def key_of(obj: Object) -> str:
    """Returns the namespace and the name of a claim."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def class_of(obj: Object) -> str:
    """Returns the class of a claim or a volume; empty without one."""
    found: str = annotations_of(obj).get(_BETA_CLASS) or obj["spec"].get("storageClassName") or ""
    return found


def names_class(claim: Object) -> bool:
    """Returns True if a claim has a class, which may be the empty one."""
    return _BETA_CLASS in annotations_of(claim) or claim["spec"].get("storageClassName") is not None


def is_delayed(storage_class: Object | None) -> bool:
    """Returns True for a class with claims that are bound when a pod uses them."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == WAIT_FOR_CONSUMER


def default_class(classes: Iterable[Object]) -> Object | None:
    """Returns the default class: of several, the newest one, and of equally old ones the first by name."""
    marked = [each for each in classes if any(annotations_of(each).get(name) == "true" for name in _DEFAULT)]
    marked.sort(key=lambda each: str(each["metadata"]["name"]))
    return max(marked, key=lambda each: str(each["metadata"]["creationTimestamp"]), default=None)


def requested(claim: Object) -> Quantity:
    """Returns the requested size of a claim."""
    return Quantity.parse(str(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")))


def capacity(volume: Object) -> Quantity:
    """Returns the size of a volume."""
    return Quantity.parse(str((volume["spec"].get("capacity") or {}).get("storage", "0")))


def phase_of(obj: Object) -> str:
    """Returns the phase of a claim or a volume."""
    found: str = (obj.get("status") or {}).get("phase") or ""
    return found


def claim_of(volume: Object) -> Object:
    """Returns the reference of a volume to its claim; empty without one."""
    found: Object = volume["spec"].get("claimRef") or {}
    return found


def references(volume: Object, claim: Object) -> bool:
    """Returns True if a volume is bound to a claim, or reserved for one of its name."""
    reference, metadata = claim_of(volume), claim["metadata"]
    if (reference.get("namespace"), reference.get("name")) != (metadata["namespace"], metadata["name"]):
        return False
    return reference.get("uid", "") in ("", metadata["uid"])


def claim_reference(claim: Object) -> Object:
    """Returns the reference to a claim."""
    metadata = claim["metadata"]
    named = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**named, **{name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}}


def with_claim(volume: Object, claim: Object) -> Object:
    """Returns a volume that is bound to a claim; the same volume if bound already."""
    reference, metadata = claim_of(volume), claim["metadata"]
    names = ("namespace", "name", "uid")
    if all(reference.get(name) == metadata[name] for name in names):
        return volume
    bound = {**volume, "spec": {**volume["spec"], "claimRef": claim_reference(claim)}}
    # A volume that an administrator has reserved for the claim stays reserved if the claim goes.
    return bound if references(volume, claim) else with_annotations(bound, {BOUND_BY_CONTROLLER: "yes"})


def is_fully_bound(claim: Object) -> bool:
    """Returns True if the binding of a claim is complete."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def claims_of_pod(pod: Object) -> Iterator[ClaimUse]:
    """Yields the claims that the volumes of a pod use."""
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield ClaimUse(volume["name"], volume["persistentVolumeClaim"]["claimName"], False)
        elif volume.get("ephemeral"):
            yield ClaimUse(volume["name"], f"{pod['metadata']['name']}-{volume['name']}", True)


def foreign_claim(pod: Object, claim: Object) -> str:
    """Returns a message if the claim of an ephemeral volume does not belong to its pod; empty otherwise."""
    if is_controlled_by(claim, pod):
        return ""
    namespace = pod["metadata"]["namespace"]
    owner = f"pod {namespace}/{pod['metadata']['name']}"
    return f"PVC {namespace}/{claim['metadata']['name']} was not created for {owner} (pod is not owner)"


def volume_values(entry: CachedObject[Any]) -> Iterable[tuple[str, str]]:
    """Returns the values of a volume in the index: its claim, or else its class."""
    reference = claim_of(entry.object)
    if reference:
        return (("claim", f"{reference.get('namespace', '')}/{reference.get('name', '')}"),)
    return (("class", class_of(entry.object)),)


def claim_values(entry: CachedObject[Any]) -> Iterable[tuple[str, str]]:
    """Returns the values of a claim in the index: its volume, or else its class."""
    volume = entry.object["spec"].get("volumeName")
    return (("volume", volume),) if volume else (("class", class_of(entry.object)),)
