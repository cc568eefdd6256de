"""Estimates the cost of schemas under which even a small object takes long."""

from setpoint.schema.defaulting import has_default
from setpoint.schema.openapi import Schema

# This many alternatives, required fields or defaults of one node are processed within a few milliseconds.
_FEW_BRANCHES = 100
# The weight of a schema under which every object takes long.
HEAVY = 1 << 30


def weight(schema: Schema) -> int:
    """Returns the maximum cost of an object under this schema, as a multiple of its cost under a plain schema.

    An empty item of a list gets all defaults of the item: the object grows, and its processing takes correspondingly
    longer. If one node needs very many checks for each of its values, every object takes long.
    """
    most = 0
    waiting = [(schema, False)]
    seen: set[int] = set()
    while waiting:
        node, is_item = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        branches = len(node.all_of) + len(node.any_of) + len(node.one_of) + len(node.required) // 10
        if branches > _FEW_BRANCHES:
            return HEAVY
        defaults = _defaults(node, _FEW_BRANCHES)
        if defaults > _FEW_BRANCHES:
            return HEAVY
        if is_item:
            most = max(most, defaults)
        waiting += [(inner, inner is node.items or inner is node.additional_properties) for inner in node.inner()]
    return 1 + most


def _defaults(node: Schema, limit: int) -> int:
    """Returns the number of defaults that an empty object gets, including nested ones; stops above the limit."""
    found, waiting = 0, [node]
    while waiting and found <= limit:
        for inner in waiting.pop().properties.values():
            if has_default(inner):
                found += 1
                waiting.append(inner)
    return found
