"""The pods that use a claim, found by an index of the shared cache."""

from collections.abc import Iterable, Sequence
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.objects.tree import Object
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import POD

_INDEX = "claim"


def _claims(entry: CachedObject[Any]) -> Iterable[str]:
    return [f"{entry.meta.namespace}/{each.claim}" for each in facts_of(entry).claims]


async def pods_using(cache: Cache, claim: Object) -> Sequence[CachedObject[Any]]:
    """Returns the entries of the pods that use a claim. The result shows all own writes."""
    metadata = claim["metadata"]
    values = (f"{metadata['namespace']}/{metadata['name']}",)
    return await cache.by_index(POD, _INDEX, _claims, values, metadata["namespace"])


def known_pods_using(cache: Cache, name: str, namespace: str) -> Sequence[CachedObject[Any]]:
    """Returns the entries of the pods in the cache that use a claim, without waiting."""
    store = cache.informer(POD).store
    store.ensure_index(_INDEX, _claims, _claims)
    return store.by_index(_INDEX, f"{namespace}/{name}")
