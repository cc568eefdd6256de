"""The source of the generated functions: each traverses one value of a schema and returns True if the value is valid.

There are three traversals. `NORMALIZE` prunes, drops nulls, sets defaults and converts integers; `CHECK` validates
without changes; `BOTH` does both at once. Every function returns False at the first invalid or unusual value (an
unknown field, a null inside a list): its changes so far are correct, and the exact implementation does the rest. True
means that no field was unknown, and, for a traversal that checks, that the value is valid.

Names and texts of a schema are inserted into the source only as literals made by `repr`.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, Protocol

from setpoint.objects.tree import Json
from setpoint.schema.compile.scalars import (
    float_conditions,
    integer_conditions,
    scalar_condition,
    string_conditions,
    type_condition,
)
from setpoint.schema.defaulting import default, default_of, has_default
from setpoint.schema.listtype import validate_list_types
from setpoint.schema.numbers import is_numeric, normalize
from setpoint.schema.openapi import Schema
from setpoint.schema.pruning import META_FIELDS
from setpoint.schema.references import View
from setpoint.schema.violations import find_violations, known_format, types_of

Function = Callable[[Json], object]

# An object with at least this many properties is traversed by its present fields, not by the declared ones.
WIDE = 20
# A function with at least this many alternatives, required fields or defaults has a loop instead of a line for each:
# this bounds the time of `compile`, which blocks all other threads.
MANY = 16
# Longer texts are not inserted into the source.
_LONG_TEXT = 1000


class Traversal(Enum):
    NORMALIZE = "admit"
    CHECK = "check"
    BOTH = "both"


class Keep(Enum):
    """The handling of unknown fields: removed, kept at this level, or kept at all levels below."""

    NOTHING = 0
    HERE = 1
    ALL = 2


class _Lines(list[str]):
    """Source lines under construction."""

    def add(self, depth: int, *lines: str) -> None:
        self.extend("    " * depth + line for line in lines)


class _Table(dict[str, "Function | None"]):
    """The functions of the properties of a wide object, each created on first use."""

    def __init__(self, make: Callable[[str], "Function | None"]) -> None:
        self.make = make

    def __missing__(self, name: str) -> "Function | None":
        function = self.make(name)
        if function is not None:
            self[name] = function
        return function


class Functions(Protocol):
    """The functions of a schema, by their names in the generated code."""

    view: View
    names: dict[str, Any]

    def bind(self, prefix: str, value: Any) -> str: ...

    def branch(self, schema: Schema, precise: bool) -> str: ...

    def charge(self, steps: int) -> None: ...

    def function(self, schema: Schema, walk: Traversal, keep: Keep = ..., resource: bool = ...) -> str: ...


class Body:
    """The source of one function."""

    def __init__(
        self, generator: Functions, name: str, schema: Schema, walk: Traversal, keep: Keep, resource: bool
    ) -> None:
        self.generator = generator
        self.view = generator.view
        self.bind = generator.bind
        self.name = name
        self.schema = schema
        self.walk = walk
        self.mutates = walk is not Traversal.CHECK
        self.checks = walk is not Traversal.NORMALIZE
        if schema.preserve_unknown_fields and keep is Keep.NOTHING:
            keep = Keep.HERE
        self.keep = keep
        self.resource = resource or schema.embedded_resource
        self.lines = _Lines()

    def source(self) -> str:
        schema, lines = self.schema, self.lines
        lines.add(0, f"def {self.name}(x):")
        condition = self.scalar_condition(schema, "x")
        if condition is not None:
            self.scalar(condition)
        elif schema.type == "object":
            lines.add(1, "if type(x) is not dict:", "    return False")
            self.object(1)
            self.node_checks(1)
            lines.add(1, "return True")
        elif schema.type == "array":
            lines.add(1, "if type(x) is not list:", "    return False")
            self.list(1)
            self.node_checks(1)
            lines.add(1, "return True")
        else:
            self.any_type()
        return "\n".join(lines)

    # --- kinds of values ---

    def scalar(self, condition: str) -> None:
        """Writes the function of a scalar outside of its object: a field of a wide object, or an alternative."""
        lines = self.lines
        if self.mutates and is_numeric(self.schema):
            lines.add(1, "if type(x) is float and type(whole(x)) is int:", "    return False")
        lines.add(1, f"if not ({condition}):", "    return False")
        if self.checks:
            self.alternatives(1, "x")
        lines.add(1, "return True")

    def any_type(self) -> None:
        """Writes the function of a node without a type: each keyword applies to values of its type."""
        schema, lines = self.schema, self.lines
        if schema.type or (schema.format and known_format(schema)):
            # An unknown type, or a format without a type: left to the exact implementation.
            exact = self.bind("exact", lambda value: not find_violations(value, schema, view=self.view))
            lines.add(1, f"return {exact}(x)" if not self.mutates else "return False")
            return
        if self.mutates:
            lines.add(1, "if x is None:", "    return False")
        lines.add(1, "t = type(x)", "if t is dict:", "    pass")
        self.object(2)
        lines.add(1, "elif t is list:", "    pass")
        self.list(2)
        if self.checks:
            text = string_conditions(schema, "x", self.bind)
            if text:
                lines.add(1, "elif t is str:", f"    if not ({' and '.join(text)}):", "        return False")
            if schema.minimum is not None or schema.maximum is not None or schema.multiple_of is not None:
                for kind, conditions in (
                    ("int", integer_conditions(schema, "x")),
                    ("float", float_conditions(schema, "x")),
                ):
                    lines.add(1, f"elif t is {kind}:", f"    if not ({' and '.join(conditions)}):")
                    lines.add(1, "        return False")
        self.node_checks(1)
        lines.add(1, "return True")

    def node_checks(self, depth: int) -> None:
        """Writes the checks for values of every kind: the enum and the alternatives."""
        if not self.checks:
            return
        if self.schema.enum:
            condition = f"if not in_enum(x, {self.bind('enum', self.schema.enum)}):"
            self.lines.add(depth, condition, "    return False")
        self.alternatives(depth, "x")

    def alternatives(self, depth: int, value: str) -> None:
        for condition in self.alternative_conditions(self.schema, value):
            self.lines.add(depth, f"if not ({condition}):", "    return False")

    def alternative_conditions(self, schema: Schema, value: str) -> list[str]:
        found = []
        branch = self.generator.branch
        if schema.any_of and not _is_int_or_string(schema, schema.any_of):
            if len(schema.any_of) > MANY:
                found.append(f"any({self.branches(schema.any_of, False)}({value}))")
            else:
                found.append(" or ".join(f"{branch(node, False)}({value})" for node in schema.any_of))
        if schema.one_of:
            if len(schema.one_of) > MANY:
                found.append(f"once({self.branches(schema.one_of, True)}({value}))")
            else:
                calls = " + ".join(f"bool({branch(node, True)}({value}))" for node in schema.one_of)
                found.append(f"{calls} == 1")
        every = [
            node
            for node in schema.all_of
            if not (node.any_of and _is_int_or_string(schema, node.any_of) and _has_only_any_of(node))
        ]
        if len(every) > MANY:
            found.append(f"all({self.branches(every, False)}({value}))")
        else:
            found.extend(f"{branch(node, False)}({value})" for node in every)
        if schema.not_ is not None:
            found.append(f"not {branch(schema.not_, True)}({value})")
        return found

    def branches(self, nodes: "Sequence[Schema]", precise: bool) -> str:
        """Returns the name of a function that yields the verdicts of many alternatives."""
        names, functions = self.generator.names, [self.generator.branch(node, precise) for node in nodes]
        charge = self.generator.charge

        def verdicts(value: Json) -> Iterator[object]:
            charge(len(functions))
            return (names[function](value) for function in functions)

        return self.bind("branches", verdicts)

    # --- objects ---

    def object(self, depth: int) -> None:
        schema, lines = self.schema, self.lines
        known = frozenset(schema.properties) | (META_FIELDS if self.resource and self.mutates else frozenset())
        extra = schema.additional_properties
        closed = (extra is None and self.mutates and self.keep is Keep.NOTHING) or (extra is False and self.checks)
        wide = len(schema.properties) > WIDE
        if wide:
            self.wide_fields(depth, known, closed)
        else:
            self.fields(depth, known, closed)
        if extra is not None:
            self.extra_fields(depth, extra, known)
        if not self.checks:
            return
        named = [name for name in schema.required if wide or name not in schema.properties]
        if len(named) > MANY:
            lines.add(depth, f"if not {self.bind('required', frozenset(named))} <= x.keys():", "    return False")
        else:
            for name in named:
                lines.add(depth, f"if {name!r} not in x:", "    return False")
        if schema.min_properties:
            lines.add(depth, f"if len(x) < {schema.min_properties}:", "    return False")
        if schema.max_properties is not None:
            lines.add(depth, f"if len(x) > {schema.max_properties}:", "    return False")

    def below(self, name: str = "") -> Keep:
        """Returns the handling of unknown fields in a field of that name."""
        meta = self.resource and name in META_FIELDS
        return Keep.ALL if self.keep is Keep.ALL or meta else Keep.NOTHING

    def fields(self, depth: int, known: frozenset[str], closed: bool) -> None:
        """Writes the declared fields. Known fields are counted: a higher number of fields means an unknown one."""
        nodes = {name: self.view(node) for name, node in self.schema.properties.items()}
        sure = {name for name, node in nodes.items() if self.on_missing(name, node)}
        if closed:
            self.lines.add(depth, f"n = {len(sure)}")
        for name, node in nodes.items():
            self.field(depth, name, node, counted=closed and name not in sure)
        if closed:
            for name in sorted(known - nodes.keys()):
                self.lines.add(depth, f"if {name!r} in x:", "    n += 1")
            self.lines.add(depth, "if n != len(x):", "    return False")

    def field(self, depth: int, name: str, node: Schema, counted: bool) -> None:
        """Writes one declared field of `x`, including the cases of a missing or null field."""
        lines, key = self.lines, repr(name)
        condition = self.condition(node, "v", self.below(name))
        lines.add(depth, f"if {key} in x:", f"    v = x[{key}]")
        if counted:
            lines.add(depth, "    n += 1")
        if self.mutates and node.type == "number":
            lines.add(depth + 1, "if type(v) is float:", f"    v = x[{key}] = whole(v)")
        lines.add(depth + 1, f"if not ({condition}):")
        if self.mutates:
            lines.add(depth + 2, "if v is None:")
            lines.add(depth + 3, *self.on_null(name, node, counted))
            if is_numeric(node) and node.type != "number":
                lines.add(depth + 2, "elif type(v) is float:", f"    v = x[{key}] = whole(v)")
                lines.add(depth + 3, f"if not ({condition}):", "    return False")
            lines.add(depth + 2, "else:", "    return False")
        elif _allows_null(node):
            lines.add(depth + 2, "if v is not None:", "    return False")
        else:
            lines.add(depth + 2, "return False")
        missing = self.on_missing(name, node)
        if missing:
            lines.add(depth, "else:")
            lines.add(depth + 1, *missing)

    def on_null(self, name: str, node: Schema, counted: bool) -> list[str]:
        if node.nullable:
            return ["return False" if self.checks and node.enum else "pass"]
        if has_default(node):
            return self.set_default(repr(name), node)
        if self.checks and name in self.schema.required:
            return ["return False"]
        return [f"del x[{name!r}]", *(["n -= 1"] if counted else [])]

    def on_missing(self, name: str, node: Schema) -> list[str]:
        """Returns the lines for a missing field. After them, the field is present, or the function has returned."""
        if self.mutates and has_default(node):
            return self.set_default(repr(name), node)
        return ["return False"] if self.checks and name in self.schema.required else []

    def set_default(self, key: str, node: Schema) -> list[str]:
        value = self.final_default(node)
        if type(value) in (dict, list):
            lines = [f"x[{key}] = copy({self.bind('default', value)})"]
        elif type(value) is str and len(value) > _LONG_TEXT:
            lines = [f"x[{key}] = {self.bind('default', value)}"]
        else:
            lines = [f"x[{key}] = {value!r}"]
        if self.is_wrong(value, node):
            lines.append("return False")
        return lines

    def final_default(self, node: Schema) -> Json:
        """Returns a default in its final form: with the defaults inside, and converted integers."""
        holder = {"value": default_of(node, self.view)}
        if type(holder["value"]) in (dict, list):
            default(holder["value"], node, view=self.view)
        normalize(holder, Schema(properties={"value": node}), view=self.view)
        return holder["value"]

    def is_wrong(self, value: Json, node: Schema) -> bool:
        return self.checks and bool(
            find_violations(value, node, view=self.view) or validate_list_types(value, node, view=self.view)
        )

    def many_defaults(self, depth: int, nodes: dict[str, Schema]) -> None:
        """Writes the defaults of a wide object as a loop. An invalid one, which needs the exact implementation, is
        last."""
        table = [(name, value := self.final_default(node), self.is_wrong(value, node)) for name, node in nodes.items()]
        right = [(name, value, type(value) in (dict, list)) for name, value, wrong in table if not wrong]
        self.lines.add(
            depth,
            f"for k, d, c in {self.bind('defaults', right)}:",
            "    if k not in x:",
            "        x[k] = copy(d) if c else d",
        )
        wrong = frozenset(name for name, _, wrong in table if wrong)
        if wrong:
            self.lines.add(depth, f"if not {self.bind('wrong', wrong)} <= x.keys():", "    return False")

    def wide_fields(self, depth: int, known: frozenset[str], closed: bool) -> None:
        schema, lines, generator = self.schema, self.lines, self.generator

        def make(name: str) -> Function | None:
            node = schema.properties.get(name)
            if node is None:
                return None
            function = generator.function(node, self.walk, self.below(name))

            def first(value: Json) -> object:
                found = generator.names[function](value)
                # By now the real function has replaced the one that creates it.
                table[name] = generator.names[function]
                return found

            return first

        table = _Table(make)
        lines.add(depth, "for k, v in x.items():", f"    f = {self.bind('fields', table)}[k]", "    if f is None:")
        if closed and self.resource and self.mutates:
            lines.add(depth + 2, f"if k not in {self.bind('known', known)}:", "    return False")
        else:
            lines.add(depth + 2, "return False" if closed else "pass")
        lines.add(depth + 1, "elif not f(v):")
        if self.mutates:
            lines.add(depth + 2, "return False")
        else:
            nullable = {name for name, node in schema.properties.items() if _allows_null(self.view(node))}
            lines.add(depth + 2, f"if v is not None or k not in {self.bind('nullable', frozenset(nullable))}:")
            lines.add(depth + 3, "return False")
        if self.mutates:
            found = {name: self.view(inner) for name, inner in schema.properties.items()}
            found = {name: node for name, node in found.items() if has_default(node)}
            if len(found) > MANY:
                self.many_defaults(depth, found)
                return
            for name, node in found.items():
                lines.add(depth, f"if {name!r} not in x:")
                lines.add(depth + 1, *self.set_default(repr(name), node))

    def extra_fields(self, depth: int, extra: Schema | bool, known: frozenset[str]) -> None:
        """Writes the values of a map."""
        lines = self.lines
        guard = f"k not in {self.bind('known', known)} and " if known else ""
        loop = "for k, v in x.items():" if known else "for v in x.values():"
        if not isinstance(extra, Schema):
            if self.mutates and self.keep is not Keep.ALL:
                # All fields inside the values are unknown.
                lines.add(depth, loop, f"    if {guard}(type(v) is dict or type(v) is list):", "        return False")
            return
        node = self.view(extra)
        self.each(depth, loop, guard, node, self.below())

    def each(self, depth: int, loop: str, guard: str, node: Schema, keep: Keep) -> None:
        """Writes the check of all values of a map or items of a list. Nulls that need a change are left to the exact
        implementation."""
        lines = self.lines
        tests = []
        if self.mutates and node.type == "number":
            tests.append("type(v) is float and type(whole(v)) is int")
        spared = _allows_null(node) if self.checks else True
        if self.mutates:
            spared = spared and node.nullable
        tests.append(f"{'v is not None and ' if spared else ''}not ({self.condition(node, 'v', keep)})")
        lines.add(depth, loop, f"    if {guard}({' or '.join(tests)}):", "        return False")

    # --- lists ---

    def list(self, depth: int) -> None:
        schema, lines = self.schema, self.lines
        if isinstance(schema.items, Schema):
            keep = self.keep if self.keep is not Keep.NOTHING else Keep.NOTHING
            self.each(depth, "for v in x:", "", self.view(schema.items), keep)
        elif self.mutates and self.keep is Keep.NOTHING:
            lines.add(depth, "for v in x:", "    if type(v) is dict or type(v) is list:", "        return False")
        if not self.checks:
            return
        if schema.min_items:
            lines.add(depth, f"if len(x) < {schema.min_items}:", "    return False")
        if schema.max_items is not None:
            lines.add(depth, f"if len(x) > {schema.max_items}:", "    return False")
        if schema.unique_items:
            lines.add(depth, "if repeated(x):", "    return False")
        self.uniqueness(depth)

    def uniqueness(self, depth: int) -> None:
        """Writes the check for duplicate values of a set or duplicate keys of a map. 1 and true look equal here; the
        exact implementation distinguishes them."""
        schema, lines = self.schema, self.lines
        if schema.list_type == "set":
            unique = "set(x)"
        elif schema.list_type == "map" and schema.list_map_keys:
            keys = [f"v[{name!r}]" for name in schema.list_map_keys]
            unique = f"{{{keys[0]} for v in x}}" if len(keys) == 1 else f"{{({', '.join(keys)}) for v in x}}"
        else:
            return
        lines.add(depth, "if len(x) > 1:", "    try:", f"        if len({unique}) != len(x):")
        lines.add(depth, "            return False", "    except (KeyError, TypeError):")
        # A missing key, or a value that cannot be hashed.
        lines.add(depth, "        return False" if schema.list_type == "map" else "        if repeated(x):")
        if schema.list_type == "set":
            lines.add(depth, "            return False")

    # --- values inside ---

    def condition(self, node: Schema, value: str, keep: Keep) -> str:
        """Returns the condition for a value inside."""
        scalar = self.scalar_condition(node, value)
        if scalar is None:
            return f"{self.generator.function(node, self.walk, keep)}({value})"
        if not self.checks:
            return scalar
        return " and ".join([scalar, *(f"({found})" for found in self.alternative_conditions(node, value))])

    def scalar_condition(self, node: Schema, value: str) -> str | None:
        return scalar_condition(node, value, self.bind) if self.checks else type_condition(node, value)


def _allows_null(schema: Schema) -> bool:
    return (schema.nullable or not types_of(schema)) and not schema.enum


def _is_int_or_string(schema: Schema, branches: "Sequence[Schema]") -> bool:
    """Returns True if alternatives only repeat that a value is an integer or a string."""
    kinds = [branch.type for branch in branches]
    return schema.int_or_string and kinds == ["integer", "string"] and all(map(_has_only_type, branches))


def _has_only_type(schema: Schema) -> bool:
    return schema.has_only("type")


def _has_only_any_of(schema: Schema) -> bool:
    return schema.has_only("anyOf")
