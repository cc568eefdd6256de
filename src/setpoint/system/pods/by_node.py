"""The pods of a node, found by an index of the shared cache."""

from collections.abc import Iterable, Sequence
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import POD

_INDEX = "node"


def _node_of(entry: CachedObject[Any]) -> Iterable[str]:
    name = facts_of(entry).node
    return (name,) if name else ()


async def pods_on(cache: Cache, node: str) -> Sequence[CachedObject[Any]]:
    """Returns the entries of the pods of a node. The result shows all own writes."""
    return await cache.by_index(POD, _INDEX, _node_of, (node,))


def known_pods_on(cache: Cache, node: str) -> Sequence[CachedObject[Any]]:
    """Returns the entries of the pods of a node in the cache, without waiting."""
    store = cache.informer(POD).store
    store.ensure_index(_INDEX, _node_of, _node_of)
    return store.by_index(_INDEX, node)
