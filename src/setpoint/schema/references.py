"""Schemas with references: the built-in kinds refer to their parts by `$ref`, and some definitions are recursive.

Code that traverses a schema reads each node through a `View`, which replaces a reference by the referenced node. A CRD
has no references, and `plain_view` returns its nodes unchanged.
"""

from collections.abc import Callable

import msgspec

from setpoint.schema.openapi import Schema

View = Callable[[Schema], Schema]
Resolve = Callable[[str], Schema]

# The keywords beside a reference that override those of the referenced node.
_BESIDE = ("default", "nullable", "list_type", "list_map_keys", "map_type", "patch_strategy", "patch_merge_key")


def plain_view(schema: Schema) -> Schema:
    """The view of schemas without references: returns each node unchanged."""
    return schema


class ResolvingView:
    """A view that follows references. Returns the same node for the same reference every time."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        # By identity of the referring node, which is kept so that its identity is not reused.
        self._seen: dict[int, tuple[Schema, Schema]] = {}

    def __call__(self, schema: Schema) -> Schema:
        if schema.ref is None and not (len(schema.all_of) == 1 and schema.all_of[0].ref is not None):
            return schema
        seen = self._seen.get(id(schema))
        if seen is None:
            seen = self._seen[id(schema)] = (schema, self._follow(schema))
        return seen[1]

    def _follow(self, schema: Schema) -> Schema:
        node, hops = schema, 0
        while (ref := node.ref if node.ref is not None else _only_ref(node)) is not None:
            node, hops = self._resolve(ref), hops + 1
            if hops > 32:
                raise ValueError(f"the reference {ref} leads in a circle")
        beside = {name: value for name in _BESIDE if (value := getattr(schema, name)) != getattr(_EMPTY, name)}
        return msgspec.structs.replace(node, **beside) if beside else node


def _only_ref(schema: Schema) -> str | None:
    return schema.all_of[0].ref if len(schema.all_of) == 1 else None


_EMPTY = Schema()
