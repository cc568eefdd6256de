"""Validation of the spec of an autoscaler: replicas, metrics, and scaling behavior."""

from collections.abc import Callable

from setpoint.objects.field import FieldError, forbidden, index, invalid, not_supported, required
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.names import dns1123_label, path_segment
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.core.pod.resources import container_resource_name
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.validation.references import path_segments
from setpoint.server.registry.kinds.validation.values import amount, non_negative_amount, wrong

_MAX_PERIOD, _MAX_WINDOW = 1800, 3600
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")
_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
# The order in which the sources of a metric are checked: only the first one present is validated.
_ORDER = ("object", "external", "pods", "resource", "containerResource")
_NO_GROUP = "apiVersion must specify API group"


def validate_spec(spec: Object, before: Json, path: str) -> list[FieldError]:
    """Validates a spec; `before` is the stored spec, None for a new object."""
    found = []
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 0:
        found.append(invalid(f"{path}.minReplicas", least, "must be greater than or equal to 0"))
    if most == 0:
        found.append(required(f"{path}.maxReplicas"))
    elif most < 0:
        found.append(invalid(f"{path}.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        found.append(invalid(f"{path}.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target = spec.get("scaleTargetRef") or {}
    found += path_segments(target, f"{path}.scaleTargetRef", "kind", "name")
    found += _validate_target_version(target, (before or {}).get("scaleTargetRef"), f"{path}.scaleTargetRef.apiVersion")
    metrics = spec.get("metrics") or []
    for position, metric in enumerate(metrics):
        found += _validate_metric(metric, index(f"{path}.metrics", position))
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        found.append(forbidden(f"{path}.metrics", why))
    for name in ("scaleUp", "scaleDown"):
        rules = lookup(spec, "behavior", name)
        if rules is not None:
            found += _validate_rules(rules, f"{path}.behavior.{name}")
    return found


def _validate_target_version(target: Object, before: Json, path: str) -> list[FieldError]:
    """Validates that the target is not of the core group, except a ReplicationController."""
    version, kind = target.get("apiVersion") or "", target.get("kind") or ""
    if before is not None and (before.get("apiVersion") or "", before.get("kind") or "") == (version, kind):
        return []
    return _validate_version(version, path, any_group=kind == "ReplicationController")


def _validate_version(version: str, path: str, *, any_group: bool) -> list[FieldError]:
    try:
        group = GroupVersion.parse(version).group
    except ValueError as error:
        return [invalid(path, version, str(error))]
    return [] if group or any_group else [invalid(path, version, _NO_GROUP)]


def _validate_rules(rules: Object, path: str) -> list[FieldError]:
    found = []
    window, selected = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        place = f"{path}.stabilizationWindowSeconds"
        found.append(invalid(place, window, "must be greater than or equal to zero"))
    if window is not None and window > _MAX_WINDOW:
        place = f"{path}.stabilizationWindowSeconds"
        found.append(invalid(place, window, f"must be less than or equal to {_MAX_WINDOW}"))
    if selected is not None and selected not in _SELECT_POLICIES:
        found.append(not_supported(f"{path}.selectPolicy", selected, _SELECT_POLICIES))
    policies = rules.get("policies") or []
    if not policies:
        found.append(required(f"{path}.policies", "must specify at least one Policy"))
    for position, policy in enumerate(policies):
        found += _validate_policy(policy, index(f"{path}.policies", position))
    if rules.get("tolerance") is not None:
        found += non_negative_amount(rules["tolerance"], f"{path}.tolerance")
    return found


def _validate_policy(policy: Object, path: str) -> list[FieldError]:
    kind, value, period = policy.get("type") or "", policy.get("value") or 0, policy.get("periodSeconds") or 0
    found = [] if kind in _POLICIES else [not_supported(f"{path}.type", kind, _POLICIES)]
    if value <= 0:
        found.append(invalid(f"{path}.value", value, "must be greater than zero"))
    if period <= 0:
        found.append(invalid(f"{path}.periodSeconds", period, "must be greater than zero"))
    if period > _MAX_PERIOD:
        found.append(invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}"))
    return found


def _validate_metric(metric: Object, path: str) -> list[FieldError]:
    kind = metric.get("type") or ""
    found = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    expected = _SOURCES.get(kind)
    if expected is None:
        found.append(not_supported(f"{path}.type", kind, sorted(_SOURCES)))
    present = [name for name in _ORDER if metric.get(name) is not None]
    if present:
        found += _VALIDATORS[present[0]](metric[present[0]], f"{path}.{present[0]}")
    if expected is not None and metric.get(expected) is None:
        found.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        others = (name for name in present if name != expected)
        found += [forbidden(f"{path}.{name}", "must populate the given metric source only") for name in others]
    return found


def _validate_identifier(source: Object, path: str) -> list[FieldError]:
    name, place = lookup(source, "metric", "name") or "", f"{path}.metric.name"
    return wrong(place, name, path_segment(name)) if name else [required(place, "must specify a metric name")]


def _validate_target(source: Object, path: str) -> list[FieldError]:
    target, place = source.get("target") or {}, f"{path}.target"
    kind, utilization = target.get("type") or "", target.get("averageUtilization")
    found = [] if kind else [required(f"{place}.type", "must specify a metric target type")]
    if kind not in ("Utilization", "Value", "AverageValue"):
        found.append(invalid(f"{place}.type", kind, "must be either Utilization, Value, or AverageValue"))
    found += [
        invalid(f"{place}.{name}", str(target[name]), "must be positive")
        for name in ("value", "averageValue")
        if target.get(name) is not None and amount(target[name]).sign <= 0
    ]
    if utilization is not None and utilization < 1:
        found.append(invalid(f"{place}.averageUtilization", utilization, "must be greater than 0"))
    return found


def _has(source: Object, name: str) -> bool:
    return lookup(source, "target", name) is not None


def _object(source: Object, path: str) -> list[FieldError]:
    described, place = source.get("describedObject") or {}, f"{path}.describedObject"
    found = path_segments(described, place, "kind", "name")
    found += _validate_version(described.get("apiVersion") or "", f"{place}.apiVersion", any_group=True)
    found += _validate_identifier(source, path) + _validate_target(source, path)
    if not _has(source, "value") and not _has(source, "averageValue"):
        found.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return found


def _external(source: Object, path: str) -> list[FieldError]:
    found = _validate_identifier(source, path) + _validate_target(source, path)
    value, average = _has(source, "value"), _has(source, "averageValue")
    if not value and not average:
        why = "must set either a target value for metric or a per-pod target"
        found.append(required(f"{path}.target.averageValue", why))
    if value and average:
        why = "may not set both a target value for metric and a per-pod target"
        found.append(forbidden(f"{path}.target.value", why))
    return found


def _pods(source: Object, path: str) -> list[FieldError]:
    found = _validate_identifier(source, path) + _validate_target(source, path)
    if not _has(source, "averageValue"):
        found.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return found


def _resource(source: Object, path: str) -> list[FieldError]:
    found = [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]
    return found + _validate_resource_target(source, path)


def _container_resource(source: Object, path: str) -> list[FieldError]:
    name, container = source.get("name") or "", source.get("container") or ""
    found = [required(f"{path}.name", "must specify a resource name")]
    if name:
        found = container_resource_name(name, f"{path}.name")
    if container:
        found += wrong(f"{path}.container", container, dns1123_label(container))
    else:
        found.append(required(f"{path}.container", "must specify a container"))
    return found + _validate_resource_target(source, path)


def _validate_resource_target(source: Object, path: str) -> list[FieldError]:
    found = _validate_target(source, path)
    utilization, average = _has(source, "averageUtilization"), _has(source, "averageValue")
    if not utilization and not average:
        why = "must set either a target raw value or a target utilization"
        found.append(required(f"{path}.target.averageUtilization", why))
    if utilization and average:
        why = "may not set both a target raw value and a target utilization"
        found.append(forbidden(f"{path}.target.averageValue", why))
    return found


_VALIDATORS: dict[str, Callable[[Object, str], list[FieldError]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
