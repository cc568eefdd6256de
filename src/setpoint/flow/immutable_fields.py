"""Immutable fields of built-in kinds, so that a plan can predict a rejection by the server."""

from collections.abc import Iterable

from setpoint.flow.diff import contains
from setpoint.objects.errors import Invalid
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Json, Object

_RBAC = "rbac.authorization.k8s.io"
_FIELDS: dict[GroupKind, tuple[str, ...]] = {
    GroupKind("apps", "Deployment"): ("spec.selector",),
    GroupKind("apps", "ReplicaSet"): ("spec.selector",),
    GroupKind("apps", "DaemonSet"): ("spec.selector",),
    GroupKind("apps", "StatefulSet"): ("spec.selector", "spec.serviceName", "spec.podManagementPolicy"),
    GroupKind("batch", "Job"): ("spec.selector", "spec.template", "spec.completionMode"),
    GroupKind("", "Secret"): ("type",),
    GroupKind("storage.k8s.io", "StorageClass"): ("provisioner", "parameters", "reclaimPolicy"),
    GroupKind(_RBAC, "RoleBinding"): ("roleRef",),
    GroupKind(_RBAC, "ClusterRoleBinding"): ("roleRef",),
}
# Fields that become immutable with the field `immutable`.
_SEALED = {GroupKind("", "ConfigMap"): ("data", "binaryData"), GroupKind("", "Secret"): ("data",)}


def must_replace(kind: GroupKind, wanted: Object, live: Object) -> str:
    """Returns the first immutable field that would have to change; empty without one."""
    for path in _FIELDS.get(kind, ()):
        value = _at(wanted, path)
        if value is not None and not contains(_at(live, path), value):
            return path
    if live.get("immutable") is True:
        for path in _SEALED.get(kind, ()):
            if (wanted.get(path) or {}) != (live.get(path) or {}):
                return path
    return ""


def is_refusal(error: Invalid) -> bool:
    """Returns True if the server rejected a write because of an immutable field."""
    texts: Iterable[str] = (error.message, *(cause.message for cause in error.causes))
    return any("immutable" in text or "updates to" in text for text in texts)


def _at(tree: Json, path: str) -> Json:
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
