"""Numbers as the API stores them: an integral float is an integer.

`3.0` is read as 3 wherever a number is expected, as after a round trip through the real server's store.
"""

from typing import Any

from setpoint.objects.tree import Json
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view

EXACT = 2**53 - 1
_NUMERIC = ("integer", "number")


def as_integer(value: Any) -> Any:
    """Returns an integral float as an integer; any other float, or one too large to be exact, unchanged."""
    return int(value) if -EXACT <= value <= EXACT and value == int(value) else value


def is_numeric(schema: Schema) -> bool:
    """Returns True if the type of a schema allows numbers."""
    return schema.int_or_string or schema.type in _NUMERIC


def normalize(tree: Json, schema: Schema, *, view: View = plain_view) -> None:
    """Converts integral floats to integers, in place, wherever the schema of the tree expects numbers."""
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
        return as_integer(value) if is_numeric(view(schema)) else value
    if type(value) in (dict, list):
        normalize(value, schema, view=view)
    return value


def has_untyped(schema: Schema) -> bool:
    """Returns True if a schema allows values of any type, at any level."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if node.preserve_unknown_fields or not (node.type or node.int_or_string):
            return True
        waiting.extend(node.properties.values())
        waiting.extend(inner for inner in (node.items, node.additional_properties) if isinstance(inner, Schema))
    return False


def normalize_all(tree: Json) -> None:
    """Converts all integral floats to integers, in place."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for place, value in node.items() if type(node) is dict else enumerate(node):
            if type(value) is float:
                node[place] = as_integer(value)
            elif type(value) is dict or type(value) is list:
                waiting.append(value)
