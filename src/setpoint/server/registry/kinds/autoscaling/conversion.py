"""Lossless conversion of autoscalers between versions."""

from collections.abc import Sequence
from typing import Any

import msgspec

import setpoint.server.registry.kinds.autoscaling.v1_annotations as v1_annotations
from setpoint.objects.meta import put
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.printers.cells import lookup

CPU = "cpu"
_V1 = "autoscaling/v1"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _STATUSES, _BEHAVIOR, _CONDITIONS = (
    _PREFIX + name for name in ("metrics", "current-metrics", "behavior", "conditions")
)
CARRIED = (_METRICS, _STATUSES, _BEHAVIOR, _CONDITIONS)
_SAME_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_SAME_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")


def convert(tree: Object, from_version: str, to_version: str) -> Object:
    """Returns the object in another version, which may share parts of the tree."""
    if from_version == to_version:
        return tree
    return _older(tree) if to_version == _V1 else _newer(tree, to_version)


def has_metrics(metadata: Object) -> bool:
    """Returns True if an object of the older version has metrics, which are in an annotation."""
    return bool((metadata.get("annotations") or {}).get(_METRICS))


def has_statuses(metadata: Object) -> bool:
    """Returns True if an object of the older version has the current values of metrics, which are in an annotation."""
    return _STATUSES in (metadata.get("annotations") or {})


def drop_statuses(metadata: Object) -> None:
    """Removes, in place, the annotation with the current values of metrics."""
    _drop(metadata, (_STATUSES,))


def drop_carried(metadata: Object) -> None:
    """Removes, in place, the annotations that only the older version has."""
    _drop(metadata, CARRIED)


def _drop(metadata: Object, names: Sequence[str]) -> None:
    annotations = metadata.get("annotations")
    if annotations and any(name in annotations for name in names):
        put(metadata, "annotations", {name: value for name, value in annotations.items() if name not in names})


def carry_spec(new: Object, old: Object) -> None:
    """Restores, in place, the annotations that carry the spec of an object of the older version."""
    _restore(new, old, (_METRICS, _BEHAVIOR))


def carry_status(new: Object, old: Object) -> None:
    """Restores, in place, the annotations that carry the status of an object of the older version."""
    _restore(new, old, (_STATUSES, _CONDITIONS))


def _restore(new: Object, old: Object, names: Sequence[str]) -> None:
    if new.get("apiVersion") != _V1:
        return
    stored = (old.get("metadata") or {}).get("annotations") or {}
    kept = {name: text for name, text in (new["metadata"].get("annotations") or {}).items() if name not in names}
    put(new["metadata"], "annotations", kept | {name: stored[name] for name in names if name in stored})


def _older(tree: Object) -> Object:
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    metadata = dict(tree.get("metadata") or {})
    drop_carried(metadata)
    metrics, statuses = spec.get("metrics") or [], status.get("currentMetrics") or []
    new_spec: Object = {name: spec[name] for name in _SAME_SPEC if name in spec}
    new_status: Object = {name: status[name] for name in _SAME_STATUS if name in status}
    utilization = next((_cpu(metric, "target") for metric in metrics if _cpu(metric, "target") is not None), None)
    if utilization is not None:
        new_spec["targetCPUUtilizationPercentage"] = utilization
    for metric in statuses:
        if _cpu(metric, "current") is not None:
            new_status["currentCPUUtilizationPercentage"] = _cpu(metric, "current")
    others = [_older_metric(metric) for metric in metrics if _cpu(metric, "target") is None]
    texts = {
        _METRICS: v1_annotations.write(others) if others else "",
        _STATUSES: v1_annotations.write([_older_status(metric) for metric in statuses]) if statuses else "",
        _BEHAVIOR: _older_behavior(spec["behavior"]) if "behavior" in spec else "",
        _CONDITIONS: _older_conditions(status.get("conditions") or []),
    }
    if any(texts.values()):
        written = {name: text for name, text in texts.items() if text}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **written}
    return {**tree, "apiVersion": _V1, "metadata": metadata, "spec": new_spec, "status": new_status}


def _cpu(metric: Object, side: str) -> int | None:
    """Returns the CPU utilization of a metric, or None if the metric is another one."""
    resource = metric.get("resource")
    if metric.get("type") != "Resource" or resource is None or resource.get("name") != CPU:
        return None
    found: int | None = lookup(resource, side, "averageUtilization")
    return found


def _amount(part: Object, side: str, name: str) -> str | None:
    found = lookup(part, side, name)
    return None if found is None else str(found)


def _reference(part: Object) -> v1_annotations.CrossVersionObjectReference:
    found = part.get("describedObject") or {}
    return v1_annotations.CrossVersionObjectReference(
        kind=found.get("kind") or "", name=found.get("name") or "", api_version=found.get("apiVersion") or ""
    )


def _metric_name(part: Object) -> str:
    return lookup(part, "metric", "name") or ""


def _selector(part: Object) -> Any:
    return v1_annotations.selector_in(lookup(part, "metric", "selector"))


def _older_metric(metric: Object) -> v1_annotations.Metric:
    made = v1_annotations.Metric(type=metric.get("type") or "")
    if (part := metric.get("object")) is not None:
        made.object = v1_annotations.ObjectSource(
            target=_reference(part),
            metric_name=_metric_name(part),
            target_value=_amount(part, "target", "value") or "0",
            selector=_selector(part),
            average_value=_amount(part, "target", "averageValue"),
        )
    if (part := metric.get("pods")) is not None:
        made.pods = v1_annotations.PodsSource(
            metric_name=_metric_name(part),
            target_average_value=_amount(part, "target", "averageValue") or "0",
            selector=_selector(part),
        )
    if (part := metric.get("resource")) is not None:
        made.resource = v1_annotations.ResourceSource(
            name=part.get("name") or "",
            target_average_utilization=lookup(part, "target", "averageUtilization"),
            target_average_value=_amount(part, "target", "averageValue"),
        )
    if (part := metric.get("containerResource")) is not None:
        made.container_resource = v1_annotations.ContainerResourceSource(
            name=part.get("name") or "",
            target_average_utilization=lookup(part, "target", "averageUtilization"),
            target_average_value=_amount(part, "target", "averageValue"),
            container=part.get("container") or "",
        )
    if (part := metric.get("external")) is not None:
        made.external = v1_annotations.ExternalSource(
            metric_name=_metric_name(part),
            metric_selector=_selector(part),
            target_value=_amount(part, "target", "value"),
            target_average_value=_amount(part, "target", "averageValue"),
        )
    return made


def _older_status(metric: Object) -> v1_annotations.MetricStatus:
    made = v1_annotations.MetricStatus(type=metric.get("type") or "")
    if (part := metric.get("object")) is not None:
        made.object = v1_annotations.ObjectStatus(
            target=_reference(part),
            metric_name=_metric_name(part),
            current_value=_amount(part, "current", "value") or "0",
            selector=_selector(part),
            average_value=_amount(part, "current", "averageValue"),
        )
    if (part := metric.get("pods")) is not None:
        made.pods = v1_annotations.PodsStatus(
            metric_name=_metric_name(part),
            current_average_value=_amount(part, "current", "averageValue") or "0",
            selector=_selector(part),
        )
    if (part := metric.get("resource")) is not None:
        made.resource = v1_annotations.ResourceStatus(
            name=part.get("name") or "",
            current_average_utilization=lookup(part, "current", "averageUtilization"),
            current_average_value=_amount(part, "current", "averageValue") or "0",
        )
    if (part := metric.get("containerResource")) is not None:
        made.container_resource = v1_annotations.ContainerResourceStatus(
            name=part.get("name") or "",
            current_average_utilization=lookup(part, "current", "averageUtilization"),
            current_average_value=_amount(part, "current", "averageValue") or "0",
            container=part.get("container") or "",
        )
    if (part := metric.get("external")) is not None:
        made.external = v1_annotations.ExternalStatus(
            metric_name=_metric_name(part),
            metric_selector=_selector(part),
            current_value=_amount(part, "current", "value") or "0",
            current_average_value=_amount(part, "current", "averageValue"),
        )
    return made


_RULES = (("scaleUp", "scale_up"), ("scaleDown", "scale_down"))


def _older_behavior(behavior: Object) -> str:
    made = v1_annotations.Behavior()
    for name, attribute in _RULES:
        rules = behavior.get(name)
        if rules is not None:
            policies = [
                v1_annotations.ScalingPolicy(
                    type=policy.get("type") or "",
                    value=policy.get("value") or 0,
                    period_seconds=policy.get("periodSeconds") or 0,
                )
                for policy in rules.get("policies") or ()
            ]
            made_rules = v1_annotations.ScalingRules(
                stabilization_window_seconds=rules.get("stabilizationWindowSeconds"),
                select_policy=rules.get("selectPolicy"),
                policies=policies if rules.get("policies") is not None else None,
                tolerance=None if rules.get("tolerance") is None else str(rules["tolerance"]),
            )
            setattr(made, attribute, made_rules)
    return v1_annotations.write(made)


def _older_conditions(conditions: list[Object]) -> str:
    return (
        v1_annotations.write(msgspec.convert(conditions, list[v1_annotations.HorizontalPodAutoscalerCondition]))
        if conditions
        else ""
    )


def _newer(tree: Object, version: str) -> Object:
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    annotations = (tree.get("metadata") or {}).get("annotations") or {}
    metadata = dict(tree.get("metadata") or {})
    drop_carried(metadata)
    new_spec: Object = {name: spec[name] for name in _SAME_SPEC if name in spec}
    new_status: Object = {name: status[name] for name in _SAME_STATUS if name in status}
    metrics = [
        _newer_metric(metric)
        for metric in v1_annotations.read(annotations.get(_METRICS, ""), list[v1_annotations.Metric]) or ()
    ]
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is None and not metrics:
        utilization = 80
    if utilization is not None:
        target = {"type": "Utilization", "averageUtilization": utilization}
        metrics.append({"type": "Resource", "resource": {"name": CPU, "target": target}})
    new_spec["metrics"] = metrics
    behavior = v1_annotations.read(annotations.get(_BEHAVIOR, ""), v1_annotations.Behavior)
    if behavior is not None and (behavior.scale_up is not None or behavior.scale_down is not None):
        new_spec["behavior"] = _newer_behavior(behavior)
    statuses = v1_annotations.read(annotations.get(_STATUSES, ""), list[v1_annotations.MetricStatus])
    current = status.get("currentCPUUtilizationPercentage")
    if statuses is not None:
        new_status["currentMetrics"] = [_newer_status(metric) for metric in statuses]
    elif current is not None:
        resource = {"name": CPU, "current": {"averageUtilization": current}}
        new_status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    conditions = v1_annotations.read(
        annotations.get(_CONDITIONS, ""), list[v1_annotations.HorizontalPodAutoscalerCondition]
    )
    if conditions:
        new_status["conditions"] = msgspec.to_builtins(conditions)
    return {**tree, "apiVersion": version, "metadata": metadata, "spec": new_spec, "status": new_status}


def _without_empty(**fields: Any) -> Object:
    """Returns the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _described(reference: v1_annotations.CrossVersionObjectReference) -> Object:
    found: Object = msgspec.to_builtins(reference)
    return found


def _metric(name: str, selector: Any) -> Object:
    return _without_empty(name=name, selector=None if selector is None else msgspec.to_builtins(selector))


def _newer_metric(metric: v1_annotations.Metric) -> Object:
    made: Object = {"type": metric.type}
    if (one := metric.object) is not None:
        # The older version cannot omit the value; zero stands for none if there is an average.
        plain = one.average_value is None or not _is_zero(one.target_value)
        kind = "Value" if one.average_value is None else "AverageValue"
        made["object"] = {
            "describedObject": _described(one.target),
            "metric": _metric(one.metric_name, one.selector),
            "target": _without_empty(
                type=kind, value=one.target_value if plain else None, averageValue=one.average_value
            ),
        }
    if (pods := metric.pods) is not None:
        target = {"type": "AverageValue", "averageValue": pods.target_average_value}
        made["pods"] = {"metric": _metric(pods.metric_name, pods.selector), "target": target}
    if (resource := metric.resource) is not None:
        made["resource"] = {"name": resource.name, "target": _resource_target(resource)}
    if (container := metric.container_resource) is not None:
        made["containerResource"] = {
            "name": container.name,
            "container": container.container,
            "target": _resource_target(container),
        }
    if (external := metric.external) is not None:
        kind = "AverageValue" if external.target_value is None else "Value"
        made["external"] = {
            "metric": _metric(external.metric_name, external.metric_selector),
            "target": _without_empty(
                type=kind, value=external.target_value, averageValue=external.target_average_value
            ),
        }
    return made


def _is_zero(amount: str) -> bool:
    return Quantity.parse(amount).sign == 0


def _resource_target(resource: v1_annotations.ResourceSource) -> Object:
    utilization = resource.target_average_utilization
    kind = "AverageValue" if utilization is None else "Utilization"
    return _without_empty(type=kind, averageValue=resource.target_average_value, averageUtilization=utilization)


def _newer_status(metric: v1_annotations.MetricStatus) -> Object:
    made: Object = {"type": metric.type}
    if (one := metric.object) is not None:
        made["object"] = {
            "describedObject": _described(one.target),
            "metric": _metric(one.metric_name, one.selector),
            "current": _without_empty(value=one.current_value, averageValue=one.average_value),
        }
    if (pods := metric.pods) is not None:
        made["pods"] = {
            "metric": _metric(pods.metric_name, pods.selector),
            "current": {"averageValue": pods.current_average_value},
        }
    if (resource := metric.resource) is not None:
        made["resource"] = {"name": resource.name, "current": _resource_current(resource)}
    if (container := metric.container_resource) is not None:
        made["containerResource"] = {
            "name": container.name,
            "container": container.container,
            "current": _resource_current(container),
        }
    if (external := metric.external) is not None:
        made["external"] = {
            "metric": _metric(external.metric_name, external.metric_selector),
            "current": _without_empty(value=external.current_value, averageValue=external.current_average_value),
        }
    return made


def _resource_current(resource: v1_annotations.ResourceStatus) -> Object:
    utilization = resource.current_average_utilization
    return _without_empty(averageValue=resource.current_average_value, averageUtilization=utilization)


def _newer_behavior(behavior: v1_annotations.Behavior) -> Object:
    made: Object = {}
    for name, attribute in _RULES:
        rules: v1_annotations.ScalingRules | None = getattr(behavior, attribute)
        if rules is not None:
            policies = None
            if rules.policies is not None:
                policies = [
                    {"type": policy.type, "value": policy.value, "periodSeconds": policy.period_seconds}
                    for policy in rules.policies
                ]
            made[name] = _without_empty(
                stabilizationWindowSeconds=rules.stabilization_window_seconds,
                selectPolicy=rules.select_policy,
                policies=policies,
                tolerance=rules.tolerance,
            )
    return made
