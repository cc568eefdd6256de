"""Embedded resources: parts of an object that are whole objects themselves, with `apiVersion`, `kind` and `metadata`.

What metadata may hold is known to those who know object metadata; they lend it to this module as `ObjectMetaRules`.
"""

from typing import Protocol

from setpoint.objects.field import FieldError, child, index, invalid, key, required
from setpoint.objects.names import dns1035_label
from setpoint.objects.tree import Json, Object
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view


class ObjectMetaRules(Protocol):
    """What an embedded resource needs to know of object metadata."""

    def coerce(self, metadata: Json, path: str) -> tuple[Object, list[str]]:
        """The metadata without fields that no object has, and the paths of those. Raises ValueError with the fault."""

    def validate(self, metadata: Object, path: str) -> list[FieldError]:
        """What is wrong with the metadata of an embedded object (which needs no name)."""


def has_embedded(schema: Schema, view: View = plain_view) -> bool:
    """Whether a schema has embedded resources anywhere. References are followed once each."""
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        node = view(waiting.pop())
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.embedded_resource:
            return True
        waiting.extend(node.properties.values())
        waiting.extend(inner for inner in (node.items, node.additional_properties) if isinstance(inner, Schema))
    return False


def coerce_embedded(
    tree: Json, schema: Schema, path: str, meta: ObjectMetaRules | None, *, view: View = plain_view
) -> tuple[list[FieldError], list[str]]:
    """Makes the metadata of embedded resources what metadata is, in place: unknown fields go, and are told by path.

    Gives the first fault, where there is one, and the paths.
    """
    dropped: list[str] = []
    fault = _coerce(tree, schema, path, meta, view, dropped)
    return ([fault] if fault else []), sorted(dropped)


def _coerce(
    tree: Json, schema: Schema, path: str, meta: ObjectMetaRules | None, view: View, dropped: list[str]
) -> FieldError | None:
    schema = view(schema)
    if schema.embedded_resource and type(tree) is dict:
        for name in ("apiVersion", "kind"):
            if name in tree and type(tree[name]) is not str:
                return invalid(child(path, name), tree[name], "must be a string")
        if "metadata" in tree and meta is not None:
            where = child(path, "metadata")
            try:
                tree["metadata"], unknown = meta.coerce(tree["metadata"], where)
            except ValueError as error:
                return invalid(where, tree["metadata"], str(error))
            dropped.extend(unknown)
    for value, inner, where in _inside(tree, schema, path):
        if fault := _coerce(value, inner, where, meta, view, dropped):
            return fault
    return None


def validate_embedded(
    tree: Json, schema: Schema, path: str, meta: ObjectMetaRules | None, *, view: View = plain_view
) -> list[FieldError]:
    """What is wrong with the `apiVersion`, `kind` and `metadata` of embedded resources."""
    schema = view(schema)
    errors: list[FieldError] = []
    if schema.embedded_resource and type(tree) is dict:
        errors += _validate_resource(tree, path, meta)
    for value, inner, where in _inside(tree, schema, path):
        errors += validate_embedded(value, inner, where, meta, view=view)
    return errors


def _validate_resource(resource: Object, path: str, meta: ObjectMetaRules | None) -> list[FieldError]:
    errors = [required(child(path, name)) for name in ("apiVersion", "kind") if name not in resource]
    for name in ("apiVersion", "kind"):
        value, where = resource.get(name, "v1"), child(path, name)
        if type(value) is not str:
            errors.append(invalid(where, value, "must be a string"))
        elif not value:
            errors.append(invalid(where, value, "must not be empty"))
        elif name == "apiVersion" and value.count("/") > 1:
            errors.append(invalid(where, value, f"unexpected GroupVersion string: {value}"))
        elif name == "kind" and (faults := dns1035_label(value.lower())):
            text = f"may have mixed case, but should otherwise match: {','.join(faults)}"
            errors.append(invalid(where, value, text))
    if meta is not None and type(resource.get("metadata")) is dict:
        errors += meta.validate(resource["metadata"], child(path, "metadata"))
    return errors


def _inside(tree: Json, schema: Schema, path: str) -> list[tuple[Json, Schema, str]]:
    """The containers directly inside a tree, each with its schema and path."""
    found: list[tuple[Json, Schema, str]] = []
    if type(tree) is dict:
        extra = schema.additional_properties
        for name, value in tree.items():
            if type(value) not in (dict, list):
                continue
            if name in schema.properties:
                found.append((value, schema.properties[name], child(path, name)))
            elif isinstance(extra, Schema):
                found.append((value, extra, key(path, name)))
    elif type(tree) is list and isinstance(schema.items, Schema):
        items = schema.items
        found.extend((v, items, index(path, at)) for at, v in enumerate(tree) if type(v) in (dict, list))
    return found
