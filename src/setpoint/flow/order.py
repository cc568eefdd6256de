"""The order in which the objects of a set are written: what others need comes first. Deleting goes the other way."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from setpoint.flow.inventory import Identity
from setpoint.objects.gvk import GroupKind

_APPS, _RBAC, _NETWORK = "apps", "rbac.authorization.k8s.io", "networking.k8s.io"
_STORAGE, _ADMISSION = "storage.k8s.io", "admissionregistration.k8s.io"
# What needs nothing of the later rows. Kinds that stand nowhere come where the empty row is.
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
    # These stand between clients and the server: before what serves them runs, they only refuse.
    [("apiregistration.k8s.io", "APIService")],
    [(_ADMISSION, "MutatingWebhookConfiguration"), (_ADMISSION, "ValidatingWebhookConfiguration")],
)
_RANKS = {GroupKind(*kind): rank for rank, row in enumerate(_ROWS) for kind in row}
_OTHERS = next(rank for rank, row in enumerate(_ROWS) if not row)

T = TypeVar("T", bound=Hashable)


def rank(kind: GroupKind) -> int:
    """How early objects of a kind are written."""
    return _RANKS.get(kind, _OTHERS)


def ordered(identities: Iterable[Identity], after: Mapping[Identity, Collection[Identity]]) -> list[Identity]:
    """The objects in the order to write them: each after those that it is declared to come after, else by kind, else
    as they were given. Raises ValueError where they wait for each other."""
    given = sorted(identities, key=lambda identity: rank(identity.group_kind))
    return _sorted(given, lambda identity: after.get(identity, ()))


def _sorted(items: Sequence[T], before: Callable[[T], Collection[T]]) -> list[T]:
    """The items, each behind those that `before` names of them, and otherwise in order."""
    known, done, found = set(items), set[T](), list[T]()
    for item in items:
        # The way down to what has nothing before it; a stack, for chains may be long.
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
                raise ValueError("these wait for each other: " + " after ".join(str(each) for each in circle))
            else:
                way.append(needed)
                on_way.add(needed)
    return found
