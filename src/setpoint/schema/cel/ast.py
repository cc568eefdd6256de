"""The tree of an expression.

Macros are expanded as the language defines them (`all` is a comprehension, `has` a test-only select), so that types and
costs follow the expansion; an expanded node keeps a reference to its macro, for optimizations. The checker sets `type`
and `overloads`.
"""

from typing import TypeAlias

from setpoint.schema.cel.types import DYN, Type
from setpoint.schema.cel.values import Uint

# The types of constants in the source.
Constant: TypeAlias = bool | int | Uint | float | str | bytes | None

ACCUMULATOR = "@result"


class Expr:
    """A node, at an offset of the source."""

    __slots__ = ("offset", "type")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.type: Type = DYN


class Literal(Expr):
    __slots__ = ("value",)

    def __init__(self, offset: int, value: Constant) -> None:
        super().__init__(offset)
        self.value = value


class Ident(Expr):
    """A variable, or the name of a type (then the checker sets `denotes`)."""

    __slots__ = ("denotes", "name")

    def __init__(self, offset: int, name: str) -> None:
        super().__init__(offset)
        self.name = name
        self.denotes: Type | None = None


class Select(Expr):
    """`operand.field`, or `has(operand.field)` for a test-only select.

    If the checker resolves the whole expression to the dotted name of a variable, the operand becomes that variable,
    and the field is empty.
    """

    __slots__ = ("field", "operand", "test_only")

    def __init__(self, offset: int, operand: Expr, field: str, *, test_only: bool = False) -> None:
        super().__init__(offset)
        self.operand = operand
        self.field = field
        self.test_only = test_only


class Call(Expr):
    """A function, a method or an operator; `&&` and `||` hold all the terms of a chain."""

    __slots__ = ("args", "function", "macro", "overloads", "target")

    def __init__(self, offset: int, function: str, args: list[Expr], target: Expr | None = None) -> None:
        super().__init__(offset)
        self.function = function
        self.target = target
        self.args = args
        self.overloads: tuple[str, ...] = ()
        self.macro: Macro | None = None

    @property
    def operands(self) -> list[Expr]:
        return self.args if self.target is None else [self.target, *self.args]


class ListExpr(Expr):
    """`[a, ?b]`; `optional` holds the positions with a question mark."""

    __slots__ = ("elements", "optional")

    def __init__(self, offset: int, elements: list[Expr], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(offset)
        self.elements = elements
        self.optional = optional


class EntryExpr:
    """An entry of a map (then `key` is an expression) or of a message (then `field` is the field's name)."""

    __slots__ = ("field", "key", "offset", "optional", "value")

    def __init__(self, offset: int, key: Expr | None, field: str, value: Expr, *, optional: bool) -> None:
        self.offset = offset
        self.key = key
        self.field = field
        self.value = value
        self.optional = optional


class MapExpr(Expr):
    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[EntryExpr]) -> None:
        super().__init__(offset)
        self.entries = entries


class Struct(Expr):
    """`Name{field: value}`."""

    __slots__ = ("entries", "name")

    def __init__(self, offset: int, name: str, entries: list[EntryExpr]) -> None:
        super().__init__(offset)
        self.name = name
        self.entries = entries


class Comprehension(Expr):
    """A fold over a list or a map; a binding of a name is a fold over an empty list."""

    __slots__ = (
        "accumulator",
        "condition",
        "initial",
        "macro",
        "range",
        "result",
        "step",
        "variable",
        "variable2",
    )

    def __init__(
        self,
        offset: int,
        range_: Expr,
        variables: tuple[str, str],
        accumulator: str,
        initial: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
    ) -> None:
        super().__init__(offset)
        self.range = range_
        self.variable, self.variable2 = variables
        self.accumulator = accumulator
        self.initial = initial
        self.condition = condition
        self.step = step
        self.result = result
        self.macro: Macro | None = None

    @property
    def is_binding(self) -> bool:
        return self.accumulator != ACCUMULATOR


class Macro:
    """The call that a node was expanded from."""

    __slots__ = ("args", "function", "target")

    def __init__(self, function: str, target: Expr | None, args: list[Expr]) -> None:
        self.function = function
        self.target = target
        self.args = args
