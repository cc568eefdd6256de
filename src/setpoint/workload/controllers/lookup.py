"""Looks up the objects that templates and dependencies refer to, in the cache.

Objects that a reconcile looks up with `ctx.lookup` trigger another reconcile when they change.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from setpoint.client.kinds import Kind, tree_of
from setpoint.objects.tree import Object
from setpoint.schema.types import Resource
from setpoint.workload.kinds.all import KINDS

SECRET = "v1/Secret"
_KINDS = {kind.__name__: kind for kind in KINDS}

# The kinds of the looked-up objects; a controller declares them as its `reads`.
READS: tuple[type[Resource] | str, ...] = (*KINDS, SECRET)


# By kind and name: an object of the cache, and its tree.
Trees: TypeAlias = dict[tuple[str, str], tuple[Any, Object]]


class Find(Protocol):
    """Returns an object of the cache, or None if missing."""

    def __call__(self, kind: Kind[Any], name: str, namespace: str = "") -> Any: ...


class Lookup:
    """Looks objects up with `find`; `ports` are the ports reserved for the current object, by Service. `trees` keeps
    the converted objects for the next lookups: a workload with many dependencies looks up all of them when one
    changes, and probes render their templates again and again."""

    def __init__(self, find: Find, trees: Trees, ports: Mapping[str, int] | None = None) -> None:
        self._find, self._trees = find, trees
        self._ports = ports or {}

    def object(self, kind: str, name: str) -> Object | None:
        known = _KINDS.get(kind)
        found = None if known is None else self._find(known, name)
        if found is None:
            self._trees.pop((kind, name), None)
            return None
        converted, tree = self._trees.get((kind, name), (None, None))
        if converted is not found or tree is None:
            tree = {**tree_of(found), "kind": kind}
            self._trees[kind, name] = found, tree
        return tree

    def secret(self, namespace: str, name: str) -> Object | None:
        found: Object | None = self._find(SECRET, name, namespace)
        return found

    def reserved_port(self, service: str) -> int | None:
        return self._ports.get(service)
