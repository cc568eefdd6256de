"""The rules of Nodes."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects import conditions
from setpoint.objects.field import (
    FieldError,
    FieldErrorType,
    child,
    duplicate,
    forbidden,
    index,
    internal,
    invalid,
    required,
)
from setpoint.objects.gotext import quote
from setpoint.objects.names import label_value
from setpoint.objects.tree import Json, Object
from setpoint.schema.formats.network import is_cidr
from setpoint.server.registry.kinds.base_strategy import drop_disabled, struct_text
from setpoint.server.registry.kinds.core.pod.defaults import round_amounts
from setpoint.server.registry.kinds.core.pod.resources import resource_amount
from setpoint.server.registry.kinds.core.pod.scheduling import validate_taint_effect
from setpoint.server.registry.kinds.printers.cells import NONE, UNKNOWN, Cell, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.address_warnings import cidr_warnings
from setpoint.server.registry.kinds.validation.values import cidr, positive, qualified, repeats
from setpoint.server.registry.strategy import Column, Strategy

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"
_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*\Z")
_FEATURE_BYTES = 253
_POD_RANGES = 'node updates may not change podCIDR except from "" to valid'


def _status(tree: Object, _now: datetime) -> Json:
    ready = conditions.find(lookup(tree, "status", "conditions") or [], "Ready")
    if ready is None:
        shown = "Unknown"
    else:
        shown = "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{shown},SchedulingDisabled" if lookup(tree, "spec", "unschedulable") else shown


def _roles(tree: Object, _now: datetime) -> Json:
    found = set()
    for name, value in (tree["metadata"].get("labels") or {}).items():
        if name.startswith(_ROLE_PREFIX):
            found.add(name.removeprefix(_ROLE_PREFIX))
        elif name == _ROLE:
            found.add(value)
    return ",".join(sorted(found - {""})) or NONE


def _address(kind: str) -> Cell:
    def cell(tree: Object, _now: datetime) -> Json:
        for address in lookup(tree, "status", "addresses") or ():
            if address.get("type") == kind:
                return address.get("address") or ""
        return NONE

    return cell


def _kernel(tree: Object, _now: datetime) -> Json:
    kernel = lookup(tree, "status", "nodeInfo", "kernelVersion") or UNKNOWN
    architecture = lookup(tree, "status", "nodeInfo", "architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


class NodeStrategy(Strategy):
    name_on_update = "before"
    creates_with_status = True
    selectable_fields: ClassVar = {
        "spec.unschedulable": lambda tree: "true" if lookup(tree, "spec", "unschedulable") else "false"
    }
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Status", _status),
        Column("Roles", _roles),
        AGE,
        Column("Version", field("status", "nodeInfo", "kubeletVersion")),
        Column("Internal-IP", _address("InternalIP"), priority=1),
        Column("External-IP", _address("ExternalIP"), priority=1),
        Column(
            "OS-Image",
            field("status", "nodeInfo", "osImage", absent=UNKNOWN),
            priority=1,
        ),
        Column("Kernel-Version", _kernel, priority=1),
        Column(
            "Container-Runtime",
            field("status", "nodeInfo", "containerRuntimeVersion", absent=UNKNOWN),
            priority=1,
        ),
    )

    def default(self, tree: Object) -> None:
        spec, status = tree.setdefault("spec", {}), tree.setdefault("status", {})
        one, several = spec.get("podCIDR"), spec.get("podCIDRs")
        if one and (not several or several[0] != one):
            spec["podCIDRs"] = [one]
        elif several and several[0] and not one:
            spec["podCIDR"] = several[0]
        if "capacity" in status:
            status.setdefault("allocatable", {**status["capacity"]})
        for name in ("capacity", "allocatable"):
            round_amounts(status.get(name) or {})

    def prepare_for_create(self, tree: Object) -> None:
        drop_disabled(tree, None, "spec.configSource", "status.config", "spec.podPreemptionPolicy")

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if subresource == "status":
            drop_disabled(tree, old, "status.config")
        else:
            drop_disabled(tree, old, "spec.configSource", "spec.podPreemptionPolicy")

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        spec = tree.get("spec") or {}
        found = ["spec.configSource: the feature is removed"] if "configSource" in spec else []
        if spec.get("externalID"):
            found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for position, text in enumerate(spec.get("podCIDRs") or ()):
            found += cidr_warnings(text, index("spec.podCIDRs", position))
        return found

    def validate(self, tree: Object) -> list[FieldError]:
        spec = tree["spec"]
        found = _validate_taints(spec.get("taints") or [], "metadata.taints")
        found += _validate_amounts(tree["status"])
        swap = lookup(tree, "status", "nodeInfo", "swap", "capacity")
        found += [] if swap is None else positive(swap, "metadata.nodeSwapStatus.capacity")
        found += _validate_features(tree["status"].get("declaredFeatures") or [], "status.declaredFeatures")
        ranges = spec.get("podCIDRs") or []
        for position, text in enumerate(ranges):
            found += cidr(text, index("spec.podCIDRs", position))
        families = {":" in text for text in ranges}
        unread = next((at for at, text in enumerate(ranges) if not is_cidr(text)), None)
        if len(ranges) > 1 and unread is not None:
            why = f"invalid CIDR[{unread}]: <nil> (invalid CIDR address: {ranges[unread]})"
            text = f"invalid PodCIDRs. failed to check with dual stack with error:{why}"
            found.append(internal("spec.podCIDRs", text))
        if len(ranges) > 1 and (unread is not None or len(families) < 2 or len(ranges) > 2):
            why = "may specify no more than one CIDR for each IP family"
            found.append(invalid("spec.podCIDRs", ranges, why))
        return found

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        spec, stored = tree["spec"], old.get("spec") or {}
        found = [] if subresource == "status" else self.validate(tree)
        status = tree.get("status") or {}
        found += _validate_amounts(status)
        found += _validate_features(status.get("declaredFeatures") or [], "status.declaredFeatures")
        addresses = lookup(tree, "status", "addresses") or []
        for position, (address, again) in enumerate(zip(addresses, repeats(addresses), strict=True)):
            if again:
                shown = struct_text(Type=address.get("type") or "", Address=address.get("address") or "")
                found.append(duplicate(index("status.addresses", position), shown))
        before = stored.get("podCIDRs") or []
        if before and spec.get("podCIDRs") != before:
            found.append(forbidden("spec.podCIDRs", _POD_RANGES))
        provider = stored.get("providerID")
        if provider and spec.get("providerID") != provider:
            change = "modified" if spec.get("providerID") else "cleared"
            found.append(invalid("spec.providerID", None, f"field cannot be {change} once set"))
        found += _validate_taints(spec.get("taints") or [], "metadata.taints")
        if spec.get("externalID") != stored.get("externalID"):
            found.append(forbidden("spec.externalID", "may not be updated"))
        return found


def _validate_taints(taints: list[Object], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        place = index(path, position)
        name, value, effect = taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
        found += qualified(name, child(place, "key"))
        if messages := label_value(value):
            found.append(invalid(child(place, "value"), value, ";".join(messages)))
        where = child(place, "effect")
        found += validate_taint_effect(effect, where) if effect else [required(where)]
        if (name, effect) in seen:
            why = "taints must be unique by key and effect pair"
            shown = struct_text(Key=name, Value=value, Effect=effect, TimeAdded=taint.get("timeAdded"))
            found.append(FieldError(FieldErrorType.DUPLICATE, place, shown, why))
        seen.add((name, effect))
    return found


def _validate_features(names: list[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, name in enumerate(names):
        if len(name.encode()) > _FEATURE_BYTES:
            why = f"invalid feature name {quote(name)}: must be no more than {_FEATURE_BYTES} characters"
            found.append(invalid(index(path, position), name, why))
        elif not _FEATURE.match(name):
            why = (
                f"invalid feature name {quote(name)}: must start with an UpperCamelCase segment, with subsequent "
                "segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric "
                "characters and slashes"
            )
            found.append(invalid(index(path, position), name, why))
        after = names[position + 1] if position + 1 < len(names) else None
        if after == name:
            found.append(duplicate(index(path, position + 1), after))
        elif after is not None and name.encode() > after.encode():
            found.append(invalid(index(path, position + 1), after, "list must be sorted alphabetically"))
    return found


def _validate_amounts(status: Object) -> list[FieldError]:
    found: list[FieldError] = []
    for kind in ("capacity", "allocatable"):
        for name, value in (status.get(kind) or {}).items():
            found += resource_amount(name, value, f"status.{kind}.{name}")
    return found
