"""Devices that pods can claim: DeviceClasses, ResourceClaims, ResourceSlices, and device taints."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from setpoint.objects.field import (
    FieldError,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from setpoint.objects.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy
from setpoint.server.registry.kinds.printers.cells import field, lookup, selectable
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, age
from setpoint.server.registry.kinds.validation.values import enum, wrong
from setpoint.server.registry.strategy import Column

_MAX_REQUESTS, _MAX_SELECTORS, _MAX_CONSTRAINTS, _MAX_DEVICES = 32, 32, 32, 128
_MAX_EXPRESSION = 10 * 1024
_MODES = ("All", "ExactCount")
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


class DeviceClassStrategy(ValidatingStrategy):
    keeps_generation = True
    returns_deleted_object = True
    status_fields = ()
    columns = (NAME, AGE)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        return _validate_selectors(lookup(tree, "spec", "selectors") or [], "spec.selectors")


def _validate_selectors(selectors: list[Object], path: str) -> list[FieldError]:
    """Validates CEL selectors of devices. Their variables depend on the driver, so only the syntax is checked."""
    found = [too_many(path, len(selectors), _MAX_SELECTORS)] if len(selectors) > _MAX_SELECTORS else []
    for position, selector in enumerate(selectors):
        place = f"{index(path, position)}.cel"
        if selector.get("cel") is None:
            found.append(required(place))
        else:
            found += _validate_expression(selector["cel"].get("expression") or "", f"{place}.expression")
    return found


def _validate_expression(expression: str, path: str) -> list[FieldError]:
    # CEL is large, and is imported only if needed.
    from setpoint.server.registry.kinds.admissionregistration.expressions import syntax_problem

    if not expression:
        return [required(path)]
    if len(expression.encode()) > _MAX_EXPRESSION:
        return [too_long(path, _MAX_EXPRESSION)]
    problem = syntax_problem(expression)
    return [invalid(path, expression, problem)] if problem else []


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

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        return _validate_devices(lookup(tree, "spec", "devices") or {}, "spec.devices") if old is None else []


class ResourceClaimTemplateStrategy(ValidatingStrategy):
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

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        devices = lookup(tree, "spec", "spec", "devices") or {}
        return _validate_devices(devices, "spec.spec.devices") if old is None else []


def _default_devices(devices: Object) -> None:
    for request in devices.get("requests") or ():
        exact = request.get("exactly")
        for asked in [*([] if exact is None else [exact]), *(request.get("firstAvailable") or ())]:
            asked["allocationMode"] = asked.get("allocationMode") or "ExactCount"
            if asked["allocationMode"] == "ExactCount":
                asked["count"] = asked.get("count") or 1


def _validate_devices(devices: Object, path: str) -> list[FieldError]:
    requests, place = devices.get("requests") or [], f"{path}.requests"
    found = [too_many(place, len(requests), _MAX_REQUESTS)] if len(requests) > _MAX_REQUESTS else []
    names: set[str] = set()
    for position, request in enumerate(requests):
        where, name = index(place, position), request.get("name") or ""
        found += wrong(f"{where}.name", name, dns1123_label(name)) if name else [required(f"{where}.name")]
        if name and name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        found += _validate_request(request, where)
    constraints = devices.get("constraints") or []
    if len(constraints) > _MAX_CONSTRAINTS:
        found.append(too_many(f"{path}.constraints", len(constraints), _MAX_CONSTRAINTS))
    for position, constraint in enumerate(constraints):
        where = index(f"{path}.constraints", position)
        for number, wanted in enumerate(constraint.get("requests") or ()):
            if wanted.partition("/")[0] not in names:
                why = "must be the name of a request in the claim or the name of a request and a subrequest"
                found.append(invalid(index(f"{where}.requests", number), wanted, f"{why} separated by '/'"))
    return found


def _validate_request(request: Object, path: str) -> list[FieldError]:
    exact, several = request.get("exactly"), request.get("firstAvailable") or []
    if (exact is None) == (not several):
        why = "exactly one of `exactly` or `firstAvailable` is required"
        return [required(path, why) if exact is None else invalid(path, None, why)]
    if exact is not None:
        return _validate_requested(exact, f"{path}.exactly")
    found: list[FieldError] = []
    for position, asked in enumerate(several):
        where, name = index(f"{path}.firstAvailable", position), asked.get("name") or ""
        found += wrong(f"{where}.name", name, dns1123_label(name)) if name else [required(f"{where}.name")]
        found += _validate_requested(asked, where)
    return found


def _validate_requested(requested: Object, path: str) -> list[FieldError]:
    name, mode, count = (
        requested.get("deviceClassName") or "",
        requested.get("allocationMode") or "",
        requested.get("count") or 0,
    )
    place = f"{path}.deviceClassName"
    found = wrong(place, name, dns1123_subdomain(name)) if name else [required(place)]
    found += _validate_selectors(requested.get("selectors") or [], f"{path}.selectors")
    if mode == "All":
        if count:
            found.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount":
        if count <= 0:
            found.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        found.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    return found


class ResourceSliceStrategy(ValidatingStrategy):
    keeps_generation = True
    returns_deleted_object = True
    status_fields = ()
    immutable = ("spec.driver", "spec.pool.name", "spec.nodeName")
    selectable_fields = {  # noqa: RUF012 - a ClassVar of the base class
        f"spec.{name}": selectable("spec", name) for name in ("nodeName", "driver")
    }
    columns = (
        NAME,
        Column("Node", field("spec", "nodeName")),
        Column("Driver", field("spec", "driver")),
        Column("Pool", field("spec", "pool", "name")),
        AGE,
    )

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        driver, pool, devices = spec.get("driver") or "", spec.get("pool") or {}, spec.get("devices") or []
        found = wrong("spec.driver", driver, dns1123_subdomain(driver)) if driver else [required("spec.driver")]
        found += [] if pool.get("name") else [required("spec.pool.name")]
        slices = pool.get("resourceSliceCount") or 0
        if slices <= 0:
            found.append(invalid("spec.pool.resourceSliceCount", slices, "must be greater than zero"))
        given = [name for name in _PLACES if spec.get(name)]
        if len(given) != 1:
            why = f"exactly one of `{'`, `'.join(_PLACES[:-1])}`, or `{_PLACES[-1]}` is required"
            found.append(invalid("spec", None, why) if given else required("spec", why))
        if len(devices) > _MAX_DEVICES:
            found.append(too_many("spec.devices", len(devices), _MAX_DEVICES))
        names: set[str] = set()
        for position, device in enumerate(devices):
            path, name = f"{index('spec.devices', position)}.name", device.get("name") or ""
            found += wrong(path, name, dns1123_label(name)) if name else [required(path)]
            if name and name in names:
                found.append(duplicate(path, name))
            names.add(name)
        return found


class DeviceTaintRuleStrategy(ValidatingStrategy):
    keeps_generation = True
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

    def prepare_for_create(self, tree: Object) -> None:
        taint = lookup(tree, "spec", "taint")
        if taint is not None and not taint.get("timeAdded"):
            taint["timeAdded"] = tree["metadata"].get("creationTimestamp")

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        taint, path = lookup(tree, "spec", "taint") or {}, "spec.taint"
        found = wrong(f"{path}.key", taint.get("key") or "", qualified_name(taint.get("key") or ""))
        return found + enum(taint.get("effect") or "", f"{path}.effect", _EFFECTS)
