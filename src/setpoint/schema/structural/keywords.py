"""The rules of single keywords: those of OpenAPI that a CRD may use, and the requirements of Kubernetes' extensions."""

from typing import NamedTuple

from msgspec import UNSET

from setpoint.objects.field import (
    OMITTED,
    FieldError,
    child,
    forbidden,
    index,
    invalid,
    key,
    not_supported,
    required,
)
from setpoint.schema.openapi import Schema
from setpoint.schema.pruning import META_FIELDS

_TYPES = ("array", "boolean", "integer", "number", "object", "string")


class _NodeContext(NamedTuple):
    """The context of a node: whether a default is allowed, the reason if not, and whether the node is in a resource's
    metadata."""

    defaults: bool = True
    why_not: str = ""
    in_metadata: bool = False


def validate_keywords(schema: Schema, path: str) -> list[FieldError]:
    """Returns the errors of single keywords anywhere in a schema."""
    errors: list[FieldError] = []
    _node(schema, path, _NodeContext(), True, errors)
    return errors


def _node(schema: Schema, path: str, place: _NodeContext, root: bool, errors: list[FieldError]) -> None:
    _refused(schema, path, place, errors)
    extra = schema.additional_properties
    if extra is not None and schema.properties and extra is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        errors.append(forbidden(child(path, "additionalProperties"), detail))
    if isinstance(extra, Schema):
        inside = place
        if place.in_metadata:
            inside = _NodeContext(False, "inside additionalProperties applying to object metadata", True)
        _node(extra, child(path, "additionalProperties"), inside, False, errors)
    if schema.properties:
        below, resource = child(path, "properties"), root or schema.embedded_resource
        for name, inner in schema.properties.items():
            inside = place
            if resource and name in META_FIELDS:
                inside = _NodeContext(False, f"in top-level {name}", True) if root else place._replace(in_metadata=True)
            _node(inner, key(below, name), inside, False, errors)
    if schema.not_ is not None:
        _node(schema.not_, child(path, "not"), place, False, errors)
    items = schema.items
    if schema.all_of or schema.one_of or schema.any_of or isinstance(items, list):
        for keyword, branches in (
            ("allOf", schema.all_of),
            ("oneOf", schema.one_of),
            ("anyOf", schema.any_of),
            ("items", items if isinstance(items, list) else []),
        ):
            for position, branch in enumerate(branches):
                _node(branch, index(child(path, keyword), position), place, False, errors)
    if isinstance(items, Schema):
        _node(items, child(path, "items"), place, False, errors)
    if schema.preserve_unknown_fields is False:
        where = child(path, "x-kubernetes-preserve-unknown-fields")
        errors.append(invalid(where, False, "must be true or undefined"))
    if schema.map_type is not None:
        _map_type(schema, path, errors)
    if schema.list_type is not None or schema.list_map_keys:
        _list_type(schema, path, errors)
        _list_items(schema, path, errors)


def _refused(schema: Schema, path: str, place: _NodeContext, errors: list[FieldError]) -> None:
    if schema.type and schema.type not in _TYPES:
        errors.append(not_supported(child(path, "type"), schema.type, _TYPES))
    if schema.default is not UNSET and schema.default is not None and not place.defaults:
        errors.append(forbidden(child(path, "default"), f"must not be set {place.why_not}"))
    if _has_refused_keyword(schema):
        for keyword, value in (
            ("id", schema.id),
            ("additionalItems", schema.additional_items is not None),
            ("patternProperties", schema.pattern_properties),
            ("definitions", schema.definitions),
            ("dependencies", schema.dependencies),
            ("$ref", schema.ref is not None),
        ):
            if value:
                errors.append(forbidden(child(path, keyword), f"{keyword} is not supported"))
    if schema.type == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        errors.append(forbidden(child(path, "type"), detail))
    if isinstance(schema.items, list) and schema.items:
        errors.append(forbidden(child(path, "items"), "items must be a schema object and not an array"))
    if place.in_metadata and schema.embedded_resource:
        where = child(path, "x-kubernetes-embedded-resource")
        errors.append(forbidden(where, "must not be used inside of resource meta"))
    if schema.unique_items:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(child(path, "uniqueItems"), detail))


def _has_refused_keyword(schema: Schema) -> bool:
    """Returns True if a node has a keyword that no schema of a definition may have, which is rare."""
    return bool(
        schema.id
        or schema.ref is not None
        or schema.pattern_properties
        or schema.dependencies
        or schema.additional_items is not None
        or schema.definitions
    )


def _map_type(schema: Schema, path: str, errors: list[FieldError]) -> None:
    _needs_type(schema, "object", "x-kubernetes-map-type", path, errors)
    if schema.map_type not in ("atomic", "granular"):
        errors.append(not_supported(child(path, "x-kubernetes-map-type"), schema.map_type, ("atomic", "granular")))


def _needs_type(schema: Schema, wanted: str, keyword: str, path: str, errors: list[FieldError]) -> bool:
    if schema.type == wanted:
        return True
    where, detail = child(path, "type"), f"must be {wanted} if {keyword} is specified"
    errors.append(invalid(where, schema.type, detail) if schema.type else required(where, detail))
    return False


def _list_type(schema: Schema, path: str, errors: list[FieldError]) -> None:
    kind, items = schema.list_type, schema.items
    where = child(path, "x-kubernetes-list-type")
    if kind is not None and _needs_type(schema, "array", "x-kubernetes-list-type", path, errors):
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        if kind == "set" and isinstance(items, Schema):
            if items.type == "array" and items.list_type not in (None, "atomic"):
                inner = child(child(path, "items"), "x-kubernetes-list-type")
                errors.append(invalid(inner, items.list_type, detail))
            elif items.type == "object" and items.map_type != "atomic":
                inner = child(child(path, "items"), "x-kubernetes-map-type")
                # The real server shows the list type of the items here, which objects do not have.
                errors.append(invalid(inner, items.list_type, detail))
    if kind is not None and kind not in ("atomic", "set", "map"):
        errors.append(not_supported(where, kind, ("atomic", "set", "map")))
    if schema.list_map_keys and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(required(where, detail) if kind is None else invalid(where, kind, detail))
    if kind == "map":
        _list_map(schema, path, errors)


def _list_map(schema: Schema, path: str, errors: list[FieldError]) -> None:
    items, where = schema.items, child(path, "x-kubernetes-list-map-keys")
    if not schema.list_map_keys:
        errors.append(required(where, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        errors.append(required(child(path, "items"), "must have a schema if x-kubernetes-list-type is map"))
        return
    if isinstance(items, list):
        detail = "must only have a single schema if x-kubernetes-list-type is map"
        errors.append(invalid(child(path, "items"), OMITTED, detail))
        return
    if items.type != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(invalid(child(child(path, "items"), "type"), items.type, detail))
        return
    seen = set()
    for name in schema.list_map_keys:
        declared = items.properties.get(name)
        if declared is None:
            errors.append(invalid(where, schema.list_map_keys, "entries must all be names of item properties"))
        elif declared.type in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            # The real server shows the type of the items, not of the key.
            errors.append(invalid(child(_item_property(path, name), "type"), items.type, detail))
        if name in seen:
            errors.append(invalid(where, schema.list_map_keys, "must not contain duplicate entries"))
        seen.add(name)


def _list_items(schema: Schema, path: str, errors: list[FieldError]) -> None:
    """Checks that items of sets and maps are not nullable, and that every item of a map has its keys."""
    items = schema.items
    if not isinstance(items, Schema) or schema.list_type not in ("set", "map"):
        return
    if items.nullable:
        detail = f"cannot be nullable when x-kubernetes-list-type is {schema.list_type}"
        errors.append(forbidden(child(child(path, "items"), "nullable"), detail))
    if schema.list_type == "set":
        return
    for name in schema.list_map_keys:
        declared = items.properties.get(name)
        if declared is None:
            continue
        prefix = "this property is in x-kubernetes-list-map-keys, so it"
        where = _item_property(path, name)
        if name not in items.required and declared.default in (UNSET, None):
            errors.append(required(child(where, "default"), f"{prefix} must have a default or be a required property"))
        if declared.nullable:
            errors.append(forbidden(child(where, "nullable"), f"{prefix} cannot be nullable"))


def _item_property(path: str, name: str) -> str:
    return key(child(child(path, "items"), "properties"), name)
