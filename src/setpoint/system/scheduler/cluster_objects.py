"""The objects other than nodes and pods on which scheduling depends, read from the shared cache."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from setpoint.cache.cache import Cache
from setpoint.cache.informer import Informer
from setpoint.objects.labels import Labels, Operator, Requirement, Selector
from setpoint.objects.owners import controller_of
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.storage_state import (
    CLAIM,
    CLASS,
    VOLUME,
    VOLUMES,
    class_of,
    key_of,
    volume_values,
)
from setpoint.system.selectors import selector_of

NAMESPACE, SERVICE, BUDGET = "v1/Namespace", "v1/Service", "policy/v1/PodDisruptionBudget"
# The owners whose selectors spread their pods by default.
_OWNERS = {
    ("ReplicationController", ""): "v1/ReplicationController",
    ("ReplicaSet", "apps"): "apps/v1/ReplicaSet",
    ("StatefulSet", "apps"): "apps/v1/StatefulSet",
}
CACHED = (BUDGET, *_OWNERS.values(), CLAIM, VOLUME, CLASS)
_NOTHING: Labels = {}
# The most sets of labels whose services are remembered.
_MOST_LABELS = 4096


class ClusterObjects(Protocol):
    """The source of these objects."""

    async def namespace_labels(self, name: str) -> Labels:
        """Returns the labels of a namespace; empty for a missing one."""

    async def namespaces(self, selector: Selector) -> frozenset[str]:
        """Returns the names of the matching namespaces."""

    async def default_selector(self, pod: Object) -> Selector | None:
        """Returns the labels by which pods like this one are spread: those of its services and of its controller. None
        without any."""

    def budgets(self, namespace: str) -> Sequence[Object]:
        """Returns the disruption budgets of a namespace."""

    async def claim(self, name: str, namespace: str) -> Object | None:
        """Returns a claim; None for a missing one."""

    async def volume(self, name: str) -> Object | None:
        """Returns a volume; None for a missing one."""

    async def storage_class(self, name: str) -> Object | None:
        """Returns a class of storage; None for a missing one."""

    async def volumes_for(self, claim: Object) -> Sequence[Object]:
        """Returns the volumes of the class of a claim that are free, and those that are reserved for the claim."""


class NoObjects:
    """A cluster with only nodes and pods."""

    async def namespace_labels(self, name: str) -> Labels:
        return _NOTHING

    async def namespaces(self, selector: Selector) -> frozenset[str]:
        return frozenset()

    async def default_selector(self, pod: Object) -> Selector | None:
        return None

    def budgets(self, namespace: str) -> Sequence[Object]:
        return ()

    async def claim(self, name: str, namespace: str) -> Object | None:
        return None

    async def volume(self, name: str) -> Object | None:
        return None

    async def storage_class(self, name: str) -> Object | None:
        return None

    async def volumes_for(self, claim: Object) -> Sequence[Object]:
        return ()


class CachedObjects:
    """The objects of the shared cache. Namespaces are watched from the first term with a selector of namespaces."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        # The labels of the services of pods, by namespace and labels; until a service changes.
        self._service_labels: dict[tuple[str, frozenset[tuple[str, str]]], Mapping[str, str]] = {}
        self._namespace_informer: Informer[Any] | None = None

    def service_changed(self, change: Any) -> None:
        """Forgets the services of pods."""
        self._service_labels.clear()

    async def namespace_labels(self, name: str) -> Labels:
        found = (await self._namespaces()).get(name)
        return _NOTHING if found is None else found.meta.labels or _NOTHING

    async def namespaces(self, selector: Selector) -> frozenset[str]:
        store = await self._namespaces()
        return frozenset(each.meta.name for each in store.all() if selector.matches(each.meta.labels))

    async def _namespaces(self) -> Any:
        if self._namespace_informer is None:
            self._namespace_informer = self._cache.acquire(NAMESPACE)
        await self._namespace_informer.wait_synced()
        return self._namespace_informer.store

    async def default_selector(self, pod: Object) -> Selector | None:
        metadata = pod["metadata"]
        namespace = metadata["namespace"]
        selector = _from_labels(frozenset(self._services_of(namespace, metadata.get("labels") or _NOTHING).items()))
        reference = controller_of(pod)
        if reference is not None:
            kind = _OWNERS.get((reference["kind"], reference["apiVersion"].rpartition("/")[0]))
            owner = None if kind is None else await self._cache.get(kind, reference["name"], namespace)
            if owner is not None:
                if kind == "v1/ReplicationController":
                    selector = selector & _from_labels(frozenset((owner["spec"].get("selector") or {}).items()))
                else:
                    selector = selector & selector_of(owner)
        return None if selector.is_everything else selector

    def _services_of(self, namespace: str, labels: Labels) -> Mapping[str, str]:
        key = namespace, frozenset(labels.items())
        found = self._service_labels.get(key)
        if found is None:
            merged: dict[str, str] = {}
            for entry in self._cache.informer(SERVICE).store.in_namespace(namespace):
                selector = entry.object["spec"].get("selector")
                if selector and all(labels.get(name) == value for name, value in selector.items()):
                    merged.update(selector)
            if len(self._service_labels) >= _MOST_LABELS:
                self._service_labels.clear()
            found = self._service_labels[key] = merged
        return found

    def budgets(self, namespace: str) -> Sequence[Object]:
        return [entry.object for entry in self._cache.informer(BUDGET).store.in_namespace(namespace)]

    async def claim(self, name: str, namespace: str) -> Object | None:
        return await self._cache.get(CLAIM, name, namespace)

    async def volume(self, name: str) -> Object | None:
        return await self._cache.get(VOLUME, name)

    async def storage_class(self, name: str) -> Object | None:
        return await self._cache.get(CLASS, name)

    async def volumes_for(self, claim: Object) -> Sequence[Object]:
        values = ("class", class_of(claim)), ("claim", key_of(claim))
        return [entry.object for entry in await self._cache.by_index(VOLUME, VOLUMES, volume_values, values)]


@lru_cache(maxsize=4096)
def _from_labels(labels: frozenset[tuple[str, str]]) -> Selector:
    return Selector(Requirement(name, Operator.EQUALS, (value,)) for name, value in labels)
