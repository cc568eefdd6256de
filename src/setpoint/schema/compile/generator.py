"""The generator: makes functions of schema nodes, each when it is first called, and links them with each other.

Every object and list of a schema becomes one function. A huge schema thus costs only what its objects use, and one that
refers to itself needs no more care. The functions see each other through one namespace, which is the generator's own.
"""

from typing import Any

from setpoint.objects.tree import Json, copy
from setpoint.schema.compile.source import Body, Function, Keep, Walk
from setpoint.schema.listtype import repeated
from setpoint.schema.numbers import whole
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View
from setpoint.schema.violations import find_violations, in_enum, is_multiple, types_of


class Generator:
    """Makes the functions of one schema. They live as long as it does, and nowhere else."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.names: dict[str, Any] = {
            "copy": copy,
            "in_enum": in_enum,
            "is_multiple": is_multiple,
            "repeated": repeated,
            "whole": whole,
        }
        # By identity of the node; the node is kept so that its identity stays its own.
        self._made: dict[tuple[int, Walk, Keep, bool], tuple[str, Schema]] = {}

    def bind(self, prefix: str, value: Any) -> str:
        """A name for a value in the generated code."""
        name = f"{prefix}_{len(self.names)}"
        self.names[name] = value
        return name

    def function(self, schema: Schema, walk: Walk, keep: Keep = Keep.NOTHING, resource: bool = False) -> str:
        """The name of the function for a node; it is generated at its first call."""
        schema = self.view(schema)
        if walk is Walk.CHECK:
            keep, resource = Keep.NOTHING, False
        key = (id(schema), walk, keep, resource)
        if key not in self._made:
            name = f"{walk.value}_{len(self.names)}"

            def link(value: Json) -> object:
                source = Body(self, name, schema, walk, keep, resource).source()
                exec(compile(source, f"<schema {name}>", "exec"), self.names)
                function: Function = self.names[name]
                return function(value)

            self.names[name] = link
            self._made[key] = (name, schema)
        return self._made[key][0]

    def entry(self, schema: Schema, walk: Walk, resource: bool) -> Function:
        """The function for a whole tree, to be called from outside."""
        name = self.function(schema, walk, resource=resource)
        return lambda tree: self.names[name](tree)

    def passes(self, schema: Schema, value: Json) -> object:
        """Whether the check of a node finds nothing wrong with a value."""
        return self.names[self.function(schema, Walk.CHECK)](value)

    def branch(self, schema: Schema, precise: bool) -> str:
        """The name of the check of an alternative; `precise` where a cautious False would turn into a wrong True."""
        if not precise or _is_precise(self.view(schema), self.view):
            return self.function(schema, Walk.CHECK)
        return self.bind("exact", lambda value: not find_violations(value, schema, view=self.view))


def _is_precise(schema: Schema, view: View) -> bool:
    """Whether the generated check of an alternative says False only of wrong values."""
    if types_of(schema) or schema.format or schema.list_type or schema.ref:
        return False
    inner = [*schema.properties.values(), *schema.all_of, *schema.any_of, *schema.one_of]
    inner += [node for node in (schema.items, schema.additional_properties, schema.not_) if isinstance(node, Schema)]
    return all(_is_precise(view(node), view) for node in inner)
