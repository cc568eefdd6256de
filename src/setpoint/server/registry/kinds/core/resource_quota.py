"""The rules of ResourceQuotas and LimitRanges: limits of a namespace, and of single objects in a namespace."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID, uuid5

from setpoint.objects import codec
from setpoint.objects.field import FieldError, child, duplicate, forbidden, index, invalid, key, required
from setpoint.objects.gotext import RawJson
from setpoint.objects.names import qualified_name
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.core.pod.defaults import round_amounts
from setpoint.server.registry.kinds.core.pod.resources import (
    QUOTA_RESOURCES,
    container_resource_name,
    is_huge_pages,
    is_native,
    resource_amount,
    resource_name,
)
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.printers.columns import AGE, CREATED_AT, NAME
from setpoint.server.registry.kinds.validation.values import IMMUTABLE, amount, wrong
from setpoint.server.registry.strategy import Column, Strategy

# The namespace of the generated names of LimitRanges, which need no name.
_NAMES = UUID("6f1f1c9e-0f0b-4c0a-9a55-52d9a7a2f3f1")
_NOT_A_QUOTA = "must be a standard resource for quota"
_SCOPES = {
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
    *("CrossNamespacePodAffinity", "VolumeAttributesClass"),
}
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_POD_RESOURCES = {
    *("pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage"),
    *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
}
_UNSUPPORTED = "unsupported scope applied to resource"
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


# --- quotas ---


def _amounts(tree: Object, limits: bool) -> str:
    hard, used = lookup(tree, "status", "hard") or {}, lookup(tree, "status", "used") or {}
    return ", ".join(
        f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard) if name.startswith("limits.") == limits
    )


def _requested(tree: Object, _now: datetime) -> Json:
    return _amounts(tree, limits=False)


def _limited(tree: Object, _now: datetime) -> Json:
    return _amounts(tree, limits=True)


class ResourceQuotaStrategy(Strategy):
    returns_deleted_object = True
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Request", _requested),
        Column("Limit", _limited),
        AGE,
    )

    def default(self, tree: Object) -> None:
        round_amounts(lookup(tree, "spec", "hard") or {})
        for name in ("hard", "used"):
            round_amounts(lookup(tree, "status", name) or {})

    def prepare_for_create(self, tree: Object) -> None:
        tree["status"] = {}

    def validate(self, tree: Object) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = _validate_hard(spec.get("hard") or {}, "spec.hard")
        return found + _validate_scopes(spec) + _validate_selector(spec)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            status = tree.get("status") or {}
            found = _validate_hard(status.get("hard") or {}, "status.hard")
            return found + _validate_hard(status.get("used") or {}, "status.used")
        found = self.validate(tree)
        scopes = lookup(tree, "spec", "scopes") or []
        if set(scopes) != set(lookup(old, "spec", "scopes") or ()):
            found.append(invalid("spec.scopes", scopes, IMMUTABLE))
        return found


def _is_quota_resource(name: str) -> bool:
    return name in QUOTA_RESOURCES or is_huge_pages(name.removeprefix("requests."))


def _validate_hard(hard: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name, value in hard.items():
        place = key(path, name)
        found += resource_name(name, place)
        if "/" not in name and not _is_quota_resource(name):
            found.append(invalid(place, name, _NOT_A_QUOTA))
        found += resource_amount(name, value, place)
    return found


def _fits(scope: str, resource: str) -> bool:
    """Returns True if a scope can be applied to a resource of a quota."""
    if scope in ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"):
        return resource in _POD_RESOURCES
    if scope == "BestEffort":
        return resource == "pods"
    if scope == "VolumeAttributesClass":
        return resource in ("persistentvolumeclaims", "requests.storage")
    return True


def _unfit(scope: str, spec: Object) -> list[str]:
    return [name for name in spec.get("hard") or () if _is_quota_resource(name) and not _fits(scope, name)]


def _validate_scopes(spec: Object) -> list[FieldError]:
    scopes = spec.get("scopes") or []
    path = "spec.scopes"
    found: list[FieldError] = []
    for scope in scopes:
        if scope not in _SCOPES:
            found.append(invalid(path, scopes, "unsupported scope"))
        found += [invalid(path, scopes, _UNSUPPORTED) for _ in _unfit(scope, spec)]
    clashes = [pair for pair in _CONFLICTS if set(pair) <= set(scopes)]
    return found + [invalid(path, scopes, "conflicting scopes") for _ in clashes]


def _validate_selector(spec: Object) -> list[FieldError]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return []
    path = "spec.scopeSelector.matchExpressions"
    found: list[FieldError] = []
    scopes = set()
    for expression in selector.get("matchExpressions") or ():
        scope, operator = expression.get("scopeName") or "", expression.get("operator") or ""
        values = expression.get("values") or []
        scopes.add(scope)
        if scope not in _SCOPES:
            found.append(invalid(child(path, "scopeName"), scope, "unsupported scope"))
        found += [invalid(path, _shown(selector), _UNSUPPORTED) for _ in _unfit(scope, spec)]
        if scope in _SCOPES - {"PriorityClass", "VolumeAttributesClass"} and operator != "Exists":
            found.append(invalid(child(path, "operator"), operator, _ONLY_EXISTS))
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                found.append(required(child(path, "values"), why))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                found.append(invalid(child(path, "values"), values, why))
        else:
            found.append(invalid(child(path, "operator"), operator, "not a valid selector operator"))
    clashes = [pair for pair in _CONFLICTS if set(pair) <= scopes]
    return found + [invalid(path, spec.get("scopes"), "conflicting scopes") for _ in clashes]


def _shown(selector: Object) -> RawJson:
    """Returns a selector in the form of kube-apiserver's internal struct."""
    rows = [
        {
            "ScopeName": row.get("scopeName") or "",
            "Operator": row.get("operator") or "",
            "Values": row.get("values"),
        }
        for row in selector.get("matchExpressions") or ()
    ]
    return RawJson(codec.encode({"MatchExpressions": rows}).decode())


# --- limits ---


class LimitRangeStrategy(Strategy):
    name_on_update = "before"
    allows_create_on_update = True
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (NAME, CREATED_AT)

    def prepare_for_create(self, tree: Object) -> None:
        metadata = tree["metadata"]
        if not metadata.get("name"):
            metadata["name"] = str(uuid5(_NAMES, metadata["uid"]))

    def default(self, tree: Object) -> None:
        for limit in lookup(tree, "spec", "limits") or ():
            for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
                round_amounts(limit.get(name) or {})
            if limit.get("type") == "Container":
                _default_limits(limit)

    def validate(self, tree: Object) -> list[FieldError]:
        found: list[FieldError] = []
        types: set[str] = set()
        for position, limit in enumerate(lookup(tree, "spec", "limits") or ()):
            path = index("spec.limits", position)
            kind = limit.get("type") or ""
            found += _validate_type(kind, child(path, "type"))
            if kind in types:
                found.append(duplicate(child(path, "type"), kind))
            types.add(kind)
            found += _validate_limit(limit, kind, path)
        return found

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        return self.validate(tree)


def _default_limits(limit: Object) -> None:
    """Sets the missing limits of a container: defaults from the maximum, default requests from the defaults or the
    minimum."""
    default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    request = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {})}
    if default:
        limit["default"] = default
    if request:
        limit["defaultRequest"] = request


def _validate_type(kind: str, path: str) -> list[FieldError]:
    if errors := wrong(path, kind, qualified_name(kind)):
        return errors
    if "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
        return [invalid(path, kind, "must be a standard limit type or fully qualified")]
    return []


def _validate_limit(limit: Object, kind: str, path: str) -> list[FieldError]:
    name_rule = container_resource_name if kind in ("Pod", "Container") else resource_name
    found: list[FieldError] = []
    amounts: dict[str, dict[str, Quantity]] = {}
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        given = limit.get(field) or {}
        place = child(path, field)
        if kind == "Pod" and field in ("default", "defaultRequest"):
            if given:
                found.append(forbidden(place, "may not be specified when `type` is 'Pod'"))
            given = {}
        for name in given:
            found += name_rule(name, key(place, name))
        amounts[field] = {name: amount(value) for name, value in given.items()}
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(name) or {}) for name in ("min", "max")):
        why = "either minimum or maximum storage value is required, but neither was provided"
        found.append(required(child(path, "limits"), why))
    for name in dict.fromkeys(name for given in amounts.values() for name in given):
        found += _compare(name, {field: given[name] for field, given in amounts.items() if name in given}, path)
    return found


# Pairs of fields of which the first must not exceed the second: with the path, the value and the text of the error.
_ORDERS = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        *("defaultRequest", "max", "defaultRequest", "defaultRequest"),
        "default request value {} is greater than max value {}",
    ),
    (
        *("defaultRequest", "default", "defaultRequest", "defaultRequest"),
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def _compare(name: str, amounts: dict[str, Quantity], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for low, high, place, shown, why in _ORDERS:
        if low in amounts and high in amounts and amounts[low] > amounts[high]:
            where = key(child(path, place), name)
            found.append(invalid(where, str(amounts[shown]), why.format(amounts[low], amounts[high])))
    ratio, least, most = amounts.get("maxLimitRequestRatio"), amounts.get("min"), amounts.get("max")
    if ratio is not None:
        where = key(child(path, "maxLimitRequestRatio"), name)
        if ratio < Quantity(1):
            found.append(invalid(where, str(ratio), f"ratio {ratio} is less than 1"))
        if least is not None and most is not None and least.sign:
            limit = most.as_float() / least.as_float()
            if ratio.as_float() > limit:
                found.append(invalid(where, str(ratio), f"ratio {ratio} is greater than max/min = {limit:f}"))
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    fixed = is_huge_pages(name) or not is_native(name)
    if fixed and default is not None and request is not None and default != request:
        why = f"default value {default} must equal to defaultRequest value {request} in {name}"
        found.append(invalid(key(child(path, "defaultRequest"), name), str(request), why))
    return found
