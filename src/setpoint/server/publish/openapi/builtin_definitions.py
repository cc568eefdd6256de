"""The published definitions of the built-in kinds, in either version of OpenAPI.

They differ from the server's own in the schemas of types with custom JSON, in the prefix of references, and in the
descriptions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.schema import builtin

V3_PREFIX, V2_PREFIX = "#/components/schemas/", "#/definitions/"
# Tests a kind of a definition.
Shown: TypeAlias = Callable[[Object], bool]
GVK = "x-kubernetes-group-version-kind"

# Types with custom JSON, in version 3 and in version 2.
_OPAQUE: Mapping[str, tuple[Object, Object]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        {"format": "int-or-string", "type": "string"},
    ),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": (
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
        {"type": "string"},
    ),
}
# Groups whose kinds Go's client library does not register.
_SERVER_GROUPS = frozenset(("admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"))
# The keywords of the values of a list and a map, by the ending of the place of an enumeration.
_VALUES = {"[]": "items", "{}": "additionalProperties"}
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def definition(name: str, shown: Shown | None = None, *, v2: bool = False) -> Object:
    """Returns a copy of the definition of that name. Some stand for kinds of many groups: the result lists those that
    are shown, by default all."""
    tree = _published(name, v2=v2)
    kinds = tree.get(GVK)
    if shown is not None and kinds and len(kinds) > 1:
        tree[GVK] = [kind for kind in kinds if shown(kind)]
    return tree


def shown_in(gv: GroupVersion) -> Shown:
    """Returns the test of the kinds in the document of a built-in group and version: those of the core group, and its
    own."""
    places = ("", "v1"), (gv.group, gv.version)
    return lambda kind: (kind["group"], kind["version"]) in places


def shown_in_custom(kind: Object) -> bool:
    """Returns True for the kinds in the documents of custom resources: those of all groups that Go clients know."""
    return kind["group"] not in _SERVER_GROUPS


def closure(names: Iterable[str]) -> list[str]:
    """Returns the names of these built-in definitions and of all that they refer to, sorted."""
    known = builtin.names()
    todo, found = [name for name in names if name in known], set[str]()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _references(name)
    return sorted(found)


@cache
def _references(name: str) -> tuple[str, ...]:
    return tuple(set(_refs_in(builtin.definition(name))))


def _refs_in(node: Object) -> Iterator[str]:
    if "$ref" in node:
        yield node["$ref"].removeprefix(V2_PREFIX)
    for child in node.get("properties", {}).values():
        yield from _refs_in(child)
    for keyword in ("items", "additionalProperties"):
        if isinstance(node.get(keyword), dict):
            yield from _refs_in(node[keyword])


def _published(name: str, *, v2: bool) -> Object:
    opaque = _OPAQUE.get(name)
    node = dict(opaque[v2]) if opaque else _node(builtin.definition(name), v2=v2)
    # The server preserves unknown fields there; the published schema is just an object.
    node.pop(_KEEPS_UNKNOWN, None)
    return _enumerated(_described(node, builtin.descriptions(name), v2=v2), builtin.enums(name))


def _described(node: Object, texts: Mapping[str, str], *, v2: bool) -> Object:
    """Adds the descriptions of the node and its fields to the node, which belongs to the caller."""
    if "" in texts:
        node["description"] = texts[""]
    for name, child in node.get("properties", {}).items():
        if name in texts:
            if "$ref" in child and not v2:
                child["allOf"] = [{"$ref": child.pop("$ref")}]
            child["description"] = texts[name]
    return node


def _enumerated(node: Object, enums: Mapping[str, builtin.Enum]) -> Object:
    """Adds the enumerations of fields to the node, which belongs to the caller."""
    for place, (values, text) in enums.items():
        if not place:
            node["description"] = text
            continue
        keyword = _VALUES.get(place[-2:], "")
        field = node["properties"][place.removesuffix("[]").removesuffix("{}")]
        (field[keyword] if keyword else field)["enum"] = values
        if text:
            field["description"] = field.get("description", "") + text
    return node


def _node(node: Object, *, v2: bool) -> Object:
    """Returns a copy of a node in the syntax of either version."""
    found: Object = {}
    for keyword, value in node.items():
        match keyword:
            case "properties":
                found[keyword] = {name: _node(child, v2=v2) for name, child in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                found[keyword] = _node(value, v2=v2)
            case "$ref":
                found[keyword] = value if v2 else V3_PREFIX + value.removeprefix(V2_PREFIX)
            case "default" if v2:
                continue
            case _:
                found[keyword] = value
    # In version 3 no keyword may stand beside a reference.
    if not v2 and "$ref" in found and len(found) > 1:
        found["allOf"] = [{"$ref": found.pop("$ref")}]
    return found
