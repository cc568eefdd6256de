"""Numbers as the API keeps them: an integer that was written with a fraction of zero is an integer.

`3.0` is read as 3 wherever it stands for a number, as it would be after one trip through the store of the real server.
"""

from typing import Any

from setpoint.objects.tree import Json
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view

EXACT = 2**53 - 1
_NUMERIC = ("integer", "number")


def whole(value: Any) -> Any:
    """The integer that a float is, or the float itself where it is none (or too large to tell)."""
    return int(value) if -EXACT <= value <= EXACT and value == int(value) else value


def is_numeric(schema: Schema) -> bool:
    """Whether values of a schema may be numbers by its type."""
    return schema.int_or_string or schema.type in _NUMERIC


def normalize(tree: Json, schema: Schema, *, view: View = plain_view) -> None:
    """Makes integers of integral floats, in place, wherever the schema of the tree expects numbers."""
    schema = view(schema)
    if type(tree) is dict:
        for name, value in tree.items():
            inner = schema.properties.get(name, schema.additional_properties)
            if isinstance(inner, Schema):
                tree[name] = _normalized(value, inner, view)
    elif type(tree) is list and isinstance(schema.items, Schema):
        for position, value in enumerate(tree):
            tree[position] = _normalized(value, schema.items, view)


def _normalized(value: Json, schema: Schema, view: View) -> Json:
    if type(value) is float:
        return whole(value) if is_numeric(view(schema)) else value
    if type(value) in (dict, list):
        normalize(value, schema, view=view)
    return value
