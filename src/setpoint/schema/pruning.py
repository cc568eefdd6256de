"""Removes unknown fields from an object, and reports them.

The root of a resource, and every embedded one, keeps `apiVersion`, `kind` and `metadata`. A schema that preserves
unknown fields keeps them at its level; declared fields below are still pruned by their own schemas.
"""

from setpoint.objects.tree import Json
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
# The maximum number of removed fields that are reported for one object.
REPORTED = 100


def prune(tree: Json, schema: Schema, *, root: bool = True, view: View = plain_view) -> list[str]:
    """Prunes a tree in place. Returns the paths of the removed fields (`spec.items[0].zz`) in order, at most a hundred.

    `root` is True if the tree is a resource; a part of a resource is pruned only by its schema.
    """
    dropped: list[str] = []
    _prune(tree, schema, "", False, root, view, dropped)
    dropped.sort()
    return dropped[:REPORTED]


def _prune(
    tree: Json, schema: Schema | None, path: str, keep: bool, resource: bool, view: View, dropped: list[str]
) -> None:
    """Prunes one node; `keep` is True if an enclosing list preserves the unknown fields of its items."""
    if schema is not None:
        schema = view(schema)
        keep = keep or bool(schema.preserve_unknown_fields)
    if type(tree) is list:
        items = schema.items if schema is not None else None
        if keep and items is None:
            return
        for position, item in enumerate(tree):
            if type(item) in (dict, list):
                inner = items if isinstance(items, Schema) else None
                _prune(item, inner, f"{path}[{position}]", keep and inner is not None, False, view, dropped)
        return
    if type(tree) is not dict:
        return
    if schema is None:
        dropped.extend(f"{path}.{name}" if path else name for name in tree)
        tree.clear()
        return
    properties, extra = schema.properties, schema.additional_properties
    resource = resource or schema.embedded_resource
    unknown = []
    for name, value in tree.items():
        if resource and name in META_FIELDS:
            continue
        inner = properties.get(name)
        if inner is None and extra is None:
            if not keep:
                unknown.append(name)
        elif type(value) in (dict, list):
            if inner is None:
                inner = extra if isinstance(extra, Schema) else None
            _prune(value, inner, f"{path}.{name}" if path else name, False, False, view, dropped)
    for name in unknown:
        del tree[name]
        dropped.append(f"{path}.{name}" if path else name)
