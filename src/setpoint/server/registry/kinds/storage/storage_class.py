"""StorageClasses, and the objects that describe storage drivers, their nodes and their volumes."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from setpoint.objects import labels
from setpoint.objects.field import (
    FieldError,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
    too_long_characters,
)
from setpoint.objects.names import dns1123_subdomain_caseless, qualified_name
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import (
    STATUS_ALONE,
    ValidatingStrategy,
    drop_disabled,
    immutable,
    immutable_unshown,
    struct_text,
)
from setpoint.server.registry.kinds.core.persistent_volume import validate_volume
from setpoint.server.registry.kinds.core.volume_sources import validate_csi_driver
from setpoint.server.registry.kinds.printers.cells import NONE, UNSET, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, CREATED_AT, NAME, count, joined
from setpoint.server.registry.kinds.validation.values import (
    IMMUTABLE,
    INT32_MAX,
    non_negative,
    non_negative_amount,
    subdomain,
    wrong,
)
from setpoint.server.registry.strategy import Column

_MAX_PARAMETERS, _PARAMETERS_SIZE = 512, 256 * 1024
_METADATA_SIZE, _MESSAGE_SIZE, _NODE_ID = 256 * 1024, 1024, 256
_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Persistent", "Ephemeral")
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


_TOKEN_WARNING = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


class StorageClassStrategy(ValidatingStrategy):
    name_on_update = "before"
    returns_deleted_object = True
    columns = (
        NAME,
        Column("Provisioner", field("provisioner")),
        Column("ReclaimPolicy", field("reclaimPolicy", absent="Delete")),
        Column("VolumeBindingMode", field("volumeBindingMode", absent="Immediate")),
        Column("AllowVolumeExpansion", field("allowVolumeExpansion", absent=False)),
        AGE,
    )

    def default(self, tree: Object) -> None:
        tree.setdefault("reclaimPolicy", "Delete")
        tree.setdefault("volumeBindingMode", "Immediate")

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        provisioner = tree.get("provisioner") or ""
        found = wrong("provisioner", provisioner.lower(), qualified_name(provisioner.lower())) if provisioner else []
        found += _validate_parameters(tree.get("parameters") or {}, "parameters")
        policy, mode = tree.get("reclaimPolicy"), tree.get("volumeBindingMode")
        if policy and policy not in _RECLAIM_POLICIES:
            found.append(not_supported("reclaimPolicy", policy, _RECLAIM_POLICIES))
        if mode is None:
            found.append(required("volumeBindingMode"))
        elif mode not in _BINDING_MODES:
            found.append(not_supported("volumeBindingMode", mode, _BINDING_MODES))
        return found + _validate_topologies(tree.get("allowedTopologies") or [], "allowedTopologies")

    def declared(self, tree: Object, old: Object | None) -> list[FieldError]:
        found = [] if tree.get("provisioner") else [required("provisioner")]
        if old is not None:
            for name in ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"):
                found += immutable_unshown(tree, old, name)
        return found


def _validate_provisioner(name: str, path: str) -> list[FieldError]:
    return wrong(path, name.lower(), qualified_name(name.lower())) if name else [required(path)]


def _validate_parameters(parameters: dict[str, str], path: str) -> list[FieldError]:
    if len(parameters) > _MAX_PARAMETERS:
        return [too_long(path, _MAX_PARAMETERS)]
    found = [invalid(path, name, "field can not be empty.") for name in parameters if not name]
    return found + ([too_long(path, _PARAMETERS_SIZE)] if _size(parameters) > _PARAMETERS_SIZE else [])


def _size(entries: dict[str, str]) -> int:
    return sum(len(name.encode()) + len(value.encode()) for name, value in entries.items())


def _validate_topologies(terms: list[Object], path: str) -> list[FieldError]:
    """Validates that terms are unique, and that the keys of each term are unique."""
    found: list[FieldError] = []
    known: list[dict[str, frozenset[str]]] = []
    for position, term in enumerate(terms):
        place = f"{index(path, position)}.matchLabelExpressions"
        wanted: dict[str, frozenset[str]] = {}
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            where, name, values = index(place, number), expression.get("key") or "", expression.get("values") or []
            if not values:
                found.append(required(f"{where}.values"))
            for at, value in enumerate(values):
                if value in values[:at]:
                    found.append(duplicate(index(f"{where}.values", at), value))
            found += wrong(f"{where}.key", name, qualified_name(name))
            if name in wanted:
                found.append(duplicate(f"{where}.key", name))
            wanted[name] = frozenset(values)
        # The API compares a term with zero terms too, so a term without expressions is a duplicate.
        if not wanted or wanted in known:
            found.append(duplicate(place, ""))
        known.append(wanted)
    return found


class VolumeAttributesClassStrategy(ValidatingStrategy):
    name_on_update = "after"
    returns_deleted_object = True
    columns = (NAME, Column("DriverName", field("driverName")), AGE)

    def changes_before_name(self, tree: Object, old: Object) -> list[FieldError]:
        return [
            forbidden(name, f"updates to {name} are forbidden.")
            for name in ("driverName", "parameters")
            if (tree.get(name) or None) != (old.get(name) or None)
        ]

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        parameters = tree.get("parameters") or {}
        found = _validate_provisioner(tree.get("driverName") or "", "driverName")
        found += _validate_parameters(parameters, "parameters")
        if not parameters:
            found.append(required("parameters", "must contain at least one key/value pair"))
        return found


class CSIStorageCapacityStrategy(ValidatingStrategy):
    name_on_update = "before"
    allows_unconditional_update = False
    immutable = ("nodeTopology", "storageClassName")
    shown_as: ClassVar[Mapping[str, str]] = {"nodeTopology": "*LabelSelector", "storageClassName": '""'}
    columns = (NAME, CREATED_AT)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found = labels.validate_object(tree.get("nodeTopology"), "nodeTopology")
        found += subdomain(tree.get("storageClassName") or "", "storageClassName")
        return found + non_negative_amount(tree["capacity"], "capacity") if "capacity" in tree else found


class VolumeAttachmentStrategy(ValidatingStrategy):
    name_on_update = "before"
    name_endpoints = ("", "status")
    returns_deleted_object = True
    allows_unconditional_update = False
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    columns = (
        NAME,
        Column("Attacher", field("spec", "attacher"), format="name"),
        Column("PV", field("spec", "source", "persistentVolumeName")),
        Column("Node", field("spec", "nodeName")),
        Column("Attached", field("status", "attached", absent=False), "boolean"),
        AGE,
    )

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        source = spec.get("source") or {}
        # The declared rules replace this one, unless the spec changed: that error is the only declared one.
        found = validate_csi_driver(spec.get("attacher") or "", "spec.attacher") if old is not None else []
        volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
        if inline is not None:
            if volume is not None:
                found.append(forbidden("spec.source", _ONE_SOURCE))
            else:
                found += validate_volume(inline, "spec.source.inlineVolumeSpec", inline=True)
        elif volume is None:
            found.append(required("spec.source", _ONE_SOURCE))
        elif not volume:
            found.append(required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"))
        found += subdomain(spec.get("nodeName") or "", "spec.nodeName")
        found += _validate_attachment(tree.get("status") or {})
        return found if volume is None else found + subdomain(volume, "spec.source.persistentVolumeName")

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        return _validate_attachment(tree.get("status") or {})

    def declared(self, tree: Object, old: Object | None) -> list[FieldError]:
        if old is not None:
            return immutable_unshown(tree, old, "spec")
        path, attacher = "spec.attacher", lookup(tree, "spec", "attacher") or ""
        if not attacher:
            return [required(path)]
        found = wrong(path, attacher, dns1123_subdomain_caseless(attacher))
        return [*found, too_long_characters(path, 63)] if len(attacher) > 63 else found


def _validate_attachment(status: Object) -> list[FieldError]:
    found = []
    if _size(status.get("attachmentMetadata") or {}) > _METADATA_SIZE:
        found.append(too_long("status.attachmentMetadata", _METADATA_SIZE))
    for name in ("attachError", "detachError"):
        error = status.get(name) or {}
        if len((error.get("message") or "").encode()) > _MESSAGE_SIZE:
            found.append(too_long(f"status.{name}.message", _MESSAGE_SIZE))
        code = error.get("errorCode")
        if code is not None and code < 0:
            why = f"must be between 0 and {INT32_MAX}, inclusive"
            found.append(invalid(f"status.{name}.errorCode", code, why))
    return found


class CSINodeStrategy(ValidatingStrategy):
    name_on_update = "before"
    returns_deleted_object = True
    allows_unconditional_update = False
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    columns = (NAME, Column("Drivers", count("spec", "drivers"), "integer"), AGE)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        # The health of volumes is a feature that is off.
        drop_disabled(tree, old, "status.storageHealth")

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found: list[FieldError] = []
        names: set[str] = set()
        for position, driver in enumerate(lookup(tree, "spec", "drivers") or ()):
            path, name = index("spec.drivers", position), driver.get("name") or ""
            found += validate_csi_driver(name, f"{path}.name")
            found += _validate_driver(driver, path)
            if name in names:
                found.append(duplicate(f"{path}.name", name))
            names.add(name)
            found += _validate_topology_keys(driver.get("topologyKeys") or [], path)
        return found

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        """Validates that a driver that remains on the node is unchanged, except for its allocatable count."""
        drivers = lookup(tree, "spec", "drivers") or ()
        return [
            invalid("spec.drivers", _fixed(driver), IMMUTABLE)
            for known in lookup(old, "spec", "drivers") or ()
            for driver in drivers
            if driver.get("name") == known.get("name") and _fixed(driver) != _fixed(known)
        ]


def _fixed(driver: Object) -> str:
    """Returns the fixed fields of a driver, as errors show them."""
    keys = driver.get("topologyKeys") or None
    name, node = driver.get("name") or "", driver.get("nodeID") or ""
    return struct_text(Name=name, NodeID=node, TopologyKeys=keys, Allocatable=None)


def _validate_driver(driver: Object, path: str) -> list[FieldError]:
    node, allowed = driver.get("nodeID") or "", lookup(driver, "allocatable", "count")
    found = [] if node else [required(f"{path}.nodeID")]
    if len(node.encode()) > _NODE_ID:
        found.append(invalid(f"{path}.nodeID", node, f"must be {_NODE_ID} characters or less"))
    if allowed is not None:
        found += non_negative(allowed, f"{path}.allocatable.count")
    return found


def _validate_topology_keys(names: list[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    keys: set[str] = set()
    for name in names:
        if not name:
            found.append(required(path))
        if name in keys:
            found.append(duplicate(path, name))
        keys.add(name)
        found += wrong(path, name, qualified_name(name))
    return found


def _audiences(tree: Object, _now: datetime) -> str:
    requests = lookup(tree, "spec", "tokenRequests")
    return UNSET if requests is None else ",".join(request.get("audience") or "" for request in requests)


_OFF_BY_DEFAULT = (
    *("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"),
    "preventPodSchedulingIfMissing",
)


class CSIDriverStrategy(ValidatingStrategy):
    returns_deleted_object = True
    allows_unconditional_update = False
    columns = (
        NAME,
        Column("AttachRequired", field("spec", "attachRequired", absent=True), "boolean"),
        Column("PodInfoOnMount", field("spec", "podInfoOnMount", absent=False), "boolean"),
        Column("StorageCapacity", field("spec", "storageCapacity", absent=False), "boolean"),
        Column("TokenRequests", _audiences),
        Column("RequiresRepublish", field("spec", "requiresRepublish", absent=False), "boolean"),
        Column("Modes", joined("spec", "volumeLifecycleModes", absent=NONE)),
        AGE,
    )

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        spec.setdefault("attachRequired", True)
        for name in _OFF_BY_DEFAULT:
            spec.setdefault(name, False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        spec["volumeLifecycleModes"] = spec.get("volumeLifecycleModes") or ["Persistent"]

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        # A new driver has no generation; the first change sets one.
        if tree.get("spec") != old.get("spec"):
            tree["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        policy, requests = spec.get("fsGroupPolicy"), spec.get("tokenRequests") or []
        found = []
        if policy is not None and policy not in _FS_GROUP_POLICIES:
            found.append(not_supported("spec.fsGroupPolicy", policy, _FS_GROUP_POLICIES))
        found += _validate_token_requests(requests, "spec.tokenRequests")
        for mode in spec.get("volumeLifecycleModes") or ():
            if mode not in _LIFECYCLE_MODES:
                found.append(not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES))
        period, in_secrets = spec.get("nodeAllocatableUpdatePeriodSeconds"), spec.get("serviceAccountTokenInSecrets")
        if period is not None and period < 10:
            why = "must be greater than or equal to 10 seconds"
            found.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why))
        if in_secrets is not None and not requests:
            why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            found.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, why))
        return found

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        requests = lookup(tree, "spec", "tokenRequests") or []
        known = None if old is None else lookup(old, "spec", "tokenRequests") or []
        wants = bool(requests) and requests != known
        return [_TOKEN_WARNING] if wants and lookup(tree, "spec", "serviceAccountTokenInSecrets") is None else []

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        spec, before = tree.get("spec") or {}, old.get("spec") or {}
        # The API reports the first field under this name.
        found = immutable(spec.get("attachRequired"), before.get("attachRequired"), "spec.attachedRequired")
        modes = "volumeLifecycleModes"
        return found + immutable(spec.get(modes), before.get(modes), f"spec.{modes}")


def _validate_token_requests(requests: list[Object], path: str) -> list[FieldError]:
    found = []
    audiences: set[str] = set()
    for position, request in enumerate(requests):
        place, audience, seconds = (
            index(path, position),
            request.get("audience") or "",
            request.get("expirationSeconds"),
        )
        if audience in audiences:
            found.append(duplicate(f"{place}.audience", audience))
            continue
        audiences.add(audience)
        if seconds is not None and seconds < 600:
            why = "may not specify a duration less than 10 minutes"
            found.append(invalid(f"{place}.expirationSeconds", seconds, why))
        if seconds is not None and seconds > 1 << 32:
            why = "may not specify a duration larger than 2^32 seconds"
            found.append(invalid(f"{place}.expirationSeconds", seconds, why))
    return found
