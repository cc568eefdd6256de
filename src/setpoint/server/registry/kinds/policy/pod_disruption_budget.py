"""PodDisruptionBudgets, and the evictions they permit."""

from collections.abc import Sequence
from datetime import datetime

from setpoint.objects import labels
from setpoint.objects.field import FieldError, invalid, not_supported
from setpoint.objects.names import path_segment
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, struct_text
from setpoint.server.registry.kinds.printers.cells import Cell, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, number
from setpoint.server.registry.kinds.validation.conditions import validate_conditions
from setpoint.server.registry.kinds.validation.pod_amounts import at_most_all, validate_amount
from setpoint.server.registry.kinds.validation.values import non_negative_fields
from setpoint.server.registry.strategy import Column, Strategy

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _amount(name: str) -> Cell:
    def cell(tree: Object, _now: datetime) -> str:
        value = lookup(tree, "spec", name)
        return "N/A" if value is None else str(value)

    return cell


class PodDisruptionBudgetStrategy(ValidatingStrategy):
    without_domains = ("", "status")
    validates_metadata_last = True
    keeps_generation = True
    allows_unconditional_update = False
    columns = (
        NAME,
        Column("Min Available", _amount("minAvailable")),
        Column("Max Unavailable", _amount("maxUnavailable")),
        Column("Allowed Disruptions", number("status", "disruptionsAllowed"), "integer"),
        AGE,
    )

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return path_segment(name, prefix)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = []
        if "minAvailable" in spec and "maxUnavailable" in spec:
            found.append(invalid("spec", _shown(spec), "minAvailable and maxUnavailable cannot be both set"))
        for name in ("minAvailable", "maxUnavailable"):
            if name in spec:
                found += validate_amount(spec[name], f"spec.{name}") + at_most_all(spec[name], f"spec.{name}")
        found += labels.validate_object(spec.get("selector"), "spec.selector")
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _EVICTION_POLICIES:
            found.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
        return found

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status = tree.get("status") or {}
        found = validate_conditions(status.get("conditions") or [], "status.conditions")
        return found + non_negative_fields(status, "status", *_COUNTS)


def _shown(spec: Object) -> str:
    return struct_text(
        MinAvailable=spec.get("minAvailable"),
        Selector=spec.get("selector"),
        MaxUnavailable=spec.get("maxUnavailable"),
        UnhealthyPodEvictionPolicy=spec.get("unhealthyPodEvictionPolicy"),
    )


class EvictionStrategy(Strategy):
    """An Eviction is a request and never stored; the eviction endpoint validates the request."""

    status_fields = ()
