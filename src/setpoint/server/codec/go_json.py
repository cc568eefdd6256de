"""The text of built-in objects in error messages: JSON in the same field order as on kube-apiserver.

Unpatched parts of a patched object have the order of Go's structs, which are encoded before the patch is applied;
patched parts were read as maps and have sorted keys. Clients compare messages, so the order matters.
"""

from setpoint.objects.gotext import RawJson, compact_json
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.protobuf.message_table import MessageField, table

_TYPE_META = ("kind", "apiVersion")
_OBJECT_META = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def patched_text(patched: Json, before: Object, api_version: str, kind: str) -> str:
    """Returns the text of a patched object; `before` is the object before the patch."""
    return _text(patched, before, table().message_of(api_version, kind), touched=True)


def metadata_text(metadata: Object) -> RawJson:
    """Returns the text of the metadata of an object, with the fields in the order of Go's struct."""
    return RawJson(_text(metadata, metadata, _OBJECT_META, touched=False))


def _text(value: Json, before: Json, message: str | None, touched: bool) -> str:
    if touched and value == before and type(value) is type(before):
        touched = False
    if type(value) is list:
        others = before if type(before) is list else []
        old_items = [*others, *[None] * (len(value) - len(others))]
        items = (_text(item, old, message, touched) for item, old in zip(value, old_items, strict=False))
        return f"[{','.join(items)}]"
    if type(value) is not dict or message is None:
        return compact_json(value)
    fields = _fields(message)
    old_fields: Object = before if type(before) is dict else {}
    parts = []
    for name in sorted(value) if touched else _ordered(value, fields):
        field = fields.get(name)
        inner = None if field is None or field.is_map else field.type
        parts.append(f"{compact_json(name)}:{_text(value[name], old_fields.get(name), inner, touched)}")
    return f"{{{','.join(parts)}}}"


def _fields(message: str) -> dict[str, MessageField]:
    """Returns the fields of a message in the order of Go's struct, including those of embedded structs."""
    found: dict[str, MessageField] = {}
    for field in table().messages.get(message, ()):
        if field.is_embedded:
            found |= _fields(field.type)
        else:
            found[field.name] = field
    return found


def _ordered(value: Object, fields: dict[str, MessageField]) -> list[str]:
    known = [name for name in (*(name for name in _TYPE_META if name not in fields), *fields) if name in value]
    return [*known, *sorted(value.keys() - set(known))]
