"""Selects the overload of a function: statically by the types, or otherwise by the values."""

from collections.abc import Callable
from typing import Any

from setpoint.schema.cel.ast import Call
from setpoint.schema.cel.cost_runtime import Cost, cost_of
from setpoint.schema.cel.functions import Overload
from setpoint.schema.cel.libraries.conversions import type_of_value
from setpoint.schema.cel.types import Type
from setpoint.schema.cel.values import EvaluationError, no_such_overload

_PLAIN = frozenset((bool, int, float, str, bytes, type(None)))
Dispatch = Callable[[list[Any]], tuple[Overload, Cost | None]]


def dispatcher(node: Call, overloads: list[Overload]) -> Dispatch:
    """Returns a function that selects an overload by the values, or a constant one if the types suffice."""
    costed = [(overload, cost_of(node.function, overload.id)) for overload in overloads]
    if len(costed) == 1 and not any(_is_open(operand.type) for operand in node.operands):
        only = costed[0]
        return lambda _: only

    # Previous selections, for values whose Python type determines the overload.
    known: dict[tuple[type, ...], tuple[Overload, Cost | None]] = {}

    def dispatch(args: list[Any]) -> tuple[Overload, Cost | None]:
        kinds = tuple(map(type, args))
        before = known.get(kinds)
        if before is not None:
            return before
        for found in costed:
            if all(_fits(value, wanted) for value, wanted in zip(args, found[0].args, strict=True)):
                if _PLAIN.issuperset(kinds):
                    known[kinds] = found
                return found
        if node.function in ("_[_]", "_[?_]"):
            return costed[0]
        if len(costed) > 1 and node.function.isalnum():
            raise EvaluationError(f"no such overload: {node.function}")
        raise no_such_overload()

    return dispatch


def _is_open(found: Type) -> bool:
    return found.kind in ("dyn", "null") or any(_is_open(param) for param in found.params)


def _fits(value: Any, wanted: Type) -> bool:
    if wanted.kind in ("dyn", "param"):
        return True
    found = type_of_value(value)
    if wanted.kind == "list":
        return found.kind == "list" and (not value or _fits(value[0], wanted.params[0]))
    if wanted.kind == "map":
        return found.kind == "map"
    return found.kind == wanted.kind and found.name == wanted.name
