"""Fields of built-in kinds that the server never lets change: a plan can say before that it would refuse."""

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
# What cannot change once the object says that it is immutable.
_SEALED = {GroupKind("", "ConfigMap"): ("data", "binaryData"), GroupKind("", "Secret"): ("data",)}


def must_replace(kind: GroupKind, wanted: Object, live: Object) -> str:
    """The first field that would have to change and cannot; empty where there is none."""
    for path in _FIELDS.get(kind, ()):
        said = _at(wanted, path)
        if said is not None and not contains(_at(live, path), said):
            return path
    if live.get("immutable") is True:
        for path in _SEALED.get(kind, ()):
            if (wanted.get(path) or {}) != (live.get(path) or {}):
                return path
    return ""


def is_refusal(error: Invalid) -> bool:
    """Whether the server refused a write because a field cannot be changed."""
    texts: Iterable[str] = (error.message, *(cause.message for cause in error.causes))
    return any("immutable" in text or "updates to" in text for text in texts)


def _at(tree: Json, path: str) -> Json:
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
