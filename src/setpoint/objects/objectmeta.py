"""The shape of `metadata`: reads any JSON as the ObjectMeta that every kind has.

Unknown fields are dropped and reported; empty strings, maps and lists are dropped, as the API never writes them; times
are converted to UTC and whole seconds. A value of the wrong type raises ValueError with the message of Go's decoder,
which the caller puts into its BadRequest, or into a field error for the metadata of an embedded resource.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec

from setpoint.objects.goformat import json_type
from setpoint.objects.gotext import INT64_MAX, INT64_MIN, float_text
from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Json, Object

_ZERO_TIME = "0001-01-01T00:00:00Z"
_TIMES = ("creationTimestamp", "deletionTimestamp")
_new = tuple.__new__  # makes a named tuple in half the time


class Coerced(NamedTuple):
    """The normalized metadata, and the paths of its unknown fields (`metadata.foo`), in order.

    Metadata that is already normalized is returned itself, not as a copy.
    """

    metadata: Object
    unknown: list[str]


def coerce(metadata: Json, *, path: str = "metadata", within: str = "", drop_malformed: bool = False) -> Coerced:
    """Reads `metadata` as an ObjectMeta.

    `path` is its path in the object, for the unknown fields. `within` is the prefix of field names in error messages:
    `metadata.` where the real server decodes a whole built-in object at once, empty for custom resources. With
    `drop_malformed`, fields of a wrong type are dropped instead of raising (for stored objects).
    """
    unknown: list[str] = []
    if is_regular(metadata):
        return _new(Coerced, (metadata, unknown))
    if metadata is None:
        return Coerced({}, unknown)
    if type(metadata) is not dict:
        raise ValueError(f"json: cannot unmarshal {json_type(metadata)} into Go value of type v1.ObjectMeta")
    reader = _FieldPosition("ObjectMeta", within, path, unknown)
    found: Object = {}
    # The metadata of a custom resource are read from a Go map, in the order of their names.
    for name, value in metadata.items() if within else sorted(metadata.items()):
        field = _OBJECT_META.get(name)
        if field is None:
            unknown.append(f"{path}.{name}")
        elif value is not None:
            try:
                value = field(reader, name, value)
            except ValueError:
                if not drop_malformed:
                    raise
                continue
            if value or (value == 0 and name == "deletionGracePeriodSeconds"):
                found[name] = value
    unknown.sort()
    return Coerced(found, unknown)


class _FieldPosition(NamedTuple):
    """The position of a field in the metadata, for messages."""

    struct: str
    within: str
    path: str
    unknown: list[str]

    def wrong(self, name: str, value: Json, wanted: str, *, show: bool = False) -> ValueError:
        shown = (
            f"{json_type(value)} {float_text(value) if type(value) is float else value}" if show else json_type(value)
        )
        return ValueError(
            f"json: cannot unmarshal {shown} into Go struct field {self.struct}.{self.within}{name} of type {wanted}"
        )


_Field: TypeAlias = Callable[[_FieldPosition, str, Any], Any]


def _text(reader: _FieldPosition, name: str, value: Json) -> str:
    if type(value) is not str:
        raise reader.wrong(name, value, "string")
    return value


def _named_text(wanted: str) -> _Field:
    def read(reader: _FieldPosition, name: str, value: Json) -> str:
        if type(value) is not str:
            raise reader.wrong(name, value, wanted)
        return value

    return read


def _bool(reader: _FieldPosition, name: str, value: Json) -> bool:
    if type(value) is not bool:
        raise reader.wrong(name, value, "bool")
    return value


def _int64(reader: _FieldPosition, name: str, value: Json) -> int:
    # The numbers of custom resources are floats on the way, so that `1.0` is an integer there.
    if type(value) is float and not reader.within and value.is_integer() and INT64_MIN <= value <= INT64_MAX:
        return int(value)
    if type(value) is not int or not INT64_MIN <= value <= INT64_MAX:
        raise reader.wrong(name, value, "int64", show=type(value) is float or type(value) is int)
    return value


def _time(reader: _FieldPosition, name: str, value: Json) -> str:
    """Returns the time in the format of the API; an empty string for the zero time."""
    if type(value) is not str:
        raise reader.wrong(name, value, "string")
    text = format_time(parse_time(value))
    return "" if text == _ZERO_TIME else text


def _map(reader: _FieldPosition, name: str, value: Json) -> dict[str, str]:
    if type(value) is not dict:
        raise reader.wrong(name, value, "map[string]string")
    for item in value.values():
        if type(item) is not str:
            break
    else:
        return value
    return {key: "" if item is None else _text(reader, name, item) for key, item in value.items()}


def _texts(reader: _FieldPosition, name: str, value: Json) -> list[str]:
    if type(value) is not list:
        raise reader.wrong(name, value, "[]string")
    return ["" if item is None else _text(reader, name, item) for item in value]


def _structs(struct: str, fields: dict[str, _Field], required: tuple[str, ...]) -> _Field:
    """Reads a list of structs; `required` are the fields that are written even if empty."""

    def read(reader: _FieldPosition, name: str, value: Json) -> list[Object]:
        if type(value) is not list:
            raise reader.wrong(name, value, f"[]v1.{struct}")
        return [read_one(reader, name, item, at) for at, item in enumerate(value)]

    def read_one(reader: _FieldPosition, name: str, value: Json, at: int) -> Object:
        if value is not None and type(value) is not dict:
            raise reader.wrong(name, value, f"v1.{struct}")
        inner = _FieldPosition(struct, f"{reader.within}{name}.", f"{reader.path}.{name}[{at}]", reader.unknown)
        found: Object = dict.fromkeys(required, "")
        for key, item in (value or {}).items():
            field = fields.get(key)
            if field is None:
                inner.unknown.append(f"{inner.path}.{key}")
            elif item is not None:
                item = field(inner, key, item)
                # Pointers and raw JSON are always written; a text only if not empty.
                if item != "" or key in required:
                    found[key] = item
        return found

    return read


def _anything(_reader: _FieldPosition, _name: str, value: Json) -> Json:
    return value


_OWNER_REFERENCE: dict[str, _Field] = {
    "apiVersion": _text,
    "kind": _text,
    "name": _text,
    "uid": _named_text("types.UID"),
    "controller": _bool,
    "blockOwnerDeletion": _bool,
}
_MANAGED_FIELDS: dict[str, _Field] = {
    "manager": _text,
    "operation": _named_text("v1.ManagedFieldsOperationType"),
    "apiVersion": _text,
    "time": _time,
    "fieldsType": _text,
    "fieldsV1": _anything,
    "subresource": _text,
}
_OBJECT_META: dict[str, _Field] = {
    "name": _text,
    "generateName": _text,
    "namespace": _text,
    "selfLink": _text,
    "uid": _named_text("types.UID"),
    "resourceVersion": _text,
    "generation": _int64,
    "creationTimestamp": _time,
    "deletionTimestamp": _time,
    "deletionGracePeriodSeconds": _int64,
    "labels": _map,
    "annotations": _map,
    "ownerReferences": _structs("OwnerReference", _OWNER_REFERENCE, ("apiVersion", "kind", "name", "uid")),
    "finalizers": _texts,
    "managedFields": _structs("ManagedFieldsEntry", _MANAGED_FIELDS, ()),
}


# The same shape for the usual case of metadata that is already normalized: checked in C, several times faster. Metadata
# that this check rejects may still be valid; the functions above decide.
_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)] | msgspec.UnsetType
_Texts: TypeAlias = Annotated[dict[str, str], msgspec.Meta(min_length=1)] | msgspec.UnsetType
_Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)] | msgspec.UnsetType
_Bool: TypeAlias = bool | msgspec.UnsetType
_UNSET = msgspec.UNSET


class _RegularOwner(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: _Bool = _UNSET
    block_owner_deletion: _Bool = _UNSET


class _RegularManager(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    manager: _Text = _UNSET
    operation: _Text = _UNSET
    api_version: _Text = _UNSET
    time: _Moment = _UNSET
    fields_type: _Text = _UNSET
    fields_v1: Any = msgspec.field(default=_UNSET, name="fieldsV1")
    subresource: _Text = _UNSET


class _Regular(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    name: _Text = _UNSET
    generate_name: _Text = _UNSET
    namespace: _Text = _UNSET
    self_link: _Text = _UNSET
    uid: _Text = _UNSET
    resource_version: _Text = _UNSET
    generation: Annotated[int, msgspec.Meta(ge=1, le=INT64_MAX)] | msgspec.UnsetType = _UNSET
    creation_timestamp: _Moment = _UNSET
    deletion_timestamp: _Moment = _UNSET
    deletion_grace_period_seconds: Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)] | msgspec.UnsetType = _UNSET
    labels: _Texts = _UNSET
    annotations: _Texts = _UNSET
    owner_references: Annotated[list[_RegularOwner], msgspec.Meta(min_length=1)] | msgspec.UnsetType = _UNSET
    finalizers: Annotated[list[str], msgspec.Meta(min_length=1)] | msgspec.UnsetType = _UNSET
    managed_fields: Annotated[list[_RegularManager], msgspec.Meta(min_length=1)] | msgspec.UnsetType = _UNSET


def resets_managers(tree: Json) -> bool:
    """Returns True if the metadata of an object has an empty list of managers, which a write resets: unlike other empty
    lists, this one differs from an absent one until the field manager has read the list."""
    metadata = tree.get("metadata") if type(tree) is dict else None
    return type(metadata) is dict and metadata.get("managedFields") == []


def is_regular(metadata: Json) -> bool:
    """Returns True if coercing would neither change the metadata nor find an unknown field."""
    try:
        msgspec.convert(metadata, _Regular)
    except (msgspec.ValidationError, TypeError):
        return False
    for name in _TIMES:
        if name in metadata and not _is_canonical(metadata[name]):
            return False
    for entry in metadata.get("managedFields", ()):
        if "time" in entry and not _is_canonical(entry["time"]):
            return False
        if entry.get("fieldsV1", entry) is None:
            return False
    return True


def _is_canonical(time: str) -> bool:
    """Returns True if a time has the format of the API; the caller knows that the text is a time."""
    return len(time) == 20 and time[10] == "T" and time[-1] == "Z" and time != _ZERO_TIME
