"""All rules of a schema as one generated function that only returns whether they hold.

Nearly every object satisfies its rules, so this is checked first, without paths, messages, old errors or counting: the
function goes directly to the values that have rules and runs their generated code. For any other result (a violated
rule, an exception, a cost that may exceed the budget), the full traversal finds the errors.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from setpoint.schema.cel.codegen import Fast
from setpoint.schema.cel.compiled_rule import CompiledRule
from setpoint.schema.cel.correlation import old_items
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.program import CALL_LIMIT, Program
from setpoint.schema.cel.sizes import Largest
from setpoint.schema.openapi import Schema

# Takes the new tree, the old one (None on a create), the maximum cost of each rule, and the maximum total cost. Returns
# the maximum cost of the rules that ran, BROKEN, or EXPENSIVE before a rule that may cost too much.
Walk = Callable[[Any, Any, tuple[int, ...], int], int]
BROKEN, EXPENSIVE = -1, -2
# A function for more rules would take long to compile.
MOST_RULES = 200


class RuleNode(Protocol):
    """The rules at and below a node of a schema."""

    @property
    def schema(self) -> Schema: ...

    @property
    def declaration(self) -> Declaration | None: ...

    @property
    def compiled(self) -> Sequence[CompiledRule]: ...

    @property
    def properties(self) -> "Mapping[str, RuleNode]": ...

    @property
    def elements(self) -> "RuleNode | None": ...


class QuickWalk:
    """The generated function, and its cost arguments."""

    def __init__(self, rules: RuleNode) -> None:
        writer = _Writer()
        self.programs = writer.programs
        self._bounds: dict[Largest, tuple[int, ...] | None] = {}
        self._bounds_of_sizes: dict[int, tuple[int, ...] | None] = {}
        try:
            writer.node(rules, "t", "o")
        except _Unsupported:
            self.run: Walk | None = None
            return
        self.run = writer.finish()

    def bounds(self, largest: Largest) -> tuple[int, ...] | None:
        """Returns the maximum cost of each rule over data of this size; None if one may exceed the limit of a call."""
        if largest not in self._bounds:
            found = tuple(program.bound(largest) for program in self.programs)
            self._bounds[largest] = found if all(bound <= CALL_LIMIT for bound in found) else None
        return self._bounds[largest]

    def bounds_of_size(self, size: int) -> tuple[int, ...] | None:
        """Returns the same for data of this many bytes as JSON."""
        bits = size.bit_length()
        if bits not in self._bounds_of_sizes:
            self._bounds_of_sizes[bits] = self.bounds(Largest(1 << bits, 1 << bits, 1 << bits))
        return self._bounds_of_sizes[bits]


class _Unsupported(Exception):  # noqa: N818 - not an error: the full walk takes over
    """A rule that cannot be compiled to the generated function."""


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = ["def walk(t, o, costs, most):", " cost = 0"]
        self.namespace: dict[str, Any] = {"old_items": old_items, "dict": dict, "list": list, "type": type}
        self.programs: list[Program] = []
        self.depth = 1
        self.names = 0

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def node(self, rules: RuleNode, value: str, old: str) -> None:
        """Writes the code for the rules at and below a node with a value that is not null."""
        for compiled in rules.compiled:
            if compiled.program is None or rules.declaration is None:
                raise _Unsupported
            optional = bool(compiled.rule.optional_old_self)
            check = compiled.program.fast or compiled.program.exactly(rules.declaration, optional=optional)
            self.rule(compiled.program, check, value, old, always=optional)
        if len(rules.compiled) != len(rules.schema.validations):
            raise _Unsupported
        if rules.properties:
            self.line(f"if type({value}) is dict:")
            self.depth += 1
            for name, below in rules.properties.items():
                self.property(below, name, value, old)
            self.depth -= 1
        if rules.elements is not None:
            self.elements(rules, rules.elements, value, old)

    def rule(self, program: Program, check: Fast, value: str, old: str, *, always: bool) -> None:
        position = len(self.programs)
        if position == MOST_RULES:
            raise _Unsupported
        self.programs.append(program)
        name = f"rule{position}"
        self.namespace[name] = check
        uses_old = program.refers_to("oldSelf")
        guard = f"{old} is not None and " if uses_old and not always else ""
        self.line(f"cost += costs[{position}]")
        self.line(f"if cost > most: return {EXPENSIVE}")
        self.line(f"if {guard}{name}({value}, {old if uses_old else 'None'}) is not True: return {BROKEN}")

    def property(self, rules: RuleNode, name: str, value: str, old: str) -> None:
        below = self.fresh()
        self.line(f"{below} = {value}.get({name!r})")
        self.line(f"if {below} is not None:")
        self.depth += 1
        old_below = "None"
        if _uses_old(rules):
            old_below = self.fresh()
            self.line(f"{old_below} = {old}.get({name!r}) if type({old}) is dict else None")
        self.node(rules, below, old_below)
        self.depth -= 1

    def elements(self, rules: RuleNode, elements: RuleNode, value: str, old: str) -> None:
        below, key, old_below = self.fresh(), self.fresh(), "None"
        is_list = isinstance(rules.schema.items, Schema)
        self.line(f"if type({value}) is {'list' if is_list else 'dict'}:")
        self.depth += 1
        uses_old = _uses_old(elements)
        find = self.fresh()
        if uses_old and is_list:
            self.namespace[f"schema{self.names}"] = rules.schema
            self.line(f"{find} = old_items(schema{self.names}, {old})")
        self.line(f"for {below} in {value}:" if is_list else f"for {key}, {below} in {value}.items():")
        self.depth += 1
        self.line(f"if {below} is not None:")
        self.depth += 1
        if uses_old:
            old_below = self.fresh()
            matching = f"{find}({below})" if is_list else f"{old}.get({key}) if type({old}) is dict else None"
            self.line(f"{old_below} = {matching}")
        self.node(elements, below, old_below)
        self.depth -= 3

    def finish(self) -> Walk | None:
        self.line("return cost")
        try:
            exec(compile("\n".join(self.lines), "<rules>", "exec"), self.namespace)
        except (SyntaxError, MemoryError, RecursionError):
            # Lists in lists, deeper than Python allows nested blocks.
            return None
        found: Walk = self.namespace["walk"]
        return found


def _uses_old(rules: RuleNode) -> bool:
    return any(compiled.uses_old_self for compiled in rules.compiled) or any(
        _uses_old(below) for below in (*rules.properties.values(), rules.elements) if below is not None
    )
