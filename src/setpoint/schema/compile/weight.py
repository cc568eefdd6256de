"""Schemas that ask for so much that even a small object takes long."""

from setpoint.schema.defaulting import has_default
from setpoint.schema.openapi import Schema

# So many alternatives, required fields or defaults of one node are looked at within a few milliseconds.
_FEW_BRANCHES = 100


def is_heavy(schema: Schema) -> bool:
    """Tells whether even a small object may take long: one node has very much to look at for each of its values."""
    waiting = [schema]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        branches = len(node.all_of) + len(node.any_of) + len(node.one_of) + len(node.required) // 10
        if branches > _FEW_BRANCHES or sum(map(has_default, node.properties.values())) > _FEW_BRANCHES:
            return True
        waiting.extend(node.inner())
    return False
