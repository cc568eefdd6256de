"""Who owns the number of replicas, between an object and its `scale` subresource.

A Scale shows the entries of its object that own the replicas, as if they owned them in the Scale. After a write through
the subresource `to_parent` brings the outcome back: who lost the replicas in the Scale loses them in the object, who
gained them gets an entry there.
"""

from collections.abc import Mapping, Sequence

from setpoint.merge import fieldset, managedfields
from setpoint.merge.managedfields import Managed, Managers
from setpoint.objects.tree import Json, Object

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = ("f:spec", "f:replicas")


def replicas_path(json_path: str) -> tuple[str, ...]:
    """The path in a field set for a JSON path as CRDs give it (`.spec.replicas`)."""
    return tuple(f"f:{name}" for name in json_path.removeprefix(".").split("."))


class ScaleEntries:
    """Carries the entries of an object to its Scale and back.

    `paths` gives the path of the replicas for every version of the object, None where that version has no Scale.
    """

    def __init__(self, parent: Json, api_version: str, paths: Mapping[str, Sequence[str] | None]) -> None:
        self._parent = managedfields.decode(parent)
        self._version = api_version
        self._paths = paths

    def to_scale(self) -> list[Object]:
        """The entries of the Scale."""
        owners: Managers = {}
        for identifier, managed in self._parent.items():
            path = self._paths.get(managed.api_version)
            if path and fieldset.has(managed.fields, path):
                owned = fieldset.from_paths(_REPLICAS)
                owners[identifier] = Managed(owned, SCALE_VERSION, managed.applied, managed.time)
        return managedfields.encode(owners)

    def to_parent(self, scale: Json) -> list[Object]:
        """The entries of the object, after a write left these in the Scale."""
        gained = managedfields.decode(scale)
        found: Managers = {}
        for identifier, managed in self._parent.items():
            if managed.api_version not in self._paths:
                continue
            path = self._paths[managed.api_version]
            if not path or not fieldset.has(managed.fields, path):
                found[identifier] = managed
            elif identifier in gained:
                found[identifier] = managed
                del gained[identifier]
            else:
                rest = fieldset.difference(managed.fields, fieldset.from_paths(path))
                if rest:
                    found[identifier] = managed.with_fields(rest)
        own = self._paths.get(self._version)
        for identifier, managed in gained.items():
            if own and fieldset.has(managed.fields, _REPLICAS):
                before = self._parent.get(identifier)
                time = before.time if before is not None else None
                found[identifier] = Managed(fieldset.from_paths(own), self._version, managed.applied, time)
        return managedfields.encode(found)
