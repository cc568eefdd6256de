"""The functions of generated code: a few builtins of Python, and the CEL operations without a Python equivalent."""

from typing import Any

from setpoint.schema.cel.libraries import operators
from setpoint.schema.cel.libraries.conversions import type_of_value
from setpoint.schema.cel.values import EvaluationError, compare, equal
from setpoint.schema.cel.views import view


def _not_null(value: Any) -> Any:
    if value is None:
        raise EvaluationError("null")
    return value


def _text(value: Any) -> Any:
    if type(value) is str:
        return value
    raise EvaluationError("not a string")


def _int(value: Any) -> Any:
    if type(value) is int:
        return value
    raise EvaluationError("not an int")


def _bool(value: Any) -> Any:
    if value is True or value is False:
        return value
    raise EvaluationError("not a bool")


def _at(items: list[Any], position: int) -> Any:
    if position < 0:
        raise EvaluationError("index out of bounds")
    return items[position]


def _get(tree: Any, name: str) -> Any:
    return None if tree is None else tree.get(name)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


_BUILTINS = {"all": all, "any": any, "bool": bool, "enumerate": enumerate, "len": len, "sum": sum}

# The names that are available to generated code.
HELPERS: dict[str, Any] = {
    "__builtins__": _BUILTINS,
    "_fit": operators.fit_int,
    "_divide": operators.divide_int,
    "_modulo": operators.modulo_int,
    "_equal": equal,
    "_compare": compare,
    "_contains": operators.contains,
    "_type": type_of_value,
    "_nn": _not_null,
    "_text": _text,
    "_int": _int,
    "_bool": _bool,
    "_at": _at,
    "_get": _get,
    "_or": _or,
    "_view": view,
}
