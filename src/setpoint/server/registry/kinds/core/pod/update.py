"""Validation of updates of a pod: few changes of the spec."""

from collections.abc import Sequence

from setpoint.objects.field import FieldError, child, forbidden, index, invalid, key, required
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.kinds.base_strategy import differ
from setpoint.server.registry.kinds.core.pod.scheduling import validate_tolerations
from setpoint.server.registry.kinds.core.pod.validation import validate_pod
from setpoint.server.registry.kinds.gotypes.difference import difference, struct_value
from setpoint.server.registry.kinds.validation.values import (
    INT32_MAX,
    in_range,
    put,
)

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
_MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def validate_pod_update(tree: Object, old: Object) -> list[FieldError]:
    """Validates an update of the pod itself."""
    spec, stored = tree.get("spec") or {}, old.get("spec") or {}
    annotations = (tree.get("metadata") or {}).get("annotations"), (old.get("metadata") or {}).get("annotations")
    if spec == stored and annotations[0] == annotations[1]:
        return []
    found = validate_pod(tree) + validate_annotations(tree, old)
    for name in ("containers", "initContainers"):
        new_ones, old_ones = spec.get(name) or [], stored.get(name) or []
        if len(new_ones) != len(old_ones):
            return [*found, forbidden(child("spec", name), "pod updates may not add or remove containers")]
        for position, container in enumerate(new_ones):
            if not container.get("image"):
                found.append(required(f"spec.{name}[{position}].image"))
    deadline, before = spec.get("activeDeadlineSeconds"), stored.get("activeDeadlineSeconds")
    place = "spec.activeDeadlineSeconds"
    if deadline is not None:
        if errors := in_range(deadline, place, 0, INT32_MAX):
            return found + errors
        if before is not None and before < deadline:
            return [*found, invalid(place, deadline, "must be less than or equal to previous value")]
    elif before is not None:
        found.append(invalid(place, None, "must not update from a positive integer to nil value"))
    found += _validate_added_tolerations(spec.get("tolerations") or [], stored.get("tolerations") or [])
    found += _validate_deleted_gates(spec.get("schedulingGates") or [], stored.get("schedulingGates") or [])
    errors, munged = _without_allowed_changes(spec, stored)
    found += errors
    if differ(munged, stored):
        diff = difference("PodSpec", stored, munged)
        found.append(forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}\n{diff}"))
    return found


def _without_allowed_changes(spec: Object, stored: Object) -> tuple[list[FieldError], Object]:
    """Returns the new spec with all allowed changes reverted, and their errors."""
    munged = _with_container_fields(spec, stored, ("image",))
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        put(munged, name, stored.get(name))
    if stored.get("terminationGracePeriodSeconds", 0) < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = stored["terminationGracePeriodSeconds"]
    found: list[FieldError] = []
    if stored.get("schedulingGates"):
        found = _validate_gated(munged, stored)
    return found, munged


def _with_container_fields(spec: Object, stored: Object, fields: Sequence[str]) -> Object:
    """Returns a copy of the spec whose containers have these fields of the stored ones. As on kube-apiserver, which
    collects the containers in new lists, an empty list becomes an absent one."""
    munged: Object = copy(spec)
    for name in ("containers", "initContainers"):
        for container, before in zip(munged.get(name) or (), stored.get(name) or (), strict=False):
            for field in fields:
                put(container, field, before.get(field))
        if not munged.get(name):
            munged.pop(name, None)
    return munged


def _validate_gated(munged: Object, stored: Object) -> list[FieldError]:
    """Validates that a pod with scheduling gates only narrows its node selection."""
    found: list[FieldError] = []
    wanted, before = munged.get("nodeSelector") or {}, stored.get("nodeSelector") or {}
    if wanted != before:
        if any(wanted.get(name) != value for name, value in before.items()):
            why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            found.append(invalid("spec.nodeSelector", wanted, why))
        put(munged, "nodeSelector", stored.get("nodeSelector"))
    affinity, old_affinity = munged.get("affinity") or {}, stored.get("affinity") or {}
    new_node, old_node = affinity.get("nodeAffinity"), old_affinity.get("nodeAffinity")
    if new_node != old_node:
        found += _validate_node_affinity(new_node, old_node)
        affinity = {**affinity}
        put(affinity, "nodeAffinity", old_node)
        put(munged, "affinity", affinity if affinity or "affinity" in stored else None)
    return found


def _validate_node_affinity(new: Object | None, old: Object | None) -> list[FieldError]:
    place = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    name, where = "requiredDuringSchedulingIgnoredDuringExecution", child(place, "nodeSelectorTerms")
    old_terms = ((old or {}).get(name) or {}).get("nodeSelectorTerms")
    new_terms = ((new or {}).get(name) or {}).get("nodeSelectorTerms")
    if not old_terms:
        return []
    if len(old_terms) != len(new_terms or ()):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(where, struct_value("[]NodeSelectorTerm", new_terms), why)]
    found = []
    for position, (term, kept) in enumerate(zip(new_terms or (), old_terms, strict=True)):
        if not _only_adds(term, kept):
            why = "only additions are allowed (no mutations or deletions)"
            found.append(invalid(index(where, position), struct_value("NodeSelectorTerm", term), why))
    return found


def _only_adds(new: Object, old: Object) -> bool:
    if not old.get("matchExpressions") and not old.get("matchFields"):
        return not new.get("matchExpressions") and not new.get("matchFields")
    return all(
        (new.get(name) or [])[: len(old.get(name) or [])] == (old.get(name) or [])
        for name in ("matchExpressions", "matchFields")
    )


def _validate_added_tolerations(new: list[Object], old: list[Object]) -> list[FieldError]:
    path = "spec.tolerations"
    kept = [{name: value for name, value in item.items() if name != "tolerationSeconds"} for item in new]
    for toleration in old:
        bare = {name: value for name, value in toleration.items() if name != "tolerationSeconds"}
        if bare not in kept:
            return [forbidden(path, "existing toleration can not be modified except its tolerationSeconds")]
    return validate_tolerations(new, path)


def _validate_deleted_gates(new: list[Object], old: list[Object]) -> list[FieldError]:
    known = {gate.get("name") for gate in old}
    return [
        forbidden(
            f"spec.schedulingGates[{position}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for position, gate in enumerate(new)
        if gate.get("name") not in known
    ]


def validate_annotations(tree: Object, old: Object) -> list[FieldError]:
    new = (tree.get("metadata") or {}).get("annotations") or {}
    before = (old.get("metadata") or {}).get("annotations") or {}
    found: list[FieldError] = []
    for name in {**before, **new}:
        if new.get(name) == before.get(name):
            continue
        change = "remove or update" if name in before else "add"
        if name.startswith(_APP_ARMOR):
            found.append(forbidden(key("metadata.annotations", name), f"may not {change} AppArmor annotations"))
        if name == _MIRROR:
            found.append(forbidden(key("metadata.annotations", name), f"may not {change} mirror pod annotation"))
    return found


# --- subresources ---


def validate_ephemeral_update(tree: Object, old: Object) -> list[FieldError]:
    """Validates that existing ephemeral containers are unchanged."""
    if _MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        return [forbidden("", "static pods do not support ephemeral containers")]
    found = validate_pod(tree) + validate_annotations(tree, old)
    path = "spec.ephemeralContainers"
    present = {container.get("name"): container for container in tree["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name") or ""
        if name not in present:
            found.append(forbidden(path, f"existing ephemeral containers {quote(name)} may not be removed\n"))
        elif differ(present[name], container):
            diff = difference("EphemeralContainer", container, present[name])
            found.append(forbidden(path, f"existing ephemeral containers {quote(name)} may not be changed\n{diff}"))
    return found
