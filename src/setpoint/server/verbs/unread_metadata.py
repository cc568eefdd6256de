"""Malformed times and numbers in the metadata of a custom resource that a client applies.

The result of an apply to a custom resource is not decoded. A field that the server writes may therefore be malformed: a
create and a status write replace the field, and an update refuses only the fields that clients may not change.
"""

from typing import NamedTuple

from setpoint.objects import objectmeta
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.goformat import json_type
from setpoint.objects.tree import Json, Object

_REPLACED = ("generation", "creationTimestamp")
_IMMUTABLE = ("deletionTimestamp", "deletionGracePeriodSeconds")


class UnreadMetadata(NamedTuple):
    """The malformed immutable fields of an applied object, and the fault of the first one."""

    fields: Object
    fault: str

    def error(self, metadata: Object) -> FieldError:
        """Returns the error of an update; `metadata` is the rest of the metadata."""
        return invalid("metadata", dict(sorted({**metadata, **self.fields}.items())), self.fault)


def set_aside(tree: Object) -> UnreadMetadata | None:
    """Removes the malformed fields that the server writes from the metadata, in place. Returns the immutable ones; None
    if no field is malformed."""
    metadata = tree.get("metadata")
    if type(metadata) is not dict:
        return None
    faults = {name: fault for name in (*_REPLACED, *_IMMUTABLE) if (fault := _fault(name, metadata.get(name)))}
    if not faults:
        return None
    immutable = [name for name in _IMMUTABLE if name in faults]
    tree["metadata"] = {name: value for name, value in metadata.items() if name not in faults}
    return UnreadMetadata({name: metadata[name] for name in immutable}, faults[immutable[0]] if immutable else "")


def _fault(name: str, value: Json) -> str:
    """Returns the reason why a field cannot be read; an empty text if there is none."""
    try:
        objectmeta.coerce({name: value})
    except ValueError as error:
        if not name.endswith("Timestamp"):
            return "cannot convert float64 to int64"
        return (
            str(error)
            if type(value) is str
            else f"json: cannot unmarshal {json_type(value)} into Go value of type string"
        )
    return ""
