"""The operations of jq on values: access, order, arithmetic. Each raises EvaluationError, as jq fails."""

import math
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any

from setpoint.objects.tree import Json

_ORDER = (type(None), bool, float, str, list, dict)
# The longest result of an addition or multiplication of texts and lists.
_LONGEST = 1 << 20


class EvaluationError(Exception):
    """An operation is not possible with the given values."""


def is_true(value: Json) -> bool:
    """Returns False for null and false only."""
    return value is not None and value is not False


def is_number(value: Json) -> bool:
    """Returns True for an integer or a fraction."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def type_of(value: Json) -> str:
    """Returns jq's name of a type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def entry(value: Json, key: Json) -> Json:
    """Returns an entry of an object or an item of a list; null if missing."""
    here: Any = value
    if here is None and (isinstance(key, str) or is_number(key)):
        return None
    if isinstance(here, dict) and isinstance(key, str):
        found: Json = here.get(key)
        return found
    if isinstance(here, list) and is_number(key):
        place = math.floor(key)
        item: Json = here[place] if -len(here) <= place < len(here) else None
        return item
    raise EvaluationError(f"cannot index {type_of(value)} with {type_of(key)}")


def part(value: Json, low: Json, high: Json) -> Json:
    """Returns a part of a list or a text."""
    here: Any = value
    if here is None:
        return None
    if not isinstance(here, list | str):
        raise EvaluationError(f"cannot slice {type_of(value)}")
    for bound in (low, high):
        if bound is not None and not is_number(bound):
            raise EvaluationError("the bounds of a slice must be numbers")
    start = None if low is None else math.floor(low)
    end = None if high is None else math.ceil(high)
    found: Json = here[start:end]
    return found


def items(value: Json) -> list[Json]:
    """Returns the items of a list, or the values of an object in the order of their keys."""
    here: Any = value
    if isinstance(here, list):
        return here
    if isinstance(here, dict):
        return [here[key] for key in sorted(here)]
    raise EvaluationError(f"cannot iterate over {type_of(value)}")


def compare(one: Json, other: Json) -> int:
    """Compares two values in jq's order of all values."""
    first, second = _rank(one), _rank(other)
    if first != second:
        return -1 if first < second else 1
    left: Any = one
    right: Any = other
    if isinstance(left, list):
        for pair in zip(left, right, strict=False):
            if found := compare(*pair):
                return found
        return _sign(len(left), len(right))
    if isinstance(left, dict):
        if found := compare(sorted(left), sorted(right)):
            return found
        return compare(items(left), items(right))
    return 0 if left is None else _sign(left, right)


def _rank(value: Json) -> int:
    return _ORDER.index(float if is_number(value) else dict if isinstance(value, dict) else _plain(value))


def _plain(value: Json) -> type:
    return list if isinstance(value, list) else str if isinstance(value, str) else type(value)


def _sign(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def ordered(values: list[Json]) -> list[Json]:
    """Returns the values in jq's order."""
    return sorted(values, key=cmp_to_key(compare))


def add(one: Json, other: Json) -> Json:
    """Adds numbers, joins texts and lists, and merges objects."""
    left: Any = one
    right: Any = other
    if left is None or right is None:
        return other if left is None else one
    if (is_number(left) and is_number(right)) or _same(left, right, (str, list)):
        if not is_number(left) and len(left) + len(right) > _LONGEST:
            raise EvaluationError("the result is too long")
        found: Json = left + right
        return found
    if isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    raise EvaluationError(f"cannot add {type_of(one)} and {type_of(other)}")


def _same(one: Any, other: Any, types: tuple[type, ...]) -> bool:
    return any(isinstance(one, each) and isinstance(other, each) for each in types)


def _subtract(one: Json, other: Json) -> Json:
    left: Any = one
    right: Any = other
    if is_number(left) and is_number(right):
        found: Json = left - right
        return found
    if isinstance(left, list) and isinstance(right, list):
        return [each for each in left if all(compare(each, gone) for gone in right)]
    raise EvaluationError(f"cannot subtract {type_of(other)} from {type_of(one)}")


def _multiply(one: Json, other: Json) -> Json:
    left: Any = one
    right: Any = other
    if is_number(left) and is_number(right):
        return _finite(left * right)
    raise EvaluationError(f"cannot multiply {type_of(one)} and {type_of(other)}")


def _divide(one: Json, other: Json) -> Json:
    left: Any = one
    right: Any = other
    if is_number(left) and is_number(right):
        if right == 0:
            raise EvaluationError("cannot divide by zero")
        return left // right if isinstance(left, int) and isinstance(right, int) and left % right == 0 else left / right
    if isinstance(left, str) and isinstance(right, str):
        return list(left.split(right)) if right else list(left)
    raise EvaluationError(f"cannot divide {type_of(one)} by {type_of(other)}")


def _modulo(one: Json, other: Json) -> Json:
    if not (is_number(one) and is_number(other)):
        raise EvaluationError(f"cannot divide {type_of(one)} by {type_of(other)}")
    left, right = int(one), int(other)
    if right == 0:
        raise EvaluationError("cannot divide by zero")
    return int(math.fmod(left, right))


def _finite(value: Any) -> Json:
    if isinstance(value, int) and value.bit_length() > 1024:
        raise EvaluationError("the number is too large")
    found: Json = value
    return found


BINARY: Mapping[str, Callable[[Json, Json], Json]] = {
    "==": lambda one, other: compare(one, other) == 0,
    "!=": lambda one, other: compare(one, other) != 0,
    "<": lambda one, other: compare(one, other) < 0,
    "<=": lambda one, other: compare(one, other) <= 0,
    ">": lambda one, other: compare(one, other) > 0,
    ">=": lambda one, other: compare(one, other) >= 0,
    "+": add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
}
