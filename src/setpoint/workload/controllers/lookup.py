"""What templates and dependencies are told about the world: the objects of the cache.

What a reconcile looks up (`Lookup(ctx.lookup)`) brings it back when it changes.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from setpoint.client.kinds import Kind, tree_of
from setpoint.objects.tree import Object
from setpoint.schema.types import Resource
from setpoint.workload.kinds.all import KINDS

SECRET = "v1/Secret"
_KINDS = {kind.__name__: kind for kind in KINDS}

# The kinds that are looked things up in; a controller declares them as its `reads`.
READS: tuple[type[Resource] | str, ...] = (*KINDS, SECRET)


class Find(Protocol):
    """Finds an object of the cache; None where there is none."""

    def __call__(self, kind: Kind[Any], name: str, namespace: str = "") -> Any: ...


class Lookup:
    """The world as `find` sees it; `ports` are those that are reserved for the object in question, by Service."""

    def __init__(self, find: Find, ports: Mapping[str, int] | None = None) -> None:
        self._find = find
        self._ports = ports or {}

    def object(self, kind: str, name: str) -> Object | None:
        known = _KINDS.get(kind)
        found = None if known is None else self._find(known, name)
        return None if found is None else {**tree_of(found), "kind": kind}

    def secret(self, namespace: str, name: str) -> Object | None:
        found: Object | None = self._find(SECRET, name, namespace)
        return found

    def reserved_port(self, service: str) -> int | None:
        return self._ports.get(service)
