"""The common rules of kinds that keep copies of a pod running: a selector, a matching template, counts."""

from collections.abc import Sequence

from setpoint.objects import labels
from setpoint.objects.errors import APIError
from setpoint.objects.field import FieldError, child, forbidden, invalid, not_supported, required
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.core.pod import validate_pod_template
from setpoint.server.registry.kinds.core.pod.warnings import pod_warnings
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.validation.values import non_negative_fields

_NO_MATCH = "`selector` does not match template `labels`"
_TOO_MANY = "cannot be greater than status.replicas"


def validate_selector(selector: Json, path: str, kind: str) -> list[FieldError]:
    """Validates a selector, which is required and must not be empty."""
    if selector is None:
        return [required(path)]
    found = labels.validate_object(selector, path)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        found.append(invalid(path, selector, f"empty selector is invalid for {kind}"))
    return found


def selector_of(selector: Json) -> labels.Selector | None:
    """Returns the parsed selector; None if invalid."""
    try:
        return labels.from_object(selector)
    except APIError:
        return None


def validate_match(selector: labels.Selector, template: Object, path: str) -> list[FieldError]:
    """Validates that the selector matches the labels of the template."""
    found = (template.get("metadata") or {}).get("labels")
    if selector.matches(found or {}):
        return []
    return [invalid(f"{path}.metadata.labels", found, _NO_MATCH)]


def validate_lasting(template: Object, path: str, kind: str) -> list[FieldError]:
    """Validates the template of pods that run permanently: they must restart, and must have no deadline."""
    spec, place = template.get("spec") or {}, child(path, "spec")
    found = []
    if spec.get("restartPolicy") != "Always":
        found.append(not_supported(f"{place}.restartPolicy", spec.get("restartPolicy") or "", ["Always"]))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        found.append(forbidden(f"{place}.activeDeadlineSeconds", why))
    return found


def validate_replicated(spec: Object, path: str) -> list[FieldError]:
    """Validates the selector and the template of a ReplicaSet or a Deployment."""
    found = validate_selector(spec.get("selector"), f"{path}.selector", "deployment")
    selector, template, place = selector_of(spec.get("selector")), spec.get("template") or {}, f"{path}.template"
    if selector is None:
        return [
            *found,
            invalid(f"{path}.selector", struct_value("*LabelSelector", spec.get("selector")), "invalid label selector"),
        ]
    if not selector.is_everything:
        found += validate_match(selector, template, place)
    found += validate_pod_template(template, place)
    return found + validate_lasting(template, place, "ReplicaSet")


def template_warnings(tree: Object, old: Object | None, *path: str) -> list[str]:
    """Returns the warnings for a new or changed template."""
    template = lookup(tree, *path)
    if template is None or (old is not None and template == lookup(old, *path)):
        return []
    return pod_warnings(template, ".".join(path))


def validate_counts(status: Object, counts: Sequence[str], within: Sequence[str], ready: str) -> list[FieldError]:
    """Validates that counts are not negative, and that those in `within` do not exceed the replicas. `ready` is the
    field with the ready replicas."""
    found = non_negative_fields(status, "status", *counts)
    total = status.get("replicas") or 0
    for name in within:
        value = status.get(name) or 0
        if value > total:
            found.append(invalid(f"status.{name}", value, _TOO_MANY))
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        found.append(invalid("status.availableReplicas", available, f"cannot be greater than {ready}"))
    return found


def validate_collisions(status: Object, old: Object) -> list[FieldError]:
    """Validates that the count of collisions does not decrease."""
    count, before = status.get("collisionCount"), old.get("collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]
