"""Devices that pods can claim: DeviceClasses, ResourceClaims and device taints."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.field import FieldError, forbidden, invalid, too_many
from setpoint.objects.names import dns1123_subdomain, qualified_name
from setpoint.objects.times import has_fraction
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy
from setpoint.server.registry.kinds.core.claim_spec import validate_template_metadata
from setpoint.server.registry.kinds.printers.cells import field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, age
from setpoint.server.registry.kinds.resource.device_claims import (
    STATUS_RULES,
    declared_rules,
    validate_devices,
    validate_selectors,
    validate_status,
)
from setpoint.server.registry.kinds.resource.values import (
    validate_configuration,
    validate_driver,
    validate_list,
    validate_pool,
    validate_taint,
)
from setpoint.server.registry.kinds.validation.conditions import validate_conditions
from setpoint.server.registry.kinds.validation.values import label, wrong
from setpoint.server.registry.strategy import Column

_MAX_CONFIG, _MAX_CONDITIONS = 32, 8
_FRACTION = re.compile(r"T\d\d:\d\d:\d\d\.\d*[1-9]")


class DeviceClassStrategy(ValidatingStrategy):
    declared_rules = (
        "metadata.name Invalid",
        "spec.selectors TooMany",
        "spec.config TooMany",
        "spec.config[*].opaque.driver Required",
        "spec.config[*].opaque.driver Invalid",
        "spec.config[*].opaque.driver TooLong",
        "spec.extendedResourceName Invalid",
    )
    keeps_generation = True
    returns_deleted_object = True
    status_fields = ()
    columns = (NAME, AGE)

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        # The generated name is validated, not its prefix.
        return () if prefix else dns1123_subdomain(name)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec, before = tree.get("spec") or {}, (old or {}).get("spec") or {}
        selectors, config, name = (
            spec.get("selectors") or [],
            spec.get("config") or [],
            spec.get("extendedResourceName"),
        )
        found: list[FieldError] = []
        if old is None or selectors != before.get("selectors"):
            found += validate_selectors(selectors, "spec.selectors")
        found += validate_list(config, "spec.config", _MAX_CONFIG, validate_configuration)
        return found if name is None else found + _validate_extended_name(name, "spec.extendedResourceName")


def _validate_extended_name(name: str, path: str) -> list[FieldError]:
    found = []
    if "/" not in name:
        found.append(invalid(path, name, "a name must be a domain-prefixed path, such as 'example.com/my-prop'"))
    elif "kubernetes.io/" in name:
        found.append(invalid(path, name, 'must not have "kubernetes.io/" domain'))
    if name.startswith("requests."):
        found.append(invalid(path, name, 'must not have "requests." prefix'))
    return found + wrong(path, name, qualified_name(f"requests.{name}"))


def _state(tree: Object, _now: datetime) -> str:
    deleting, status = "deletionTimestamp" in (tree.get("metadata") or {}), tree.get("status") or {}
    states = ["deleted"] if deleting else []
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not deleting:
        states.append("pending")
    return ",".join(states)


_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_ADMIN = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"


def _allows_admin_access(namespace: Object) -> bool:
    return (lookup(namespace, "metadata", "labels") or {}).get(_ADMIN_LABEL) == "true"


def _admin_errors(devices: Object, namespace: Object) -> list[FieldError]:
    """Returns the error of the first request for administrative access, if the namespace does not allow that. The path
    is the same for claims and for templates, as on kube-apiserver."""
    for place, request in enumerate(devices.get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            if _allows_admin_access(namespace):
                return []
            return [forbidden(f"spec.devices.requests[{place}].adminAccess", _ADMIN)]
    return []


class ResourceClaimStrategy(ValidatingStrategy):
    declared_rules = ("spec Invalid field is immutable", *declared_rules("spec.devices"), *STATUS_RULES)
    name_on_update = "before"
    returns_deleted_object = True
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    reads_namespace = True
    immutable_unshown = ("spec",)
    columns = (NAME, Column("State", _state), AGE)

    def namespace_errors(
        self, tree: Object, old: Object | None, namespace: Object, subresource: str
    ) -> list[FieldError]:
        if old is None:
            return _admin_errors(lookup(tree, "spec", "devices") or {}, namespace)
        path = ("status", "allocation", "devices", "results")
        results, before = lookup(tree, *path) or (), lookup(old, *path) or ()
        if subresource != "status" or any(result.get("adminAccess") for result in before):
            return []
        wanted = next((place for place, result in enumerate(results) if result.get("adminAccess")), None)
        if wanted is None or _allows_admin_access(namespace):
            return []
        return [forbidden(f"{'.'.join(path)}[{wanted}].adminAccess", _ADMIN)]

    def default(self, tree: Object) -> None:
        _default_devices(lookup(tree, "spec", "devices") or {})

    def prepare_for_create(self, tree: Object) -> None:
        _drop_derived(lookup(tree, "spec", "devices") or {})

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        _drop_derived(lookup(tree, "spec", "devices") or {})
        for result in lookup(tree, "status", "allocation", "devices", "results") or ():
            result.pop("skipNodeOperations", None)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        return validate_devices(lookup(tree, "spec", "devices") or {}, "spec.devices") if old is None else []

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        return validate_status(tree, old)


class ResourceClaimTemplateStrategy(ValidatingStrategy):
    validates_empty = True
    declared_rules = declared_rules("spec.spec.devices")
    name_on_update = "before"
    returns_deleted_object = True
    status_fields = ()
    reads_namespace = True
    immutable = ("spec",)
    shown_as: ClassVar[Mapping[str, str]] = {"spec": "resource.ResourceClaimTemplateSpec"}
    columns = (NAME, AGE)

    def namespace_errors(
        self, tree: Object, old: Object | None, namespace: Object, subresource: str
    ) -> list[FieldError]:
        return _admin_errors(lookup(tree, "spec", "spec", "devices") or {}, namespace) if old is None else []

    def default(self, tree: Object) -> None:
        _default_devices(lookup(tree, "spec", "spec", "devices") or {})

    def prepare_for_create(self, tree: Object) -> None:
        _drop_derived(lookup(tree, "spec", "spec", "devices") or {})

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        _drop_derived(lookup(tree, "spec", "spec", "devices") or {})

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found = validate_template_metadata(lookup(tree, "spec", "metadata") or {}, "spec.metadata")
        return found + validate_devices(lookup(tree, "spec", "spec", "devices") or {}, "spec.spec.devices")


def _drop_derived(devices: Object) -> None:
    """Removes derived attributes, a feature that is off."""
    for request in devices.get("requests") or ():
        for asked in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            asked.pop("derivedAttributes", None)


def _default_devices(devices: Object) -> None:
    for request in devices.get("requests") or ():
        exact = request.get("exactly")
        for asked in [*([] if exact is None else [exact]), *(request.get("firstAvailable") or ())]:
            asked["allocationMode"] = asked.get("allocationMode") or "ExactCount"
            if asked["allocationMode"] == "ExactCount":
                asked["count"] = asked.get("count") or 1


class DeviceTaintRuleStrategy(ValidatingStrategy):
    keeps_generation = True
    allows_unconditional_update = False
    unconditional_versions = ("v1alpha3", "v1beta2")
    defaults_times = True
    compares_sent = True
    stamps = True
    declared_rules = ("spec.taint.effect Required", "spec.taint.effect NotSupported")
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    columns = (
        NAME,
        Column("Key", field("spec", "taint", "key")),
        Column("Value", field("spec", "taint", "value")),
        Column("Effect", field("spec", "taint", "effect")),
        Column("TimeAdded", age("spec", "taint", "timeAdded", absent="")),
        AGE,
    )

    def default_times(self, tree: Object, now: str) -> None:
        taint = lookup(tree, "spec", "taint")
        if taint is not None and not taint.get("timeAdded"):
            taint["timeAdded"] = now

    def is_change(self, sent: Object) -> bool:
        # The fraction of a second is not stored.
        return _FRACTION.search(str(lookup(sent, "spec", "taint", "timeAdded"))) is not None

    def stamp(self, tree: Object, old: Object, now: str, sent: Object) -> None:
        taint, before = lookup(tree, "spec", "taint") or {}, lookup(old, "spec", "taint") or {}
        is_same = taint.get("timeAdded") == before.get("timeAdded")
        if has_fraction(lookup(sent, "spec", "taint", "timeAdded")):
            is_same = False
        if taint.get("effect") != before.get("effect") and is_same:
            taint["timeAdded"] = now

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found: list[FieldError] = []
        for name, validate in (("driver", validate_driver), ("pool", validate_pool), ("device", label)):
            value = lookup(tree, "spec", "deviceSelector", name)
            found += [] if value is None else validate(value, f"spec.deviceSelector.{name}")
        before = None if old is None else lookup(old, "spec", "taint") or {}
        return found + validate_taint(lookup(tree, "spec", "taint") or {}, before, "spec.taint")

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        given, path = lookup(tree, "status", "conditions") or [], "status.conditions"
        found = validate_conditions(given, path)
        return [*found, too_many(path, len(given), _MAX_CONDITIONS)] if len(given) > _MAX_CONDITIONS else found
