"""The order of the fields of built-in objects in error messages: that of Go's structs, as on kube-apiserver.

The parts of an object that a patch does not change have that order; changed parts were read as maps and have sorted
keys. Clients compare messages, so the order matters.
"""

import re

from setpoint.objects.gotext import RawJson, ordered_json
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.protobuf.message_table import MessageField, table

_TYPE_META = ("kind", "apiVersion")
_OBJECT_META = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def in_struct_order(tree: Object, api_version: str, kind: str) -> Object:
    """Returns a copy of an object with the fields in the order of Go's structs."""
    found: Object = _ordered(tree, table().message_of(api_version, kind))
    return found


def metadata_text(metadata: Object) -> RawJson:
    """Returns the text of the metadata of an object, with the fields in the order of Go's struct."""
    return RawJson(ordered_json(_ordered(metadata, _OBJECT_META)))


def _ordered(value: Json, message: str | None) -> Json:
    if type(value) is list:
        return [_ordered(item, message) for item in value]
    if type(value) is not dict:
        return value
    fields = struct_fields(message) if message is not None else {}
    known = [name for name in (*(name for name in _TYPE_META if name not in fields), *fields) if name in value]
    found: Object = {}
    for name in (*known, *sorted(value.keys() - set(known))):
        field = fields.get(name)
        if field is not None and field.is_map and type(value[name]) is dict:
            entries = value[name]
            found[name] = {key: _ordered(entries[key], field.type) for key in sorted(entries)}
        else:
            found[name] = _ordered(value[name], field.type if field is not None else None)
    return found


_PLACE = re.compile(r"(?<=Go struct field )(\w+)\.(\S+)(?= of type )")


def with_embedded_structs(text: str, api_version: str, kind: str) -> str:
    """Returns an error of the JSON decoder with the names of embedded structs, which Go adds to the path of a field
    although JSON does not show them: `spec.volumes.VolumeSource.emptyDir`."""
    message = table().message_of(api_version, kind)

    def completed(found: re.Match[str]) -> str:
        inner, parts = message, []
        for name in found[2].split("."):
            names, inner = _place(inner, name)
            parts += names
        return f"{found[1]}.{'.'.join(parts)}"

    return _PLACE.sub(completed, text)


def _place(message: str | None, name: str) -> tuple[list[str], str | None]:
    """Returns the names of the embedded structs around a field and its own, and the message of the field."""
    fields = table().messages.get(message or "", ())
    for field in fields:
        if not field.is_embedded and field.name == name:
            return [name], field.type
    for field in fields:
        if field.is_embedded and name in struct_fields(field.type):
            names, inner = _place(field.type, name)
            return [field.go_name, *names], inner
    # The table has no fields for the type of an object inside another one.
    return ["TypeMeta", name] if name in ("apiVersion", "kind") else [name], None


def struct_fields(message: str) -> dict[str, MessageField]:
    """Returns the fields of a message in the order of Go's struct, including those of embedded structs."""
    found: dict[str, MessageField] = {}
    for field in table().messages.get(message, ()):
        if field.is_embedded:
            found |= struct_fields(field.type)
        else:
            found[field.name] = field
    return found
