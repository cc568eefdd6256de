"""The generator: makes functions of schema nodes, each when it is first called, and links them with each other.

Every object and list of a schema becomes one function. A huge schema thus costs only what its objects use, and one that
refers to itself needs no more care. The functions see each other through one namespace, which is the generator's own.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from setpoint.objects.tree import Json, copy
from setpoint.schema.compile.function_source import Body, Function, Keep, Walk
from setpoint.schema.listtype import repeated, validate_list_types
from setpoint.schema.numbers import whole
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View
from setpoint.schema.violations import find_violations, in_enum, is_multiple, types_of
from setpoint.schema.work_limits import MOST_STEPS, TooManySteps

# How many functions one object may have compiled, and how many one schema may have at all. A function takes a fraction
# of a millisecond to compile, and the exact way through a value takes far less.
PER_OBJECT = 32
# From this call on, a function has cost more without being compiled than compiling it takes.
WORTH_COMPILING = 64
PER_SCHEMA = 8192


class Generator:
    """Makes the functions of one schema. They live as long as it does, and nowhere else.

    Every object may have a few functions compiled. Where it needs more of them, the exact way takes their place, so
    that the first object of a huge schema costs about as much as any other.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.left, self.steps = PER_OBJECT, MOST_STEPS
        self.compiled = 0
        self._numbers = count()
        self.names: dict[str, Any] = {
            "copy": copy,
            "in_enum": in_enum,
            "is_multiple": is_multiple,
            "repeated": repeated,
            "whole": whole,
            "once": _once,
        }
        # By identity of the node; the node is kept so that its identity stays its own.
        self._made: dict[tuple[int, Walk, Keep, bool], tuple[str, Schema]] = {}

    def charge(self, steps: int) -> None:
        """Counts the alternatives that are held against a value. Raises `TooManySteps`."""
        self.steps -= steps
        if self.steps < 0:
            raise TooManySteps

    def bind(self, prefix: str, value: Any) -> str:
        """A name for a value in the generated code."""
        name = f"{prefix}_{next(self._numbers)}"
        self.names[name] = value
        return name

    def function(self, schema: Schema, walk: Walk, keep: Keep = Keep.NOTHING, resource: bool = False) -> str:
        """The name of the function for a node; it is generated at its first call."""
        schema = self.view(schema)
        if walk is Walk.CHECK:
            keep, resource = Keep.NOTHING, False
        key = (id(schema), walk, keep, resource)
        if key not in self._made:
            name = f"{walk.value}_{next(self._numbers)}"

            calls = 0

            def link(value: Json) -> object:
                nonlocal calls
                calls += 1
                if (self.left <= 0 and calls < WORTH_COMPILING) or self.compiled >= PER_SCHEMA:
                    return walk is Walk.CHECK and self._is_right(value, schema)
                self.left -= 1
                self.compiled += 1
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

        def enter(tree: Json) -> object:
            self.left, self.steps = PER_OBJECT, MOST_STEPS
            return self.names[name](tree)

        return enter

    def _is_right(self, value: Json, schema: Schema) -> bool:
        """The check of a node without a function of its own."""
        return not find_violations(value, schema, view=self.view) and not validate_list_types(
            value, schema, view=self.view
        )

    def passes(self, schema: Schema, value: Json) -> object:
        """Whether the check of a node finds nothing wrong with a value."""
        return self.names[self.function(schema, Walk.CHECK)](value)

    def branch(self, schema: Schema, precise: bool) -> str:
        """The name of the check of an alternative; `precise` where a cautious False would turn into a wrong True."""
        if not precise or _is_precise(self.view(schema), self.view):
            return self.function(schema, Walk.CHECK)
        return self.bind("exact", lambda value: not find_violations(value, schema, view=self.view))


def _once(verdicts: Iterator[object]) -> bool:
    """Tells whether just one of the verdicts is a yes."""
    return any(verdicts) and not any(verdicts)


def _is_precise(schema: Schema, view: View) -> bool:
    """Whether the generated check of an alternative says False only of wrong values."""
    if types_of(schema) or schema.format or schema.list_type or schema.ref:
        return False
    inner = [*schema.properties.values(), *schema.all_of, *schema.any_of, *schema.one_of]
    inner += [node for node in (schema.items, schema.additional_properties, schema.not_) if isinstance(node, Schema)]
    return all(_is_precise(view(node), view) for node in inner)
