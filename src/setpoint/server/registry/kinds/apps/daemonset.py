"""DaemonSets: a pod on every node. An annotation counts the changes of the template, as a field of an older version
did."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from setpoint.objects import labels
from setpoint.objects.field import FieldError, invalid, not_supported, required
from setpoint.objects.gotext import parse_int
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.apps.deployment import shown_strategy
from setpoint.server.registry.kinds.apps.pod_template import (
    selector_of,
    template_warnings,
    validate_collisions,
    validate_lasting,
    validate_match,
)
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy
from setpoint.server.registry.kinds.core.pod import default_pod_template, validate_pod_template
from setpoint.server.registry.kinds.printers.cells import label_text, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, containers, number, selector
from setpoint.server.registry.kinds.validation.pod_amounts import at_most_all, plain_amount, validate_amount
from setpoint.server.registry.kinds.validation.values import non_negative_fields
from setpoint.server.registry.strategy import Column

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_STRATEGIES = ("RollingUpdate", "OnDelete")
_COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def _node_selector(tree: Object, _now: datetime) -> str:
    return label_text(lookup(tree, "spec", "template", "spec", "nodeSelector"))


class DaemonSetStrategy(ValidatingStrategy):
    pod_spec = ("spec", "template", "spec")
    keeps_generation = True
    immutable = ("spec.selector",)
    shown_as: ClassVar[Mapping[str, str]] = {"spec.selector": "*LabelSelector"}
    reports_changes_first = True
    annotations_of_full_object = (_TEMPLATE_GENERATION,)
    columns = (
        NAME,
        Column("Desired", number("status", "desiredNumberScheduled"), "integer"),
        Column("Current", number("status", "currentNumberScheduled"), "integer"),
        Column("Ready", number("status", "numberReady"), "integer"),
        Column("Up-to-date", number("status", "updatedNumberScheduled"), "integer"),
        Column("Available", number("status", "numberAvailable"), "integer"),
        Column("Node Selector", _node_selector),
        AGE,
        *containers("spec", "template"),
        Column("Selector", selector("spec", "selector"), priority=1),
    )

    has_decoding_faults: ClassVar[bool] = True

    def decoding_fault(self, tree: Object) -> str:
        value = (tree["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION)
        try:
            parse_int("0" if value is None else value)
        except ValueError as error:
            return str(error)
        return ""

    def complete_bookmark(self, tree: Object) -> None:
        _set_template_generation(tree, 0)

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        strategy = spec.setdefault("updateStrategy", {})
        strategy["type"] = strategy.get("type") or "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        elif (unused := strategy.get("rollingUpdate")) is not None:
            unused.setdefault("maxUnavailable", 0)
            unused.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)
        # The writer of the object owns the count too, though the server computes it.
        _set_template_generation(tree, _template_generation(tree))

    def prepare_for_create(self, tree: Object) -> None:
        _set_template_generation(tree, max(_template_generation(tree), 1))

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        generation = _template_generation(old)
        if lookup(tree, "spec", "template") != lookup(old, "spec", "template"):
            generation += 1
        _set_template_generation(tree, generation)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        template, path = spec.get("template") or {}, "spec.template"
        chosen, given = selector_of(spec.get("selector")), spec.get("selector")
        found = labels.validate_object(given, "spec.selector")
        if chosen is not None:
            found += validate_match(chosen, template, path)
        if given is not None and not given.get("matchLabels") and not given.get("matchExpressions"):
            found.append(invalid("spec.selector", given, "empty selector is invalid for daemonset"))
        found += validate_pod_template(template, path) + validate_lasting(template, path, "DaemonSet")
        found += non_negative_fields(spec, "spec", "minReadySeconds")
        found += _validate_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
        return found + non_negative_fields(spec, "spec", "revisionHistoryLimit")

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status = tree.get("status") or {}
        return non_negative_fields(status, "status", *_COUNTS) + validate_collisions(status, old.get("status") or {})

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        return template_warnings(tree, old, "spec", "template")


def _template_generation(tree: Object) -> int:
    value = (tree.get("metadata") or {}).get("annotations", {}).get(_TEMPLATE_GENERATION) or "0"
    sign, figures = value[:1] in "+-", value.lstrip("+-")
    # Only 64-bit numbers are valid: the server writes no others.
    if not (figures.isascii() and figures.isdigit()) or len(figures) > 18 or (sign and len(value) - len(figures) > 1):
        return 0
    return int(value)


def _set_template_generation(tree: Object, generation: int) -> None:
    annotations = tree.setdefault("metadata", {}).setdefault("annotations", {})
    annotations[_TEMPLATE_GENERATION] = str(generation)


def _validate_strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling, place = strategy.get("type") or "", strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [not_supported(path, shown_strategy(kind, rolling), _STRATEGIES)]
    if rolling is None:
        return [required(place)]
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    found: list[FieldError] = []
    for rule in (validate_amount, at_most_all):
        found += rule(unavailable, f"{place}.maxUnavailable") + rule(surge, f"{place}.maxSurge")
    has_unavailable, has_surge = plain_amount(unavailable) != 0, plain_amount(surge) != 0
    if has_unavailable and has_surge:
        found.append(invalid(f"{place}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not has_unavailable and not has_surge:
        found.append(required(f"{place}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return found
