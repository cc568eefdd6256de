"""The rules of PersistentVolumes and PersistentVolumeClaims."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.field import FieldError, child, forbidden, invalid, key, not_supported, required
from setpoint.objects.names import dns1123_subdomain, qualified_name
from setpoint.objects.times import has_fraction
from setpoint.objects.tree import Json, Object, copy
from setpoint.server.registry.kinds.base_strategy import drop_disabled
from setpoint.server.registry.kinds.core.claim_spec import VOLUME_MODES, validate_access_modes, validate_claim_spec
from setpoint.server.registry.kinds.core.pod.defaults import default_claim_spec, default_volume_source, round_amounts
from setpoint.server.registry.kinds.core.pod.resources import is_native, resource_amount
from setpoint.server.registry.kinds.core.pod.scheduling import validate_node_selector
from setpoint.server.registry.kinds.core.pod.warnings import STABLE_NODE_LABELS
from setpoint.server.registry.kinds.core.volume_sources import validate_source
from setpoint.server.registry.kinds.gotypes.difference import difference, struct_value
from setpoint.server.registry.kinds.printers.cells import UNSET, access_modes, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import amount, immutable, positive_amount, put, wrong
from setpoint.server.registry.strategy import Column, Strategy

_CLASS = "volume.beta.kubernetes.io/storage-class"
_RECLAIM = ("Delete", "Recycle", "Retain")
_SOURCES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
    *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume"),
    *("photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
_OLD_VOLUME_ANNOTATIONS = {
    _CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_RECYCLE = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
_OLD_VOLUME_SOURCES = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_RESIZE_STATUSES = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizePending", "NodeResizeInProgress"),
    "NodeResizeInfeasible",
)
_INLINE = "in the context of inline volumes"
_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def _phase(tree: Object, _now: datetime) -> Json:
    if "deletionTimestamp" in tree["metadata"]:
        return "Terminating"
    return (tree.get("status") or {}).get("phase") or ""


def _class(tree: Object, _now: datetime) -> Json:
    annotations = tree["metadata"].get("annotations") or {}
    return annotations.get(_CLASS) or (tree.get("spec") or {}).get("storageClassName") or ""


# --- volumes ---


def _capacity(tree: Object, _now: datetime) -> Json:
    return str(((tree.get("spec") or {}).get("capacity") or {}).get("storage", "0"))


def _volume_modes(tree: Object, _now: datetime) -> Json:
    return access_modes((tree.get("spec") or {}).get("accessModes"))


def _claim(tree: Object, _now: datetime) -> Json:
    reference = (tree.get("spec") or {}).get("claimRef")
    return "" if reference is None else f"{reference.get('namespace') or ''}/{reference.get('name') or ''}"


class PersistentVolumeStrategy(Strategy):
    stamps = True
    name_on_update = "before"
    returns_deleted_object = True
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Capacity", _capacity),
        Column("Access Modes", _volume_modes),
        Column(
            "Reclaim Policy",
            field("spec", "persistentVolumeReclaimPolicy"),
        ),
        Column("Status", _phase),
        Column("Claim", _claim),
        Column("StorageClass", _class),
        Column(
            "VolumeAttributesClass",
            field("spec", "volumeAttributesClassName", absent=UNSET),
        ),
        Column("Reason", field("status", "reason")),
        AGE,
        Column(
            "VolumeMode",
            field("spec", "volumeMode", absent=UNSET),
            priority=1,
        ),
    )

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        spec.setdefault("volumeMode", "Filesystem")
        default_volume_source(spec)
        round_amounts(spec.get("capacity") or {})
        tree.setdefault("status", {}).setdefault("phase", "Pending")

    def prepare_for_create(self, tree: Object) -> None:
        tree["status"] = {"phase": "Pending"}
        created = tree["metadata"].get("creationTimestamp")
        if created:
            tree["status"]["lastPhaseTransitionTime"] = created

    def stamp(self, tree: Object, old: Object, now: str, sent: Object) -> None:
        status, before = tree.setdefault("status", {}), old.get("status") or {}
        told, known = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
        if told is not None and (told != known or has_fraction(lookup(sent, "status", "lastPhaseTransitionTime"))):
            return
        moment = known if status.get("phase") == before.get("phase") else now
        if moment:
            status["lastPhaseTransitionTime"] = moment

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        return _volume_warnings(tree)

    def validate(self, tree: Object) -> list[FieldError]:
        return validate_volume(tree["spec"], "spec")

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return []
        spec, stored = tree["spec"], old["spec"]
        found = self.validate(tree)
        sources, before = _sources(spec), _sources(stored)
        if "csi" in sources and "csi" in before and "controllerExpandSecretRef" not in before["csi"]:
            sources["csi"] = {name: it for name, it in sources["csi"].items() if name != "controllerExpandSecretRef"}
        if sources != before:
            diff = difference("PersistentVolumeSource", before, sources)
            why = f"spec.persistentvolumesource is immutable after creation\n{diff}"
            found.append(forbidden("spec.persistentvolumesource", why))
        found += immutable(spec.get("volumeMode"), stored.get("volumeMode"), "volumeMode")
        found += _validate_node_affinity(spec.get("nodeAffinity"), stored.get("nodeAffinity"))
        if stored.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
            why = "update from non-nil value to nil is forbidden"
            found.append(forbidden("spec.volumeAttributesClassName", why))
        return found


def _validate_node_affinity(new: Object | None, old: Object | None) -> list[FieldError]:
    """Validates that a volume keeps its node affinity, except for new names of labels."""
    if old is None or (new is not None and _selects_same(new.get("required"), old.get("required"))):
        return []
    why = "field is immutable, except for updating from beta label to GA"
    return [invalid("nodeAffinity", struct_value("*VolumeNodeAffinity", new), why)]


def _selects_same(new: Object | None, old: Object | None) -> bool:
    """Returns True if two node selectors are equal, except for labels of a beta version with their new names."""
    if new is None or old is None:
        return new is old
    terms, before = new.get("nodeSelectorTerms") or [], old.get("nodeSelectorTerms") or []
    return len(terms) == len(before) and all(
        _renamed(term.get(name) or [], kept.get(name) or []) == (term.get(name) or [])
        for term, kept in zip(terms, before, strict=True)
        for name in ("matchExpressions", "matchFields")
    )


def _renamed(new: list[Object], old: list[Object]) -> list[Object]:
    """Returns the old requirements, with the keys of the new ones where these are new names of the same labels."""
    if len(new) != len(old):
        return old
    pairs = zip(new, old, strict=True)
    return [{**was, "key": it["key"]} if STABLE_NODE_LABELS.get(was["key"]) == it["key"] else was for it, was in pairs]


def _volume_warnings(tree: Object) -> list[str]:
    annotations, spec = tree["metadata"].get("annotations") or {}, tree.get("spec") or {}
    found = [
        f"metadata.annotations[{name}]: {why}" for name, why in _OLD_VOLUME_ANNOTATIONS.items() if name in annotations
    ]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}")
    return found + [f"spec.{shown}: {why}" for name, (shown, why) in _OLD_VOLUME_SOURCES.items() if name in spec]


def _sources(spec: Object) -> Object:
    return {name: spec[name] for name in _SOURCES if name in spec}


def validate_volume(spec: Object, path: str, *, inline: bool = False) -> list[FieldError]:
    """Validates the spec of a volume; `inline`: that a pod contains instead of a claim."""
    found = _validate_inline(spec, path) if inline else []
    found += validate_access_modes(spec.get("accessModes") or [], path)
    policy = spec.get("persistentVolumeReclaimPolicy") or ""
    if not inline:
        found += _validate_capacity(spec.get("capacity"), child(path, "capacity"))
    if inline and policy not in ("", "Retain"):
        place = child(path, "persistentVolumeReclaimPolicy")
        found.append(forbidden(place, f"may only be Retain {_INLINE}"))
    elif policy and policy not in _RECLAIM:
        found.append(not_supported(child(path, "persistentVolumeReclaimPolicy"), policy, _RECLAIM))
    if "nodeAffinity" in spec and inline:
        found.append(forbidden(child(path, "nodeAffinity"), f"may not be specified {_INLINE}"))
    elif "nodeAffinity" in spec:
        where = child(child(path, "nodeAffinity"), "required")
        wanted = spec["nodeAffinity"].get("required")
        why = "must specify required node constraints"
        found += [required(where, why)] if wanted is None else validate_node_selector(wanted, where)
    given = [name for name in _SOURCES if name in spec]
    if not given:
        found.append(required(path, "must specify a volume type"))
    for position, name in enumerate(given):
        if position and name != "flexVolume":  # kube-apiserver validates this one beside others
            place = child(path, "cephFS" if name == "cephfs" else name)
            found.append(forbidden(place, "may not specify more than 1 volume type"))
        else:
            found += validate_source(name, spec[name], child(path, name), persistent=True)
    if given[:1] == ["local"] and "nodeAffinity" not in spec:
        found.append(required(child(path, "nodeAffinity"), "Local volume requires node affinity"))
    root = (spec.get("hostPath") or {}).get("path") or ""
    if root and not root.strip("/") and policy == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(forbidden(child(path, "persistentVolumeReclaimPolicy"), why))
    name, mode = spec.get("storageClassName") or "", spec.get("volumeMode")
    if inline:
        if name:
            found.append(forbidden(child(path, "storageClassName"), f"may not be specified {_INLINE}"))
        if mode not in (None, "Filesystem"):
            why = f"may not specify volumeMode other than Filesystem {_INLINE}"
            found.append(forbidden(child(path, "volumeMode"), why))
        return found
    if name:
        found += wrong(child(path, "storageClassName"), name, dns1123_subdomain(name))
    if mode is not None and mode not in VOLUME_MODES:
        found.append(not_supported(child(path, "volumeMode"), mode, VOLUME_MODES))
    return found + _validate_attributes_class(spec, path)


def _validate_inline(spec: Object, path: str) -> list[FieldError]:
    found = [
        forbidden(child(path, name), f"may not be specified {_INLINE}")
        for name, given in (("claimRef", "claimRef" in spec), ("capacity", bool(spec.get("capacity"))))
        if given
    ]
    return found if "csi" in spec else [*found, required(child(path, "csi"), f"has to be specified {_INLINE}")]


def _validate_capacity(given: Object | None, path: str) -> list[FieldError]:
    capacity = given or {}
    found = [] if capacity else [required(path)]
    if "storage" not in capacity or len(capacity) > 1:
        found.append(not_supported(path, given, ("storage",)))
    for name, value in capacity.items():
        if amount(value).value() < 0:
            found.append(invalid(key(path, name), amount(value).value(), "must be a valid resource quantity"))
        found += positive_amount(value, key(path, name))
    return found


def _validate_attributes_class(spec: Object, path: str) -> list[FieldError]:
    name = spec.get("volumeAttributesClassName")
    if name is None:
        return []
    place = child(path, "volumeAttributesClassName")
    found = wrong(place, name, dns1123_subdomain(name)) if name else [required(place, "an empty string is disallowed")]
    if "csi" not in spec:
        found.append(required(child(path, "csi"), "has to be specified when using volumeAttributesClassName"))
    return found


# --- claims ---


def _claim_capacity(tree: Object, _now: datetime) -> Json:
    if not (tree.get("spec") or {}).get("volumeName"):
        return ""
    return str(((tree.get("status") or {}).get("capacity") or {}).get("storage", "0"))


def _claim_modes(tree: Object, _now: datetime) -> Json:
    bound = (tree.get("spec") or {}).get("volumeName")
    return access_modes((tree.get("status") or {}).get("accessModes")) if bound else ""


class PersistentVolumeClaimStrategy(Strategy):
    name_on_update = "after"
    returns_deleted_object = True
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Status", _phase),
        Column("Volume", field("spec", "volumeName")),
        Column("Capacity", _claim_capacity),
        Column("Access Modes", _claim_modes),
        Column("StorageClass", _class),
        Column(
            "VolumeAttributesClass",
            field("spec", "volumeAttributesClassName", absent=UNSET),
        ),
        AGE,
        Column(
            "VolumeMode",
            field("spec", "volumeMode", absent=UNSET),
            priority=1,
        ),
    )

    def default(self, tree: Object) -> None:
        default_claim_spec(tree.setdefault("spec", {}))
        status = tree.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"
        for name in ("capacity", "allocatedResources"):
            round_amounts(status.get(name) or {})

    def prepare_for_create(self, tree: Object) -> None:
        tree["status"] = {"phase": "Pending"}
        _align_data_sources(tree["spec"], has_source=False)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if not subresource:
            stored = old.get("spec") or {}
            _align_data_sources(tree["spec"], has_source="dataSource" in stored or "dataSourceRef" in stored)
        elif subresource == "status":
            # The health of volumes is a feature that is off.
            drop_disabled(tree, old, "status.healthStatus")

    def validate(self, tree: Object) -> list[FieldError]:
        return validate_claim_spec(tree["spec"], "spec")

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return _validate_claim_status(tree)
        return self.validate(tree) + _validate_claim_changes(tree, old)


def _align_data_sources(spec: Object, *, has_source: bool) -> None:
    """Copies the data source between the older and the newer field. `has_source` is True if the stored claim has one;
    otherwise, the older field may name few kinds only, and others are dropped."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and not has_source:
        # Sources in other namespaces are a feature that is off.
        reference = None
        del spec["dataSourceRef"]
    if source is not None and reference is None and not has_source:
        native = (source.get("apiGroup") or "", source.get("kind"))
        if native not in _OLD_SOURCES:
            source = None
            del spec["dataSource"]
    if source is not None and reference is None:
        spec["dataSourceRef"] = {**source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}


_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _validate_claim_changes(tree: Object, old: Object) -> list[FieldError]:
    found: list[FieldError] = []
    spec: Object = copy(tree["spec"])
    stored: Object = copy(old["spec"])
    if not stored.get("volumeName") and spec.get("volumeName"):
        stored["volumeName"] = spec["volumeName"]
    annotations = tree["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    wanted = spec.get("storageClassName")
    if _CLASS in before and "storageClassName" not in stored and wanted == before[_CLASS]:
        spec.pop("storageClassName")
    else:
        if annotations.get(_CLASS, "") != before.get(_CLASS, ""):
            place = key("metadata.annotations", _CLASS)
            found.append(invalid(place, annotations.get(_CLASS, ""), "field is immutable"))
        if "storageClassName" not in stored and wanted is not None and _CLASS not in before:
            spec.pop("storageClassName")
    bound = (tree.get("status") or {}).get("phase") == "Bound"
    requests, asked = _storage(spec), _storage(stored)
    if bound:
        if requests is not None and asked is not None:
            spec["resources"]["requests"]["storage"] = asked
        put(spec, "volumeAttributesClassName", stored.get("volumeAttributesClassName"))
    if spec != stored:
        diff = difference("PersistentVolumeClaimSpec", stored, spec)
        found.append(forbidden("spec", f"{_FIXED}\n{diff}"))
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
    size, before_size = amount(requests or "0"), amount(asked or "0")
    if size < before_size and size <= amount(capacity):
        place = "spec.resources.requests.storage"
        found.append(forbidden(place, "field can not be less than status.capacity"))
    found += immutable(tree["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode")
    return found + _validate_class_change(tree["spec"], old)


def _storage(spec: Object) -> Json:
    return ((spec.get("resources") or {}).get("requests") or {}).get("storage")


def _validate_class_change(spec: Object, old: Object) -> list[FieldError]:
    name = spec.get("volumeAttributesClassName")
    applied = (old.get("status") or {}).get("currentVolumeAttributesClassName")
    if name == old["spec"].get("volumeAttributesClassName") or applied is None or name:
        return []
    value = "nil" if name is None else "empty string"
    why = f"update to {value} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [forbidden("spec.volumeAttributesClassName", why)]


def _validate_claim_status(tree: Object) -> list[FieldError]:
    status = tree.get("status") or {}
    found: list[FieldError] = []
    if not tree["spec"].get("accessModes"):
        found.append(required("Spec.accessModes"))
    for name, value in (status.get("capacity") or {}).items():
        if amount(value).value() < 0:
            place = key("status.capacity", name)
            found.append(invalid(place, amount(value).value(), "must be a valid resource quantity"))
    for name, value in (status.get("allocatedResourceStatuses") or {}).items():
        found += _validate_claim_resource(name, "status.allocatedResourceStatuses")
        if value not in _RESIZE_STATUSES:
            found.append(not_supported("status.allocatedResourceStatuses", name, sorted(_RESIZE_STATUSES)))
    for name, value in (status.get("allocatedResources") or {}).items():
        errors = _validate_claim_resource(name, "status.allocatedResources")
        found += errors or resource_amount("storage", value, key("status.allocatedResources", name))
    return found


def _validate_claim_resource(name: str, path: str) -> list[FieldError]:
    if errors := wrong(path, name, qualified_name(name)):
        return errors
    return [not_supported(path, name, ("storage",))] if is_native(name) and name != "storage" else []
