"""The generator: creates the functions of schema nodes, each on its first call, and links them.

Every object and list of a schema becomes one function. A huge schema thus costs only as much as its objects use, and a
recursive schema needs no special handling. The functions share one namespace, which the generator owns.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from setpoint.objects.tree import Json, copy
from setpoint.schema.compile.function_source import Body, Function, Keep, Traversal
from setpoint.schema.listtype import repeated, validate_list_types
from setpoint.schema.numbers import as_integer
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View
from setpoint.schema.violations import find_violations, in_enum, is_multiple, types_of
from setpoint.schema.work_limits import MOST_STEPS, TooManySteps

# The maximum number of functions compiled for one object, and for one schema. Compiling a function takes a fraction of
# a millisecond; the exact implementation takes far less for one value.
PER_OBJECT = 32
# From this call on, a function has cost more without being compiled than compiling the function takes.
WORTH_COMPILING = 64
PER_SCHEMA = 8192


class Generator:
    """Creates the functions of one schema. They exist as long as the generator.

    Every object may compile a few functions. If an object needs more, the exact implementation replaces them, so that
    the first object of a huge schema costs about as much as any other.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        # The remaining functions and steps of the current object; the caller resets them for each object.
        self.left, self.steps = PER_OBJECT, MOST_STEPS
        self.compiled = 0
        self._numbers = count()
        self.names: dict[str, Any] = {
            "copy": copy,
            "in_enum": in_enum,
            "is_multiple": is_multiple,
            "repeated": repeated,
            "whole": as_integer,
            "once": _once,
        }
        # By identity of the node; the node is kept so that its identity is not reused.
        self._made: dict[tuple[int, Traversal, Keep, bool], tuple[str, Schema]] = {}

    def charge(self, steps: int) -> None:
        """Counts the alternatives that a value is compared with. Raises `TooManySteps`."""
        self.steps -= steps
        if self.steps < 0:
            raise TooManySteps

    def bind(self, prefix: str, value: Any) -> str:
        """Binds a value to a new name in the generated code, and returns the name."""
        name = f"{prefix}_{next(self._numbers)}"
        self.names[name] = value
        return name

    def function(self, schema: Schema, walk: Traversal, keep: Keep = Keep.NOTHING, resource: bool = False) -> str:
        """Returns the name of the function for a node, which is generated on its first call."""
        schema = self.view(schema)
        if walk is Traversal.CHECK:
            keep, resource = Keep.NOTHING, False
        key = (id(schema), walk, keep, resource)
        if key not in self._made:
            name = f"{walk.value}_{next(self._numbers)}"

            calls = 0

            def link(value: Json) -> object:
                nonlocal calls
                calls += 1
                if (self.left <= 0 and calls < WORTH_COMPILING) or self.compiled >= PER_SCHEMA:
                    return walk is Traversal.CHECK and self._is_right(value, schema)
                self.left -= 1
                self.compiled += 1
                source = Body(self, name, schema, walk, keep, resource).source()
                exec(compile(source, f"<schema {name}>", "exec"), self.names)
                function: Function = self.names[name]
                return function(value)

            self.names[name] = link
            self._made[key] = (name, schema)
        return self._made[key][0]

    def _is_right(self, value: Json, schema: Schema) -> bool:
        """Checks a node without a function of its own."""
        return not find_violations(value, schema, view=self.view) and not validate_list_types(
            value, schema, view=self.view
        )

    def passes(self, schema: Schema, value: Json) -> object:
        """Returns True if the check of a node accepts a value."""
        return self.names[self.function(schema, Traversal.CHECK)](value)

    def branch(self, schema: Schema, precise: bool) -> str:
        """Returns the name of the check of an alternative; `precise` is for contexts in which a cautious False would
        become a wrong True."""
        if not precise or _is_precise(self.view(schema), self.view):
            return self.function(schema, Traversal.CHECK)
        return self.bind("exact", lambda value: not find_violations(value, schema, view=self.view))


def _once(verdicts: Iterator[object]) -> bool:
    """Returns True if exactly one of the verdicts is true."""
    return any(verdicts) and not any(verdicts)


def _is_precise(schema: Schema, view: View) -> bool:
    """Returns True if the generated check of an alternative returns False only for invalid values."""
    if types_of(schema) or schema.format or schema.list_type or schema.ref:
        return False
    inner = [*schema.properties.values(), *schema.all_of, *schema.any_of, *schema.one_of]
    inner += [node for node in (schema.items, schema.additional_properties, schema.not_) if isinstance(node, Schema)]
    return all(_is_precise(view(node), view) for node in inner)
