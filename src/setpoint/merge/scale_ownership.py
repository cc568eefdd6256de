"""The ownership of the replicas, between an object and its `scale` subresource.

A Scale shows the entries of its object that own the replicas, as owners of the replicas in the Scale. After a write
through the subresource, `to_parent` transfers the result: a manager that lost the replicas in the Scale loses them in
the object, and a manager that gained them gets an entry in the object.
"""

from collections.abc import Mapping, Sequence

from setpoint.merge import fieldset, managedfields
from setpoint.merge.managedfields import Managed, Managers
from setpoint.objects.tree import Json, Object

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = ("f:spec", "f:replicas")


def replicas_path(json_path: str) -> tuple[str, ...]:
    """Returns the field-set path for a JSON path of a CRD (`.spec.replicas`)."""
    return tuple(f"f:{name}" for name in json_path.removeprefix(".").split("."))


class ScaleEntries:
    """Converts the entries of an object to those of its Scale and back.

    `paths` has the path of the replicas for every version of the object, None for a version without a Scale.
    """

    def __init__(self, parent: Json, api_version: str, paths: Mapping[str, Sequence[str] | None]) -> None:
        self._parent = managedfields.decode(parent)
        self._version = api_version
        self._paths = paths

    def to_scale(self) -> list[Object]:
        """Returns the entries of the Scale."""
        owners: Managers = {}
        for identifier, managed in self._parent.items():
            path = self._paths.get(managed.api_version)
            if path and fieldset.has(managed.fields, path):
                owned = fieldset.from_paths(_REPLICAS)
                owners[identifier] = Managed(owned, SCALE_VERSION, managed.applied, managed.time)
        return managedfields.encode(owners)

    def to_parent(self, scale: Json) -> list[Object]:
        """Returns the entries of the object after a write left these in the Scale."""
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
