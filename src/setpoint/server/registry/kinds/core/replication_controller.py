"""The rules of ReplicationControllers and PodTemplates."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.field import FieldError, child, forbidden, invalid, not_supported, required
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.core.pod import default_pod_template, validate_pod_template
from setpoint.server.registry.kinds.core.pod.warnings import name_warning, pod_warnings
from setpoint.server.registry.kinds.printers.cells import (
    container_images,
    container_names,
    label_text,
    lookup,
    selectable,
)
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, number
from setpoint.server.registry.kinds.validation.values import non_negative, non_negative_fields
from setpoint.server.registry.strategy import Column, Strategy


def _names(tree: Object, _now: datetime) -> Json:
    return container_names(_template_spec(tree))


def _images(tree: Object, _now: datetime) -> Json:
    return container_images(_template_spec(tree))


def _template_spec(tree: Object) -> Object:
    found: Object = lookup(tree, "spec", "template", "spec") or lookup(tree, "template", "spec") or {}
    return found


def _selector(tree: Object, _now: datetime) -> Json:
    return label_text(lookup(tree, "spec", "selector"))


def _labels(tree: Object, _now: datetime) -> Json:
    return label_text(lookup(tree, "template", "metadata", "labels"))


class ReplicationControllerStrategy(Strategy):
    pod_spec = ("spec", "template", "spec")
    declared_rules: ClassVar[Sequence[str]] = (
        "metadata.name Invalid",
        "spec.replicas Required",
        "spec.replicas Invalid",
        "spec.minReadySeconds Invalid",
    )
    keeps_generation = True
    orphans_by_default = True
    selectable_fields: ClassVar = {
        "status.replicas": lambda tree: selectable("status", "replicas")(tree) or "0",
    }
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Desired", number("spec", "replicas"), "integer"),
        Column("Current", number("status", "replicas"), "integer"),
        Column("Ready", number("status", "readyReplicas"), "integer"),
        AGE,
        Column("Containers", _names, priority=1),
        Column("Images", _images, priority=1),
        Column("Selector", _selector, priority=1),
    )

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        # The rule of the name is a declared one, and there is none for its prefix.
        return () if prefix else dns1123_subdomain(name)

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        template = spec.get("template")
        if template is not None:
            default_pod_template(template)
            labels = template["metadata"].get("labels")
            if labels:
                if not spec.get("selector"):
                    spec["selector"] = {**labels}
                if not tree["metadata"].get("labels"):
                    tree["metadata"]["labels"] = {**labels}

    def prepare_for_create(self, tree: Object) -> None:
        tree["status"] = {"replicas": 0}

    def validate(self, tree: Object) -> list[FieldError]:
        spec = tree["spec"]
        found = non_negative_fields(spec, "spec", "minReadySeconds")
        if not spec.get("selector"):
            found.append(required("spec.selector"))
        found += non_negative(spec.get("replicas", 0), "spec.replicas")
        return found + _validate_template(spec.get("template"), spec.get("selector") or {}, "spec.template")

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        return _validate_counts(tree.get("status") or {}) if subresource == "status" else self.validate(tree)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        template = tree["spec"].get("template")
        if old is None:
            return name_warning(tree) + ([] if template is None else pod_warnings(template, "spec.template"))
        before = old["spec"].get("template")
        # On an update kube-apiserver warns of the stored template.
        return [] if before is None or template == before else pod_warnings(before, "spec.template")


def _validate_template(template: Object | None, selector: dict[str, str], path: str) -> list[FieldError]:
    if template is None:
        return [required(path)]
    found: list[FieldError] = []
    labels = lookup(template, "metadata", "labels") or {}
    if any(labels.get(name) != value for name, value in selector.items()):
        why = "`selector` does not match template `labels`"
        found.append(invalid(child(path, "metadata.labels"), lookup(template, "metadata", "labels"), why))
    found += validate_pod_template(template, path)
    spec = template.get("spec") or {}
    if spec.get("restartPolicy") != "Always":
        found.append(not_supported(child(path, "spec.restartPolicy"), spec.get("restartPolicy") or "", ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        why = "activeDeadlineSeconds in ReplicationController is not Supported"
        found.append(forbidden(child(path, "spec.activeDeadlineSeconds"), why))
    return found


def _validate_counts(status: Object) -> list[FieldError]:
    names = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    found = non_negative_fields(status, "status", *names, "observedGeneration")
    counts = {name: status.get(name, 0) for name in names}
    for name in names[1:]:
        if counts[name] > counts["replicas"]:
            found.append(invalid(child("status", name), counts[name], "cannot be greater than status.replicas"))
    if counts["availableReplicas"] > counts["readyReplicas"]:
        why = "cannot be greater than readyReplicas"
        found.append(invalid("status.availableReplicas", counts["availableReplicas"], why))
    return found


class PodTemplateStrategy(Strategy):
    pod_spec = ("template", "spec")
    keeps_generation = True
    returns_deleted_object = True
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Containers", _names),
        Column("Images", _images),
        Column("Pod Labels", _labels),
    )

    def default(self, tree: Object) -> None:
        default_pod_template(tree.setdefault("template", {}))

    def validate(self, tree: Object) -> list[FieldError]:
        return validate_pod_template(tree["template"], "template")

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        return self.validate(tree)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        if old is not None and old.get("template") == tree.get("template"):
            return []
        return pod_warnings(tree["template"], "template")
