"""The rules of Pods."""

from collections.abc import Sequence
from typing import ClassVar

from setpoint.objects import meta
from setpoint.objects.field import FieldError
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.kinds.base_strategy import drop_disabled
from setpoint.server.registry.kinds.core.pod.columns import COLUMNS, row_conditions
from setpoint.server.registry.kinds.core.pod.defaults import default_pod
from setpoint.server.registry.kinds.core.pod.resize import validate_resize
from setpoint.server.registry.kinds.core.pod.resources import default_pod_resources, quality_of_service
from setpoint.server.registry.kinds.core.pod.status_update import validate_status_update
from setpoint.server.registry.kinds.core.pod.update import (
    validate_ephemeral_update,
    validate_pod_update,
)
from setpoint.server.registry.kinds.core.pod.validation import validate_new_pod
from setpoint.server.registry.kinds.core.pod.warnings import pod_warnings
from setpoint.server.registry.kinds.printers.cells import selectable, text
from setpoint.server.registry.kinds.validation.values import put
from setpoint.server.registry.strategy import Column, Strategy

_CLAIM_STATUSES = ("resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class PodStrategy(Strategy):
    pod_spec = ("spec",)
    name_on_update = "after"
    name_endpoints = ("", "ephemeralcontainers")
    keeps_generation = True
    is_graceful = True
    returns_deleted_object = True
    reset_fields: ClassVar = {
        "": ("status",),
        "status": ("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    }
    selectable_fields: ClassVar = {
        "spec.nodeName": selectable("spec", "nodeName"),
        "spec.host": selectable("spec", "nodeName"),
        "spec.restartPolicy": selectable("spec", "restartPolicy"),
        "spec.schedulerName": selectable("spec", "schedulerName"),
        "spec.serviceAccountName": selectable("spec", "serviceAccountName"),
        "spec.hostNetwork": lambda tree: "true" if (tree.get("spec") or {}).get("hostNetwork") else "false",
        "status.phase": selectable("status", "phase"),
        "status.podIP": selectable("status", "podIP"),
        "status.podIPs": selectable("status", "podIP"),
        "status.nominatedNodeName": selectable("status", "nominatedNodeName"),
    }
    prepares_status: ClassVar[Sequence[str]] = ("resize",)
    columns: ClassVar[Sequence[Column]] = COLUMNS

    def default(self, tree: Object) -> None:
        default_pod(tree)

    def prepare_for_create(self, tree: Object) -> None:
        spec = tree["spec"]
        status: Object = {"phase": "Pending"}
        if spec.get("schedulingGates"):
            status["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                    "lastProbeTime": None,
                    "lastTransitionTime": None,
                }
            ]
        _merge_label_keys(spec, tree["metadata"].get("labels") or {})
        default_pod_resources(spec)
        status["qosClass"] = quality_of_service(spec)
        tree["status"] = status

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        spec, stored = tree["spec"], old["spec"]
        if subresource == "status":
            _keep_status_fields(tree, old)
        elif subresource == "ephemeralcontainers":
            tree["spec"] = {**stored}
            put(tree["spec"], "ephemeralContainers", spec.get("ephemeralContainers"))
            _restore_others(tree, old)
        elif subresource == "resize":
            # A resize that adds or removes containers is validated as sent, with its metadata and status.
            if _same_containers(spec, stored):
                tree["spec"] = _resized(spec, stored)
                _restore_others(tree, old)
            if "resources" not in tree["spec"] and "resources" in stored:
                tree["spec"]["resources"] = copy(stored["resources"])
            default_pod_resources(tree["spec"])
        elif not subresource and "resources" not in spec and "resources" in stored:
            spec["resources"] = stored["resources"]

    def validate(self, tree: Object) -> list[FieldError]:
        return validate_new_pod(tree)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return validate_status_update(tree, old)
        if subresource == "ephemeralcontainers":
            return validate_ephemeral_update(tree, old)
        if subresource == "resize":
            return validate_resize(tree, old)
        return validate_pod_update(tree, old)

    def compares_empty(self, old: Object | None, subresource: str = "") -> bool:
        return subresource == "ephemeralcontainers"

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        if old is not None:
            return []
        found = []
        problems = dns1123_label(text(tree, "metadata", "name"))
        if problems:
            why = "this is used in the Pod's hostname, which can result in surprising behavior"
            found.append(f"metadata.name: {why}; a DNS label is recommended: [{' '.join(problems)}]")
        return found + pod_warnings(tree)

    def graceful_seconds(self, tree: Object, requested: int | None) -> int:
        spec = tree.get("spec") or {}
        period: int = requested if requested is not None else spec.get("terminationGracePeriodSeconds", 0)
        if not spec.get("nodeName") or text(tree, "status", "phase") in ("Failed", "Succeeded"):
            return 0
        return 1 if period < 0 else period

    def row_conditions(self, tree: Object) -> list[Object]:
        return row_conditions(tree)


def _keep_status_fields(tree: Object, old: Object) -> None:
    """Drops the status fields of features that are off, and restores those that older clients do not know."""
    drop_disabled(tree, old, "status.nodeAllocatableResourceClaimStatuses", "status.volumeHealth")
    for name in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for container in (tree.get("status") or {}).get(name) or ():
            for mount in container.get("volumeMounts") or ():
                mount.pop("volumeStatus", None)
    metadata, stored = tree["metadata"], old["metadata"]
    put(metadata, "ownerReferences", stored.get("ownerReferences"))
    status, before = tree.setdefault("status", {}), old.get("status") or {}
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and before.get(name):
            status[name] = before[name]
    for name in _CLAIM_STATUSES:
        if name not in status and name in before:
            status[name] = before[name]
    generations = {
        condition.get("type"): condition["observedGeneration"]
        for condition in before.get("conditions") or ()
        if condition.get("observedGeneration")
    }
    for condition in status.get("conditions") or ():
        if not condition.get("observedGeneration") and condition.get("type") in generations:
            condition["observedGeneration"] = generations[condition.get("type")]


def _restore_others(tree: Object, old: Object) -> None:
    """Restores all but the spec and the managed fields, because these endpoints change only the spec. Changes of some
    metadata are errors."""
    tree["status"] = old.get("status") or {}
    sent, tree["metadata"] = tree["metadata"], {**old["metadata"]}
    for name in ("managedFields", "generateName", "deletionGracePeriodSeconds"):
        meta.carry(tree["metadata"], sent, name)


def _same_containers(spec: Object, stored: Object) -> bool:
    return all(len(spec.get(name) or ()) == len(stored.get(name) or ()) for name in ("containers", "initContainers"))


def _resized(spec: Object, stored: Object) -> Object:
    """Returns the stored spec with the resources of the new one."""
    made: Object = {**stored}
    for name in ("containers", "initContainers"):
        if name not in stored:
            continue
        containers = []
        for container, before in zip(spec[name], stored[name], strict=True):
            kept = {**before, "name": container.get("name") or ""}
            for field in ("resources", "resizePolicy"):
                put(kept, field, container.get(field))
            containers.append(kept)
        made[name] = containers
    put(made, "resources", spec.get("resources"))
    return made


def _merge_label_keys(spec: Object, labels: dict[str, str]) -> None:
    """Converts label keys of affinities and spread constraints into expressions with the pod's own values."""
    terms: list[Object] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        terms += affinity.get(_REQUIRED) or []
        terms += [weighted.get("podAffinityTerm") or {} for weighted in affinity.get(_PREFERRED) or ()]
    for term in (*terms, *(spec.get("topologySpreadConstraints") or ())):
        selector = term.get("labelSelector")
        if selector is None:
            continue
        for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
            for key in term.get(name) or ():
                if key in labels:
                    expression = {"key": key, "operator": operator, "values": [labels[key]]}
                    selector.setdefault("matchExpressions", []).append(expression)
