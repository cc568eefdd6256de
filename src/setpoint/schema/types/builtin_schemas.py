"""The schemas of built-in types inside a custom resource: with references expanded, and structural.

The metadata of an embedded template keeps the fields that users set (labels, annotations, finalizers, name, namespace).
Zero values that Go's types always have are not defaults here, except for the keys of a list, which need one.
"""

from typing import Any

from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema import builtin
from setpoint.schema.types.markers import KubernetesType

# The pattern of a quantity, as in the API's own definitions.
QUANTITY: Object = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}
INT_OR_STRING: Object = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_TEXTS: Object = {"type": "object", "additionalProperties": {"type": "string"}}
_EMBEDDED_META: Object = {
    "type": "object",
    "properties": {
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "labels": _TEXTS,
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    },
}
_KEPT = (
    *("type", "format", "enum", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"),
)


class UnknownTypeError(LookupError):
    """There is no such built-in type, or its schema cannot be expanded."""


def builtin_schema(wanted: KubernetesType) -> Object:
    """Returns the structural schema of a built-in type."""
    return definition_schema(_definition_name(wanted))


def definition_schema(name: str) -> Object:
    """Returns the structural schema of the definition of that name."""
    schema = _expand(builtin.definition(name), (name,))
    if {"apiVersion", "kind", "metadata"} <= schema.get("properties", {}).keys():
        # A whole object: the server itself defines these three fields, and allows no schema for its metadata.
        schema["properties"] = {key: value for key, value in schema["properties"].items() if key != "metadata"}
        schema["x-kubernetes-embedded-resource"] = True
    return schema


def _definition_name(wanted: KubernetesType) -> str:
    version = GroupVersion.parse(wanted.api_version)
    kind = GroupVersionKind(version.group, version.version, wanted.name)
    if found := builtin.kinds().get(kind):
        return found
    group = version.group.split(".")[0] or "core"
    for name in (f"io.k8s.api.{group}.{version.version}.{wanted.name}", f"{_META}.{wanted.name}"):
        if name in builtin.names():
            return name
    raise UnknownTypeError(f"Kubernetes {builtin.RELEASE} has no type {wanted.name} in {wanted.api_version}")


def _expand(tree: Object, above: tuple[str, ...]) -> Object:
    if reference := _reference(tree):
        if reference in above:
            raise UnknownTypeError(f"{above[0]} contains itself, which a schema of a custom resource cannot say")
        if reference == f"{_META}.ObjectMeta":
            return dict(_EMBEDDED_META)
        inner = _expand(builtin.definition(reference), (*above, reference))
        return inner | {key: tree[key] for key in _KEPT if key in tree} | _default(tree)
    if tree.get("format") == "quantity":
        return dict(QUANTITY)
    if tree.get("x-kubernetes-int-or-string"):
        return dict(INT_OR_STRING)
    found: Object = {key: tree[key] for key in _KEPT if key in tree} | _default(tree)
    if properties := tree.get("properties"):
        found["properties"] = {key: _expand(value, above) for key, value in properties.items()}
    if isinstance(items := tree.get("items"), dict):
        found["items"] = _expand(items, above)
        _set_key_defaults(found)
    if isinstance(values := tree.get("additionalProperties"), dict):
        found["additionalProperties"] = _expand(values, above)
    if "type" not in found and "x-kubernetes-preserve-unknown-fields" not in found:
        found["x-kubernetes-preserve-unknown-fields"] = True
    return found


def _reference(tree: Object) -> str | None:
    reference = tree.get("$ref")
    if reference is None and isinstance(alternatives := tree.get("allOf"), list) and len(alternatives) == 1:
        reference = alternatives[0].get("$ref")
    return reference.removeprefix("#/definitions/") if isinstance(reference, str) else None


def _default(tree: Object) -> Object:
    value: Any = tree.get("default")
    return {"default": value} if value else {}


def _set_key_defaults(array: Object) -> None:
    items = array["items"]
    for key in array.get("x-kubernetes-list-map-keys", ()):
        field = items.get("properties", {}).get(key, {})
        if key not in items.get("required", ()) and "default" not in field and field.get("type") == "string":
            items["properties"] = items["properties"] | {key: field | {"default": ""}}
