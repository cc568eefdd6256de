"""HorizontalPodAutoscalers, in two versions of the API over one storage.

The newer version has any number of metrics; the older one has a single percentage, and stores all other metrics in
annotations. All rules apply to the newer version, so an object of the older version is converted before validation or
display.
"""

from datetime import datetime

from setpoint.objects.field import FieldError, index
from setpoint.objects.tree import Json, Object, copy
from setpoint.server.registry.kinds.autoscaling.conversion import (
    CARRIED,
    CPU,
    carry_spec,
    carry_status,
    convert,
    drop_carried,
    drop_statuses,
    has_metrics,
    has_statuses,
)
from setpoint.server.registry.kinds.autoscaling.metrics_text import metrics_text
from setpoint.server.registry.kinds.autoscaling.spec_validation import validate_spec
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy
from setpoint.server.registry.kinds.printers.cells import UNSET, Cell, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import non_negative, non_negative_fields, put
from setpoint.server.registry.strategy import Column

_V1, _V2 = "autoscaling/v1", "autoscaling/v2"
_DEFAULT_UTILIZATION = 80
_SCALE_UP = (("Pods", 4), ("Percent", 100))
_SCALE_DOWN = (("Percent", 100),)


def _newer(tree: Object) -> Object:
    """Returns the object in the newer version, without changing the tree."""
    return tree if tree.get("apiVersion") != _V1 else convert(copy(tree), _V1, _V2)


def _reference(tree: Object, _now: datetime) -> str:
    target = lookup(tree, "spec", "scaleTargetRef") or {}
    return f"{target.get('kind') or ''}/{target.get('name') or ''}"


def _targets(tree: Object, _now: datetime) -> str:
    if not lookup(tree, "metadata", "name"):
        return metrics_text([], [])  # a bookmark, which has no defaults
    newer = _newer(tree)
    return metrics_text(lookup(newer, "spec", "metrics") or [], lookup(newer, "status", "currentMetrics") or [])


def _least(tree: Object, _now: datetime) -> str:
    found = lookup(tree, "spec", "minReplicas")
    return UNSET if found is None else str(found)


def _count(*path: str) -> Cell:
    return lambda tree, _now: lookup(tree, *path) or 0


class HorizontalPodAutoscalerStrategy(ValidatingStrategy):
    declared_rules = (
        "spec.minReplicas Invalid must be greater than or equal to",
        "spec.maxReplicas Required",
        "spec.maxReplicas Invalid must be greater than or equal to 1",
    )
    keeps_generation = True
    restores_stored = True
    annotations_of_full_object = CARRIED
    validates_empty = True
    without_default = ("policies",)
    columns = (
        NAME,
        Column("Reference", _reference),
        Column("Targets", _targets),
        Column("MinPods", _least),
        Column("MaxPods", _count("spec", "maxReplicas")),
        Column("Replicas", _count("status", "currentReplicas")),
        AGE,
    )

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        return convert(tree, from_version, to_version)

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        spec.setdefault("minReplicas", 1)
        if tree.get("apiVersion") == _V1:
            # The default of the newer version, in the older one, so that its creator owns the field.
            if not has_metrics(tree.get("metadata") or {}):
                spec.setdefault("targetCPUUtilizationPercentage", _DEFAULT_UTILIZATION)
            # kube-apiserver converts the object to the newer version and back before it compares fields.
            made = convert(convert({**tree}, _V1, _V2), _V2, _V1)
            if not has_statuses(tree.get("metadata") or {}):
                # The annotation would tell an average beside the percentage: see `as_owned`.
                drop_statuses(made["metadata"])
            tree.clear()
            tree.update(made)
            return
        drop_carried(tree.get("metadata") or {})
        if not spec.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": _DEFAULT_UTILIZATION}
            spec["metrics"] = [{"type": "Resource", "resource": {"name": CPU, "target": target}}]
        behavior = spec.get("behavior")
        if behavior is not None:
            _default_rules(behavior.setdefault("scaleUp", {}), _SCALE_UP)
            behavior["scaleUp"].setdefault("stabilizationWindowSeconds", 0)
            _default_rules(behavior.setdefault("scaleDown", {}), _SCALE_DOWN)

    def as_owned(self, tree: Object) -> Object:
        return convert(convert(tree, _V1, _V2), _V2, _V1) if tree.get("apiVersion") == _V1 else tree

    def prepare_for_create(self, tree: Object) -> None:
        carry_status(tree, {})

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if subresource == "status":
            carry_spec(tree, old)
        else:
            carry_status(tree, old)

    def restore_stored(self, tree: Object, old: Object, subresource: str) -> None:
        name = "spec" if subresource == "status" else "status"
        put(tree, name, old.get(name))

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        return bool(_newer(tree).get("spec") != _newer(old).get("spec"))

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        before: Json = _newer(old).get("spec") if old else None
        return validate_spec(_newer(tree).get("spec") or {}, before, "spec")

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status = _newer(tree).get("status") or {}
        found: list[FieldError] = []
        for position, condition in enumerate(status.get("conditions") or ()):
            generation = condition.get("observedGeneration")
            if generation is not None:
                found += non_negative(generation, f"{index('status.conditions', position)}.observedGeneration")
        return found + non_negative_fields(status, "status", "currentReplicas", "desiredReplicas")


def _default_rules(rules: Object, policies: tuple[tuple[str, int], ...]) -> None:
    rules.setdefault("selectPolicy", "Max")
    if rules.get("policies") is None:
        rules["policies"] = [{"type": kind, "value": value, "periodSeconds": 15} for kind, value in policies]
