"""Nulls and defaults: the changes of an object before its validation.

A null that is not allowed counts as a missing field: the field is removed, or gets its default. A null that is allowed
is kept, and never defaulted. Defaults are set wherever the containing object exists.
"""

from msgspec import UNSET

from setpoint.objects.tree import Json, copy
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view


def has_default(schema: Schema) -> bool:
    """Returns True if a schema has a default. A default of null counts as none, as on the real server."""
    return schema.default is not UNSET and schema.default is not None


def default_of(schema: Schema, view: View = plain_view) -> Json:
    """Returns a copy of the default of a schema for insertion: without nulls that are not allowed."""
    value = copy(schema.default)
    if type(value) in (dict, list):
        drop_nulls(value, schema, view=view)
    return value


def drop_nulls(tree: Json, schema: Schema, *, view: View = plain_view) -> None:
    """Removes, in place, the null fields and map values that must not be null and have no default."""
    schema = view(schema)
    if type(tree) is list:
        if isinstance(schema.items, Schema):
            for item in tree:
                if type(item) in (dict, list):
                    drop_nulls(item, schema.items, view=view)
        return
    if type(tree) is not dict:
        return
    properties, extra = schema.properties, schema.additional_properties
    gone = []
    for name, value in tree.items():
        inner = properties.get(name, extra)
        if not isinstance(inner, Schema):
            continue
        if value is None:
            inner = view(inner)
            if not inner.nullable and not has_default(inner):
                gone.append(name)
        elif type(value) in (dict, list):
            drop_nulls(value, inner, view=view)
    for name in gone:
        del tree[name]


def default(tree: Json, schema: Schema, *, view: View = plain_view) -> None:
    """Sets missing fields that have a default, in place, including those in list items and map values."""
    schema = view(schema)
    if type(tree) is list:
        if isinstance(schema.items, Schema):
            items = view(schema.items)
            for position, item in enumerate(tree):
                if item is None and not items.nullable and has_default(items):
                    item = tree[position] = default_of(items, view)
                if type(item) in (dict, list):
                    default(item, items, view=view)
        return
    if type(tree) is not dict:
        return
    properties, extra = schema.properties, schema.additional_properties
    for name, declared in properties.items():
        node = view(declared)
        if has_default(node) and (name not in tree or (tree[name] is None and not node.nullable)):
            tree[name] = default_of(node, view)
    for name, value in tree.items():
        found = properties.get(name, extra)
        if not isinstance(found, Schema):
            continue
        inner = view(found)
        if value is None and not inner.nullable and has_default(inner):
            value = tree[name] = default_of(inner, view)
        if type(value) in (dict, list):
            default(value, inner, view=view)
