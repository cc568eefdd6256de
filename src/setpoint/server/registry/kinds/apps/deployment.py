"""Deployments and ReplicaSets."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.field import FieldError, forbidden, invalid, not_supported, required
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.apps.pod_template import (
    template_warnings,
    validate_collisions,
    validate_counts,
    validate_replicated,
)
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, struct_text
from setpoint.server.registry.kinds.core.pod import default_pod_template
from setpoint.server.registry.kinds.core.pod.warnings import name_warning
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, containers, number, selector
from setpoint.server.registry.kinds.validation.pod_amounts import at_most_all, plain_amount, validate_amount
from setpoint.server.registry.kinds.validation.values import non_negative_fields
from setpoint.server.registry.strategy import Column

_STRATEGIES = ("Recreate", "RollingUpdate")
_RESET_FIELDS: Mapping[str, Sequence[str]] = {"": ("status",), "status": ("spec", "metadata.labels")}


def _selector_text(tree: Object, now: datetime) -> Json:
    """Returns the selector. Unlike other kinds, a Deployment without one, as in a bookmark, shows an empty text."""
    return selector("spec", "selector")(tree, now) if lookup(tree, "spec", "selector") else ""


def _ready(tree: Object, _now: datetime) -> str:
    return f"{lookup(tree, 'status', 'readyReplicas') or 0}/{lookup(tree, 'spec', 'replicas') or 0}"


READY = Column("Ready", _ready)


class DeploymentStrategy(ValidatingStrategy):
    pod_spec = ("spec", "template", "spec")
    keeps_generation = True
    immutable = ("spec.selector",)
    shown_as: ClassVar[Mapping[str, str]] = {"spec.selector": "*LabelSelector"}
    reset_fields = _RESET_FIELDS
    columns = (
        NAME,
        READY,
        Column("Up-to-date", number("status", "updatedReplicas")),
        Column("Available", number("status", "availableReplicas")),
        AGE,
        *containers("spec", "template"),
        Column("Selector", _selector_text, priority=1),
    )

    def complete_bookmark(self, tree: Object) -> None:
        tree["spec"]["replicas"] = 0

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        spec.setdefault("replicas", 1)
        strategy = spec.setdefault("strategy", {})
        strategy["type"] = strategy.get("type") or "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if subresource == "status":
            metadata, before = tree["metadata"], old["metadata"].get("labels")
            metadata.pop("labels", None)
            if before:
                metadata["labels"] = before

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        # Annotations are copied to the ReplicaSets of the Deployment, so they count like the spec.
        changed = tree["metadata"].get("annotations") != old["metadata"].get("annotations")
        return changed or super().bumps_generation(tree, old)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = non_negative_fields(spec, "spec", "replicas")
        found += validate_replicated(spec, "spec")
        found += _validate_strategy(spec.get("strategy") or {}, "spec.strategy")
        found += non_negative_fields(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
            found.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
        return found

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status = tree.get("status") or {}
        parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
        others = ("unavailableReplicas", "terminatingReplicas", "collisionCount")
        found = validate_counts(status, ("observedGeneration", "replicas", *parts, *others), parts, "readyReplicas")
        return found + validate_collisions(status, old.get("status") or {})

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        found = name_warning(tree) if old is None else []
        return found + template_warnings(tree, old, "spec", "template")


def _validate_strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [forbidden(f"{path}.rollingUpdate", why)]
    if kind != "RollingUpdate":
        return [not_supported(path, shown_strategy(kind, rolling), _STRATEGIES)]
    if rolling is None:
        return [required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")]
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    place = f"{path}.rollingUpdate.maxUnavailable"
    found = validate_amount(unavailable, place) + validate_amount(surge, f"{path}.rollingUpdate.maxSurge")
    if plain_amount(unavailable) == 0 and plain_amount(surge) == 0:
        found.append(invalid(place, unavailable, "may not be 0 when `maxSurge` is 0"))
    return found + at_most_all(unavailable, place)


def shown_strategy(kind: str, rolling: Object | None) -> str:
    """Returns an update strategy in the form of the API's internal struct."""
    if rolling is None:
        return struct_text(Type=kind, RollingUpdate=None)
    amounts = {name: rolling.get(name, 0) for name in ("maxUnavailable", "maxSurge")}
    shown = struct_text(MaxUnavailable=amounts["maxUnavailable"], MaxSurge=amounts["maxSurge"])
    return struct_text(Type=kind, RollingUpdate=shown)


class ReplicaSetStrategy(ValidatingStrategy):
    pod_spec = ("spec", "template", "spec")
    keeps_generation = True
    immutable = ("spec.selector",)
    shown_as: ClassVar[Mapping[str, str]] = {"spec.selector": "*LabelSelector"}
    columns = (
        NAME,
        Column("Desired", number("spec", "replicas"), "integer"),
        Column("Current", number("status", "replicas"), "integer"),
        Column("Ready", number("status", "readyReplicas"), "integer"),
        AGE,
        *containers("spec", "template"),
        Column("Selector", selector("spec", "selector"), priority=1),
    )

    def complete_bookmark(self, tree: Object) -> None:
        tree["spec"]["replicas"] = 0

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        spec.setdefault("replicas", 1)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        return non_negative_fields(spec, "spec", "replicas", "minReadySeconds") + validate_replicated(spec, "spec")

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        counts = ("replicas", *parts, "observedGeneration", "terminatingReplicas")
        return validate_counts(tree.get("status") or {}, counts, parts, "readyReplicas")

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        found = name_warning(tree) if old is None else []
        return found + template_warnings(tree, old, "spec", "template")
