"""The types of an API, built from its OpenAPI schemas: lists that are sets or maps, and values owned as a whole.

`Types.custom_resource` takes the raw `openAPIV3Schema` of a CRD version, `Types.definition` the name of a built-in
definition; the function that is passed to `Types` resolves references. A type is built once and used many times.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from setpoint.merge.pathelement import value_json
from setpoint.merge.typed.any import ATOMIC, DEDUCED, AnyType
from setpoint.merge.typed.list import ListKey, ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Type
from setpoint.merge.typed.scalar import BOOLEAN, NUMERIC, STRING, UNTYPED

Schema: TypeAlias = Mapping[str, Any]
Resolve: TypeAlias = Callable[[str], Schema]

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def _fields_v1() -> MapType:
    """Returns the type of field sets: maps of maps, owned as a whole."""
    kind = MapType(atomic=True)
    kind.element = kind
    return kind


FIELDS = _fields_v1()

# Definitions with a schema that does not define the ownership of their values.
_FIXED: dict[str, Type] = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": FIELDS,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": UNTYPED,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ATOMIC,
}
_PLAIN = ("string", "integer", "number", "boolean")


class Types:
    """Builds types, each definition once; recursive definitions give recursive types."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._definitions: dict[str, Type] = {}

    def definition(self, name: str) -> Type:
        """Returns the type of a built-in definition."""
        return _Build(self._resolve, self._definitions).finish(lambda build: build.definition(name))

    def custom_resource(self, schema: Schema | None, *, preserve_unknown_fields: bool = False) -> Type:
        """Returns the type of a custom resource; without a schema, types are deduced from the values."""
        if schema is None:
            return DEDUCED
        typed = _as_object(schema)
        return _Build(self._resolve, self._definitions).finish(lambda build: build.node(typed, preserve_unknown_fields))


def _as_object(schema: Schema) -> Schema:
    """Returns the schema of a whole object: that of the version, with the fields that every object has."""
    properties = schema.get("properties") or {}
    every = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": f"#/definitions/{OBJECT_META}"},
    }
    return {**schema, "properties": {**properties, **every}}


class _Build:
    """One construction: builds all referenced types, then completes the steps that need complete types."""

    def __init__(self, resolve: Resolve, definitions: dict[str, Type]) -> None:
        self._resolve = resolve
        self._definitions = definitions
        self._made: list[MapType | ListType] = []
        self._later: list[Callable[[], None]] = []

    def finish(self, make: Callable[["_Build"], Type]) -> Type:
        root = make(self)
        for complete in self._later:
            complete()
        _compute_properties(self._made)
        return root

    def definition(self, name: str) -> Type:
        fixed = _FIXED.get(name)
        if fixed is not None:
            return fixed
        found = self._definitions.get(name)
        if found is None:
            schema = self._resolve(name)
            found = self._definitions[name] = self._new(schema)
            self._fill(found, schema, preserve=False)
            if isinstance(found, MapType):
                _fill_zero(found, schema)
        return found

    def node(self, schema: Schema, preserve: bool) -> Type:
        """Returns the type of a schema inside another one."""
        name = _reference(schema)
        if name:
            referred = self.definition(name)
            relationship = schema.get("x-kubernetes-map-type")
            return self._with_relationship(referred, relationship == "atomic") if relationship else referred
        found = self._new(schema)
        self._fill(found, schema, preserve)
        return found

    def _new(self, schema: Schema) -> Type:
        """Returns the type of a schema, still without its parts."""
        match schema.get("type"):
            case "object":
                return self._map(schema)
            case "array":
                return self._list()
            case "string":
                return STRING if schema.get("format") in (None, "", "byte") else UNTYPED
            case "integer" | "number":
                return NUMERIC
            case "boolean":
                return BOOLEAN
        found = AnyType(int_or_string=schema.get("x-kubernetes-int-or-string") is True)
        found.as_list = self._list()
        found.as_map = self._map(schema)
        return found

    def _map(self, schema: Schema) -> MapType:
        made = MapType(schema.get("x-kubernetes-map-type") == "atomic")
        self._made.append(made)
        return made

    def _list(self) -> ListType:
        made = ListType(ATOMIC, atomic=True)
        self._made.append(made)
        return made

    def _fill(self, made: Type, schema: Schema, preserve: bool) -> None:
        if schema.get("x-kubernetes-embedded-resource") is True:
            schema = _as_object(schema)
        # A schema that preserves unknown fields does so for all declared fields inside.
        preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
        if isinstance(made, AnyType):
            self._fill_list(made.as_list, schema, preserve)
            self._fill_map(made.as_map, schema, preserve)
        elif isinstance(made, ListType):
            self._fill_list(made, schema, preserve)
        elif isinstance(made, MapType):
            self._fill_map(made, schema, preserve)

    def _fill_map(self, made: MapType, schema: Schema, preserve: bool) -> None:
        properties = schema.get("properties") or {}
        for name, member in properties.items():
            made.declare(name, self.node(member, preserve))
        additional = schema.get("additionalProperties")
        if additional is None:
            made.element = DEDUCED if preserve or not properties else None
        elif isinstance(additional, Mapping):
            made.element = self.node(additional, preserve)
        else:
            made.element = DEDUCED if additional else None
        untyped = made.element is DEDUCED or (
            isinstance(additional, Mapping)
            and not _reference(additional)
            and (isinstance(made.element, AnyType) or made.element is UNTYPED)
        )
        made.deduced = untyped and not properties

    def _fill_list(self, made: ListType, schema: Schema, preserve: bool) -> None:
        items = schema.get("items")
        if items is not None:
            made.element = self.node(items, preserve)
        associative, names = _list_relationship(schema)
        made.atomic = not associative
        if names:
            made.key_names = names
            made.keys = tuple(ListKey(name, f"{value_json(name)}:") for name in sorted(names))
            self._later.append(lambda: self._default_keys(made, items))

    def _default_keys(self, made: ListType, items: Schema | None) -> None:
        """Sets the defaults of the keys of a list from the fields of its items."""
        schema = items or {}
        name = _reference(schema)
        if name:
            schema = self._resolve(name)
        properties = schema.get("properties") or {}
        made.keys = tuple(key._replace(default=(properties.get(key.name) or {}).get("default")) for key in made.keys)

    def _with_relationship(self, referred: Type, atomic: bool) -> Type:
        """Returns the referenced type with the ownership rule of the field."""
        if isinstance(referred, AnyType):
            found = AnyType()
            found.as_list = referred.as_list
            found.as_map = self._copy_map(referred.as_map, atomic)
            return found
        if isinstance(referred, MapType):
            return self._copy_map(referred, atomic)
        return referred

    def _copy_map(self, referred: MapType, atomic: bool) -> MapType:
        found = MapType(atomic)
        self._made.append(found)
        # The referenced type may be incomplete; its fields are shared, the rest is copied at the end.
        found.fields = referred.fields

        def complete() -> None:
            found.element = referred.element
            found.deduced = referred.deduced

        self._later.append(complete)
        return found


def _fill_zero(made: MapType, schema: Schema) -> None:
    """Sets the initial fields of a built-in struct, as on the real server; no manager owns them.

    An inner struct is present (its default is an empty object); required fields are present as null or zero, except in
    newer kinds that omit even required fields (their plain values then have no default).
    """
    properties = schema.get("properties") or {}
    required = [(name, properties[name]) for name in schema.get("required", ()) if name in properties]
    if not any(member.get("type") in _PLAIN and "default" not in member for _, member in required):
        made.zero.update((name, member.get("default")) for name, member in required)
    for name, member in properties.items():
        inside = made.fields[name][1]
        if member.get("default") == {} and isinstance(inside, MapType):
            made.zero[name] = inside.zero


def _reference(schema: Schema) -> str:
    """Returns the name of the definition that a schema refers to, or an empty string."""
    reference = schema.get("$ref", "")
    parts = schema.get("allOf")
    if not reference and isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping):
        reference = parts[0].get("$ref", "")
    return reference.rpartition("/")[2] if isinstance(reference, str) else ""


def _list_relationship(schema: Schema) -> tuple[bool, tuple[str, ...]]:
    """Returns True if the items of a list are owned individually, and the keys that identify them."""
    kind = schema.get("x-kubernetes-list-type")
    if kind is not None:
        return kind in ("set", "map"), tuple(schema.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ()
    if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return True, (key,) if key else ()
    return False, ()


def _compute_properties(made: list[MapType | ListType]) -> None:
    """Computes the properties of each container that depend on its contents; containers may contain themselves."""
    for kind in made:
        kind.collapses = kind.atomic
    # A container is created before its parts: in reverse order, one pass suffices unless some contain themselves.
    inside_first = made[::-1]
    changed = True
    while changed:
        changed = False
        for kind in inside_first:
            parts = _parts(kind)
            before = kind.exact, kind.exact_when_valid, kind.collapses
            kind.exact = kind.exact and all(part.exact for part in parts)
            kind.exact_when_valid = kind.exact_when_valid and all(part.exact_when_valid for part in parts)
            kind.collapses = kind.collapses or any(part.collapses for part in parts)
            changed = changed or before != (kind.exact, kind.exact_when_valid, kind.collapses)
    for kind in made:
        if isinstance(kind, MapType):
            kind.collapsing = tuple(member for member in kind.fields.values() if member[1].collapses)


def _parts(kind: MapType | ListType) -> list[Type]:
    """Returns the types of the values inside a container."""
    if isinstance(kind, ListType):
        return [kind.element]
    parts = [member for _, member, _ in kind.fields.values()]
    return parts if kind.element is None else [*parts, kind.element]
