"""The order in which the objects of a set are written: dependencies first. Deletion uses the reverse order."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from setpoint.flow.inventory import Identity
from setpoint.objects.gvk import GroupKind

_APPS, _RBAC, _NETWORK = "apps", "rbac.authorization.k8s.io", "networking.k8s.io"
_STORAGE, _ADMISSION = "storage.k8s.io", "admissionregistration.k8s.io"
# Kinds of a row depend only on earlier rows. Other kinds belong to the empty row.
_ROWS: Sequence[Sequence[tuple[str, str]]] = (
    [("", "Namespace")],
    [("apiextensions.k8s.io", "CustomResourceDefinition")],
    [("scheduling.k8s.io", "PriorityClass"), (_STORAGE, "StorageClass"), (_NETWORK, "IngressClass")],
    [("", "ServiceAccount")],
    [(_RBAC, "ClusterRole"), (_RBAC, "Role")],
    [(_RBAC, "ClusterRoleBinding"), (_RBAC, "RoleBinding")],
    [("", "ResourceQuota"), ("", "LimitRange"), (_NETWORK, "NetworkPolicy"), ("policy", "PodDisruptionBudget")],
    [("", "Secret"), ("", "ConfigMap")],
    [("", "PersistentVolume")],
    [("", "PersistentVolumeClaim")],
    [("", "Service")],
    [(_APPS, "DaemonSet"), (_APPS, "StatefulSet"), (_APPS, "Deployment"), (_APPS, "ReplicaSet"), ("", "Pod")],
    [("batch", "Job"), ("batch", "CronJob")],
    [],
    [("autoscaling", "HorizontalPodAutoscaler"), (_NETWORK, "Ingress")],
    # These intercept requests: without their running server they only fail.
    [("apiregistration.k8s.io", "APIService")],
    [(_ADMISSION, "MutatingWebhookConfiguration"), (_ADMISSION, "ValidatingWebhookConfiguration")],
)
_RANKS = {GroupKind(*kind): rank for rank, row in enumerate(_ROWS) for kind in row}
_OTHERS = next(rank for rank, row in enumerate(_ROWS) if not row)

T = TypeVar("T", bound=Hashable)


def rank(kind: GroupKind) -> int:
    """Returns the rank of a kind: lower ranks are written first."""
    return _RANKS.get(kind, _OTHERS)


def ordered(identities: Iterable[Identity], after: Mapping[Identity, Collection[Identity]]) -> list[Identity]:
    """Returns the objects in write order: after their declared dependencies, else by kind, else as given.

    Raises ValueError for a dependency cycle.
    """
    given = sorted(identities, key=lambda identity: rank(identity.group_kind))
    return _sorted(given, lambda identity: after.get(identity, ()))


def _sorted(items: Sequence[T], before: Callable[[T], Collection[T]]) -> list[T]:
    """Returns the items, each after those that `before` returns, and otherwise in order."""
    known, done, found = set(items), set[T](), list[T]()
    for item in items:
        # The path to an item without dependencies; a stack, because chains may be long.
        way = [item] if item not in done else []
        on_way = set(way)
        while way:
            needed = next((other for other in before(way[-1]) if other in known and other not in done), None)
            if needed is None:
                done.add(way[-1])
                found.append(way[-1])
                on_way.discard(way.pop())
            elif needed in on_way:
                circle = [*way[way.index(needed) :], needed]
                raise ValueError("dependency cycle: " + " after ".join(str(each) for each in circle))
            else:
                way.append(needed)
                on_way.add(needed)
    return found
