"""Metadata of object trees: readers, and the fields that only the server sets.

The readers accept any object and return the field's value, or the empty value; they never change the object.
"""

from typing import TYPE_CHECKING

from setpoint.objects.clock import Clock
from setpoint.objects.errors import BadRequest
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.objects.ids import Ids

_EMPTY: Object = {}


def of(tree: Object) -> Object:
    """Returns the metadata of the object for changes in place, and creates missing metadata."""
    found: Object = tree.setdefault("metadata", {})
    return found


def name(tree: Object) -> str:
    found: str = tree.get("metadata", _EMPTY).get("name", "")
    return found


def namespace(tree: Object) -> str:
    found: str = tree.get("metadata", _EMPTY).get("namespace", "")
    return found


def key(tree: Object) -> str:
    """Returns `namespace/name`, or only the name for an object without a namespace."""
    meta = tree.get("metadata", _EMPTY)
    where = meta.get("namespace", "")
    return f"{where}/{meta.get('name', '')}" if where else meta.get("name", "")


def uid(tree: Object) -> str:
    found: str = tree.get("metadata", _EMPTY).get("uid", "")
    return found


def resource_version(tree: Object) -> str:
    found: str = tree.get("metadata", _EMPTY).get("resourceVersion", "")
    return found


def generation(tree: Object) -> int:
    found: int = tree.get("metadata", _EMPTY).get("generation", 0)
    return found


def labels(tree: Object) -> dict[str, str]:
    found: dict[str, str] = tree.get("metadata", _EMPTY).get("labels") or {}
    return found


def annotations(tree: Object) -> dict[str, str]:
    found: dict[str, str] = tree.get("metadata", _EMPTY).get("annotations") or {}
    return found


def finalizers(tree: Object) -> list[str]:
    found: list[str] = tree.get("metadata", _EMPTY).get("finalizers") or []
    return found


def owner_references(tree: Object) -> list[Object]:
    found: list[Object] = tree.get("metadata", _EMPTY).get("ownerReferences") or []
    return found


def managed_fields(tree: Object) -> list[Object]:
    found: list[Object] = tree.get("metadata", _EMPTY).get("managedFields") or []
    return found


def deletion_timestamp(tree: Object) -> str:
    found: str = tree.get("metadata", _EMPTY).get("deletionTimestamp") or ""
    return found


def is_being_deleted(tree: Object) -> bool:
    return bool(deletion_timestamp(tree))


def add_finalizer(tree: Object, finalizer: str) -> bool:
    """Adds the finalizer; returns True if the finalizer was missing."""
    if finalizer in finalizers(tree):
        return False
    of(tree)["finalizers"] = [*finalizers(tree), finalizer]
    return True


def put(meta: Object, field: str, value: object) -> None:
    """Sets a field of the metadata, or removes the field if the value is empty, as the API does."""
    if value:
        meta[field] = value
    else:
        meta.pop(field, None)


def carry(meta: Object, other: Object, field: str) -> None:
    """Gives a field of the metadata its value in others, or removes the field."""
    meta.pop(field, None)
    if field in other:
        meta[field] = other[field]


# The fields that only the server sets on a new object.
SYSTEM_FIELDS = frozenset(("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"))


def wipe_system_fields(meta: Object) -> None:
    """Removes the fields that a client must not set on create."""
    for field in SYSTEM_FIELDS:
        meta.pop(field, None)


def fill_system_fields(meta: Object, clock: Clock, ids: "Ids") -> None:
    """Sets the uid and the creation time of a new object."""
    meta["uid"] = ids.uid()
    meta["creationTimestamp"] = format_time(clock.now())


def fill_namespace(meta: Object, wanted: str) -> None:
    """Sets the namespace of the request on an object; removes the namespace for cluster-scoped kinds.

    Raises BadRequest if the object has another namespace.
    """
    found = meta.get("namespace", "")
    if found and wanted and found != wanted:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    put(meta, "namespace", wanted)


def restore_system_fields(new: Object, old: Object) -> None:
    """Restores, in the metadata of an update, the fields that an update cannot change or omit."""
    put(new, "generation", old.get("generation", 0))
    new.pop("selfLink", None)
    if not new.get("uid"):
        put(new, "uid", old.get("uid", ""))
    for field in ("creationTimestamp", "deletionTimestamp"):
        if old.get(field):
            new[field] = old[field]
    if old.get("deletionGracePeriodSeconds") is not None and new.get("deletionGracePeriodSeconds") is None:
        new["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]
