"""Macros: calls that the parser rewrites. Each is expanded as the language and its extensions define.

The set is the one that Kubernetes enables: `has`, the one-variable macros, their two-variable forms with
`transformList`, `transformMap` and `transformMapEntry`, `optMap`, `optFlatMap` and `sortBy`.
"""

from collections.abc import Callable

from setpoint.schema.cel.ast import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    Macro,
    MapExpr,
    Select,
)

_SORT_INPUT = "@__sortBy_input__"
UNUSED = "#unused"


class MacroError(Exception):
    """A macro with invalid arguments."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


def expand(offset: int, function: str, target: Expr | None, args: list[Expr]) -> Expr | None:
    """Returns the expansion of a call, or None if the call is not a macro."""
    if target is None:
        return _has(offset, args[0]) if function == "has" and len(args) == 1 else None
    expansion = _METHODS.get((function, len(args)))
    if expansion is None:
        return None
    node = expansion(offset, target, args)
    if isinstance(node, Call | Comprehension):
        node.macro = Macro(function, target, args)
    return node


def _has(offset: int, argument: Expr) -> Expr:
    if not isinstance(argument, Select) or argument.test_only:
        raise MacroError(argument.offset, "invalid argument to has() macro")
    return Select(offset, argument.operand, argument.field, test_only=True)


def _variables(args: list[Expr], count: int, complaint: str) -> tuple[str, str]:
    names: list[str] = []
    for argument in args[:count]:
        if not isinstance(argument, Ident) or argument.name.startswith("."):
            raise MacroError(argument.offset, complaint)
        if argument.name in names:
            raise MacroError(argument.offset, f"duplicate variable name: {argument.name}")
        names.append(argument.name)
    for argument, name in zip(args, names, strict=False):
        if name == "__result__":
            raise MacroError(argument.offset, "iteration variable overwrites accumulator variable")
    return names[0], names[1] if count == 2 else ""


def _quantifier(kind: str, variables: int) -> Callable[[int, Expr, list[Expr]], Expr]:
    def make(offset: int, target: Expr, args: list[Expr]) -> Expr:
        names = _variables(args, variables, "argument must be a simple name")
        predicate = args[-1]

        def accumulator() -> Expr:
            return Ident(offset, ACCUMULATOR)

        initial: Expr
        condition: Expr
        if kind == "all":
            initial = Literal(offset, True)
            condition = Call(offset, "@not_strictly_false", [accumulator()])
            step = Call(offset, "_&&_", [accumulator(), predicate])
            result = accumulator()
        elif kind == "exists":
            initial = Literal(offset, False)
            condition = Call(offset, "@not_strictly_false", [Call(offset, "!_", [accumulator()])])
            step = Call(offset, "_||_", [accumulator(), predicate])
            result = accumulator()
        else:
            initial = Literal(offset, 0)
            condition = Literal(offset, True)
            one_more = Call(offset, "_+_", [accumulator(), Literal(offset, 1)])
            step = Call(offset, "_?_:_", [predicate, one_more, accumulator()])
            result = Call(offset, "_==_", [accumulator(), Literal(offset, 1)])
        return Comprehension(offset, target, names, ACCUMULATOR, initial, condition, step, result)

    return make


def _fold(
    offset: int, target: Expr, names: tuple[str, str], initial: Expr, step: Expr, predicate: Expr | None
) -> Comprehension:
    """Returns a fold over every element (that satisfies the predicate), with the accumulated value as its result."""
    if predicate is not None:
        step = Call(offset, "_?_:_", [predicate, step, Ident(offset, ACCUMULATOR)])
    condition = Literal(offset, True)
    return Comprehension(offset, target, names, ACCUMULATOR, initial, condition, step, Ident(offset, ACCUMULATOR))


def _append(offset: int, element: Expr) -> Expr:
    return Call(offset, "_+_", [Ident(offset, ACCUMULATOR), ListExpr(offset, [element])])


def _map(offset: int, target: Expr, args: list[Expr]) -> Expr:
    names = _variables(args, 1, "argument is not an identifier")
    predicate = args[1] if len(args) == 3 else None
    return _fold(offset, target, names, ListExpr(offset, []), _append(offset, args[-1]), predicate)


def _filter(offset: int, target: Expr, args: list[Expr]) -> Expr:
    names = _variables(args, 1, "argument is not an identifier")
    return _fold(offset, target, names, ListExpr(offset, []), _append(offset, args[0]), args[1])


def _transform_list(offset: int, target: Expr, args: list[Expr]) -> Expr:
    names = _variables(args, 2, "argument must be a simple name")
    predicate = args[2] if len(args) == 4 else None
    return _fold(offset, target, names, ListExpr(offset, []), _append(offset, args[-1]), predicate)


def _transform_map(offset: int, target: Expr, args: list[Expr]) -> Expr:
    names = _variables(args, 2, "argument must be a simple name")
    predicate = args[2] if len(args) == 4 else None
    step = Call(offset, "cel.@mapInsert", [Ident(offset, ACCUMULATOR), Ident(offset, names[0]), args[-1]])
    return _fold(offset, target, names, MapExpr(offset, []), step, predicate)


def _transform_map_entry(offset: int, target: Expr, args: list[Expr]) -> Expr:
    names = _variables(args, 2, "argument must be a simple name")
    predicate = args[2] if len(args) == 4 else None
    step = Call(offset, "cel.@mapInsert", [Ident(offset, ACCUMULATOR), args[-1]])
    return _fold(offset, target, names, MapExpr(offset, []), step, predicate)


def _bind(offset: int, name: str, value: Expr, result: Expr) -> Comprehension:
    nothing = ListExpr(offset, [])
    return Comprehension(
        offset, nothing, (UNUSED, ""), name, value, Literal(offset, False), Ident(offset, name), result
    )


def _opt_map(offset: int, target: Expr, args: list[Expr]) -> Expr:
    bound = _bind_optional(offset, target, args, "optMap")
    return _if_present(offset, target, Call(offset, "optional.of", [bound]))


def _opt_flat_map(offset: int, target: Expr, args: list[Expr]) -> Expr:
    return _if_present(offset, target, _bind_optional(offset, target, args, "optFlatMap"))


def _bind_optional(offset: int, target: Expr, args: list[Expr], macro: str) -> Expr:
    name = args[0]
    if not isinstance(name, Ident):
        raise MacroError(name.offset, f"{macro}() variable name must be a simple identifier")
    return _bind(offset, name.name, Call(offset, "value", [], target), args[1])


def _if_present(offset: int, target: Expr, present: Expr) -> Expr:
    has_value = Call(offset, "hasValue", [], target)
    return Call(offset, "_?_:_", [has_value, present, Call(offset, "optional.none", [])])


def _sort_by(offset: int, target: Expr, args: list[Expr]) -> Expr:
    if isinstance(target, Literal | MapExpr):
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.offset, text)
    keys = _map(offset, Ident(offset, _SORT_INPUT), args)
    ordered = Call(offset, "@sortByAssociatedKeys", [keys], Ident(offset, _SORT_INPUT))
    return _bind(offset, _SORT_INPUT, target, ordered)


_METHODS: dict[tuple[str, int], Callable[[int, Expr, list[Expr]], Expr]] = {
    ("all", 2): _quantifier("all", 1),
    ("exists", 2): _quantifier("exists", 1),
    ("exists_one", 2): _quantifier("exists_one", 1),
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("all", 3): _quantifier("all", 2),
    ("exists", 3): _quantifier("exists", 2),
    ("exists_one", 3): _quantifier("exists_one", 2),
    ("existsOne", 3): _quantifier("exists_one", 2),
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map_entry,
    ("transformMapEntry", 4): _transform_map_entry,
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
    ("sortBy", 2): _sort_by,
}
