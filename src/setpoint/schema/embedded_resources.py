"""Embedded resources: parts of an object that are themselves objects, with `apiVersion`, `kind` and `metadata`."""

from setpoint.objects import metavalidation, objectmeta
from setpoint.objects.field import FieldError, child, index, invalid, key, required, without_repeats
from setpoint.objects.names import dns1035_label, path_segment
from setpoint.objects.tree import Json, Object
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view


class EmbeddedResourceError(ValueError):
    """The metadata of an embedded resource cannot be read. The message names the field."""


def has_embedded(schema: Schema, view: View = plain_view) -> bool:
    """Returns True if a schema has embedded resources at any level. Each reference is followed once."""
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
    tree: Json, schema: Schema, path: str, *, view: View = plain_view
) -> tuple[FieldError | None, list[str]]:
    """Normalizes the metadata of embedded resources in place: removes unknown fields and reports their paths.

    Returns the first fault, if any, and the paths. After a fault the tree is unusable.
    """
    dropped: list[str] = []
    fault = _coerce(tree, schema, path, view, dropped)
    return fault, sorted(dropped)


def _coerce(tree: Json, schema: Schema, path: str, view: View, dropped: list[str]) -> FieldError | None:
    schema = view(schema)
    if schema.embedded_resource and type(tree) is dict:
        for name in ("apiVersion", "kind"):
            if name in tree and type(tree[name]) is not str:
                return invalid(child(path, name), tree[name], "must be a string")
        if "metadata" in tree:
            where = child(path, "metadata")
            try:
                tree["metadata"], unknown = objectmeta.coerce(tree["metadata"], path=where)
            except ValueError as error:
                return invalid(where, tree["metadata"], str(error))
            dropped.extend(unknown)
    for value, inner, where in _inside(tree, schema, path):
        if fault := _coerce(value, inner, where, view, dropped):
            return fault
    return None


def validate_embedded(tree: Json, schema: Schema, path: str, *, view: View = plain_view) -> list[FieldError]:
    """Returns the errors of the `apiVersion`, `kind` and `metadata` of embedded resources."""
    schema = view(schema)
    errors: list[FieldError] = []
    if schema.embedded_resource and type(tree) is dict:
        errors += _validate_resource(tree, path)
    for value, inner, where in _inside(tree, schema, path):
        errors += validate_embedded(value, inner, where, view=view)
    return errors


def _validate_resource(resource: Object, path: str) -> list[FieldError]:
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
    return errors + _validate_metadata(resource, path) if "metadata" in resource else errors


def _validate_metadata(resource: Object, path: str) -> list[FieldError]:
    where = child(path, "metadata")
    try:
        metadata = objectmeta.coerce(resource["metadata"], path=where).metadata
    except ValueError as error:
        return [invalid(where, resource["metadata"], str(error))]
    # An embedded object needs no name, and may have any namespace.
    named = metadata if metadata.get("name") else {**metadata, "name": "unnamed"}
    return without_repeats(
        metavalidation.validate_create(
            named, namespaced=bool(metadata.get("namespace")), name_rule=path_segment, path=where
        )
    )


def _inside(tree: Json, schema: Schema, path: str) -> list[tuple[Json, Schema, str]]:
    """Returns the containers directly inside a tree, each with its schema and path."""
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
