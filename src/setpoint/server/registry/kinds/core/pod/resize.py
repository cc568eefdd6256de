"""Validation of the resize of a pod: only the cpu and memory of containers and of the pod may change."""

from setpoint.objects.field import FieldError, child, forbidden, index, invalid
from setpoint.objects.tree import Json, Object, copy
from setpoint.server.registry.kinds.base_strategy import differ
from setpoint.server.registry.kinds.core.pod.resources import COMPUTE, quality_of_service
from setpoint.server.registry.kinds.core.pod.validation import validate_pod
from setpoint.server.registry.kinds.validation.values import put

_MIRROR = "kubernetes.io/config.mirror"
_MUTABLE = "only cpu and memory resources are mutable"
_KINDS = ("requests", "limits")


def validate_resize(tree: Object, old: Object) -> list[FieldError]:
    """Validates a change of the resources of a running pod."""
    if _MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        return [forbidden("", "static pods cannot be resized")]
    spec, stored = tree.get("spec") or {}, old.get("spec") or {}
    if (stored.get("os") or {}).get("name") == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    found = validate_pod(tree)
    quality = (tree.get("status") or {}).get("qosClass")
    if quality_of_service(stored) != quality_of_service(spec):
        found.append(invalid("spec", quality or "", "Pod QOS Class may not change as a result of resizing"))
    if not _can_resize(old):
        found.append(forbidden("spec", "Pod running on node without support for resize"))
    rest: Object = {**spec}
    if _has_amounts(spec) or _has_amounts(stored):
        found += _validate_pod_resources(rest, stored)
    if misplaced := _validate_order(spec, stored):
        return found + misplaced
    for kind in ("initContainers", "containers"):
        for position, (container, before) in enumerate(_pairs(spec, stored, kind)):
            place = child(index(child("spec", kind), position), "resources")
            found += _removals(container.get("resources"), before.get("resources"), place, "")
    for kind in ("containers", "initContainers"):
        found += _validate_containers(spec, stored, kind)
        put(rest, kind, stored.get(kind))
    if differ(spec.get("volumes"), stored.get("volumes")):
        why = (
            "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is disabled"
        )
        found.append(forbidden("spec.volumes", why))
    if not found and differ(rest, stored):
        found.append(forbidden("spec", _MUTABLE))
    return found


def _can_resize(tree: Object) -> bool:
    """Returns False if the first running container shows that its node does not report resources."""
    statuses = (tree.get("status") or {}).get("containerStatuses") or ()
    running = (status for status in statuses if (status.get("state") or {}).get("running") is not None)
    return next((status.get("resources") is not None for status in running), True)


def _has_amounts(spec: Object) -> bool:
    resources = spec.get("resources") or {}
    return any(resources.get(kind) for kind in _KINDS)


def _pairs(spec: Object, stored: Object, kind: str) -> list[tuple[Object, Object]]:
    return list(zip(spec.get(kind) or (), stored.get(kind) or (), strict=True))


def _validate_pod_resources(rest: Object, stored: Object) -> list[FieldError]:
    """Validates the resources of the pod as a whole, and masks their allowed changes in place."""
    new, old = rest.get("resources"), stored.get("resources")
    if old is not None and new is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")]
    found = _removals(new, old, "spec.resources", "pod-level ") if old is not None else []
    masked = _masked(new or {}, old or {})
    if old is None and not any(masked.get(kind) for kind in (*_KINDS, "claims")):
        masked = None
    put(rest, "resources", masked)
    if differ(masked, old):
        found.append(forbidden("spec", f"{_MUTABLE} at pod-level"))
    return found


def _masked(new: Object, old: Object) -> Json:
    """Returns resources with the cpu and memory of the old ones."""
    masked: Object = copy(new)
    for kind in _KINDS:
        amounts = {name: amount for name, amount in (new.get(kind) or {}).items() if name not in COMPUTE}
        amounts |= {name: amount for name, amount in (old.get(kind) or {}).items() if name in COMPUTE}
        put(masked, kind, amounts or None)
    return masked


def _removals(new: Object | None, old: Object | None, place: str, prefix: str) -> list[FieldError]:
    found = []
    for kind in _KINDS:
        names, before = ((resources or {}).get(kind) or {} for resources in (new, old))
        if len(before) > len(names) or before.keys() - names.keys():
            found.append(forbidden(child(place, kind), f"{prefix}resource {kind} cannot be removed"))
    return found


def _validate_order(spec: Object, stored: Object) -> list[FieldError]:
    """Validates that the containers have the same names in the same order."""
    found: list[FieldError] = []
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind) or ()) != len(stored.get(kind) or ()):
            found.append(forbidden(child("spec", kind), f"{kind} may not be added or removed on resize"))
            continue
        for position, (container, before) in enumerate(_pairs(spec, stored, kind)):
            if container.get("name") != before.get("name"):
                why = f"{kind} may not be renamed or reordered on resize"
                found.append(forbidden(f"spec.{kind}[{position}].name", why))
    return found


def _validate_containers(spec: Object, stored: Object, kind: str) -> list[FieldError]:
    """Validates that only the cpu and memory of containers change."""
    found = []
    for position, (container, before) in enumerate(_pairs(spec, stored, kind)):
        masked = {**container, "resources": _masked(container.get("resources") or {}, before.get("resources") or {})}
        is_other = differ(masked, {**before, "resources": before.get("resources") or {}})
        if kind == "containers":
            if is_other:
                found.append(forbidden("spec", _MUTABLE))
            continue
        place = index(child("spec", kind), position)
        if is_other:
            found.append(forbidden(place, "only cpu and memory resources for init or sidecar containers are mutable"))
        if differ(container, before) and container.get("restartPolicy") != "Always":
            why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            policies = [policy.get("restartPolicy") for policy in container.get("resizePolicy") or ()]
            found += [forbidden(place, why)] * policies.count("RestartContainer")
    return found
