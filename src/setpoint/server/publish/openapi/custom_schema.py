"""The published schema of a custom resource: the schema of its definition, with the fields that every object has.

Version 2 supports less than a definition may contain, and kubectl fails on some valid schemas (an untyped value with
properties, a list without items): these parts are omitted there. Documents never fail because of a definition: a schema
that is too deep to process is published as an object of any shape.
"""

from collections.abc import Mapping

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin
from setpoint.schema.crd.definition import Version
from setpoint.server.publish.openapi import definition_names
from setpoint.server.publish.openapi.builtin_definitions import GVK, V2_PREFIX, V3_PREFIX
from setpoint.server.registry.resource import Resource

_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EITHER = [{"type": "integer"}, {"type": "string"}]
_NOT_IN_V2 = frozenset(("allOf", "anyOf", "oneOf", "not", "default", "nullable"))
# A definition with the descriptions that all objects share; others are the same texts as kube-apiserver's.
_SOME_KIND = "io.k8s.api.core.v1.ConfigMap"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_LIST_META = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"
_EMBEDDED_TEXTS = {
    "apiVersion": "apiVersion defines the versioned schema of this representation of an object. More info: "
    f"{_CONVENTIONS}#resources",
    "kind": "kind is a string value representing the type of this object. In CamelCase. More info: "
    f"{_CONVENTIONS}#types-kinds",
}


def definitions(resource: Resource, *, v2: bool = False) -> Mapping[str, Object]:
    """Returns the definitions of a custom resource and of its lists, by name."""
    gv = resource.gvk.group_version
    list_kind = gv.with_kind(resource.list_kind)
    name = definition_names.definition_name(resource.gvk)
    return {
        name: _object(resource, v2=v2) | _extensions(resource, resource.gvk),
        definition_names.definition_name(list_kind): _list(resource, name, v2=v2) | _extensions(resource, list_kind),
    }


def _extensions(resource: Resource, kind: GroupVersionKind) -> Object:
    found: Object = {GVK: [{"group": kind.group, "kind": kind.kind, "version": kind.version}]}
    if fields := _version(resource).selectable_fields:
        paths = [{"fieldPath": field.json_path.removeprefix(".")} for field in fields]
        found["x-kubernetes-selectable-fields"] = paths
    return found


def _version(resource: Resource) -> Version:
    versions = resource.crd.spec.versions if resource.crd else ()
    return next((found for found in versions if found.name == resource.version), Version())


def _object(resource: Resource, *, v2: bool) -> Object:
    schema = _version(resource).openapi_schema
    if not isinstance(schema, dict) or (v2 and schema.get(_KEEPS_UNKNOWN)):
        return {"type": "object"}
    try:
        node = _node(schema, v2=v2)
    except RecursionError:
        return {"type": "object"}
    node["properties"] = node.get("properties", {}) | _object_fields(v2=v2)
    return node


def _list(resource: Resource, name: str, *, v2: bool) -> Object:
    texts = builtin.descriptions(_SOME_KIND)
    items = f"List of {resource.resource}. More info: {_CONVENTIONS}"
    return {
        "type": "object",
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": texts["apiVersion"]},
            "items": {"type": "array", "description": items, "items": _reference(name, v2=v2)},
            "kind": {"type": "string", "description": texts["kind"]},
            "metadata": _reference(definition_names.LIST_META, _LIST_META, v2=v2),
        },
    }


def _object_fields(*, v2: bool, embedded: bool = False) -> Object:
    """Returns the fields that every object has."""
    texts = builtin.descriptions(_SOME_KIND) | (_EMBEDDED_TEXTS if embedded else {})
    return {
        "apiVersion": {"type": "string", "description": texts["apiVersion"]},
        "kind": {"type": "string", "description": texts["kind"]},
        "metadata": _reference(definition_names.OBJECT_META, texts["metadata"], v2=v2),
    }


def _reference(name: str, description: str = "", *, v2: bool) -> Object:
    ref = {"$ref": (V2_PREFIX if v2 else V3_PREFIX) + name}
    if not description:
        return ref
    return {**ref, "description": description} if v2 else {"allOf": [ref], "description": description}


def _node(schema: Object, *, v2: bool) -> Object:
    """Returns a copy of a schema in the syntax of either version, with the fields of embedded objects."""
    found: Object = {}
    opaque = v2 and (schema.get("nullable") or schema.get(_KEEPS_UNKNOWN))
    for keyword, value in schema.items():
        if value is None or (v2 and keyword in _NOT_IN_V2):
            continue
        if keyword in ("properties", "items", "type") and opaque:
            # Nullable values have no type in version 2; of values that preserve unknown fields, only objects lose their
            # type.
            if keyword == "type" and not schema.get("nullable") and value != "object":
                found[keyword] = value
        elif keyword == "properties" and isinstance(value, dict):
            found[keyword] = _fields(value, v2=v2)
        elif keyword in ("items", "additionalProperties") and isinstance(value, dict):
            found[keyword] = _node(value, v2=v2)
        else:
            found[keyword] = value
    if v2:
        _normalize_v2(found, schema)
    elif schema.get(_INT_OR_STRING) and not _is_int_or_string(schema):
        _set_int_or_string(found)
    if schema.get(_EMBEDDED) and not opaque:
        found["properties"] = found.get("properties", {}) | _object_fields(v2=v2, embedded=True)
        required = found.get("required", [])
        found["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    return found


def _fields(fields: Object, *, v2: bool) -> Object:
    found: Object = {}
    for name, child in fields.items():
        if isinstance(child, dict):
            found[name] = _node(child, v2=v2)
    return found


def _normalize_v2(found: Object, schema: Object) -> None:
    """Removes keywords that are invalid after other keywords were omitted."""
    if found.get("type") == "array" and "items" not in found:
        del found["type"]
    fields, values = schema.get("properties") or {}, schema.get("additionalProperties")
    required = [name for name in found.get("required", ()) if not _is_nullable(fields.get(name))]
    if required and not _is_nullable(values):
        found["required"] = required
    else:
        found.pop("required", None)


def _is_nullable(schema: Json) -> bool:
    return isinstance(schema, dict) and bool(schema.get("nullable"))


def _is_int_or_string(schema: Object) -> bool:
    """Returns True if a schema already states that its value is a number or a string."""
    parts = schema.get("allOf") or ()
    return schema.get("anyOf") == _EITHER or any(part.get("anyOf") == _EITHER for part in parts[:1])


def _set_int_or_string(found: Object) -> None:
    if "anyOf" in found:
        found["allOf"] = [{"anyOf": _EITHER}, *found.get("allOf", ())]
    else:
        found["anyOf"] = _EITHER
