"""Arithmetic, comparison, membership and size: the operators of the language."""

import math
from collections.abc import Callable
from typing import Any

from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.values import (
    ABSENT,
    INT_MAX,
    INT_MIN,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    UINT_MAX,
    Duration,
    EvaluationError,
    Mapping,
    Optional,
    Timestamp,
    Uint,
    add_lists,
    compare,
    equal,
    key_text,
    no_such_overload,
)

OPERATORS = Library()
_overload = OPERATORS.overload


def fit_int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def _fit_uint(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def fit_duration(nanos: int) -> Duration:
    return Duration(fit_int(nanos))


def _fit_timestamp(nanos: int, offset: int) -> Timestamp:
    if TIMESTAMP_MIN <= nanos <= TIMESTAMP_MAX:
        return Timestamp(nanos, offset)
    raise EvaluationError("timestamp overflow")


@_overload("add_int64: _+_(int, int) -> int")
def add_int(a: int, b: int) -> int:
    return fit_int(a + b)


@_overload("subtract_int64: _-_(int, int) -> int")
def subtract_int(a: int, b: int) -> int:
    return fit_int(a - b)


@_overload("multiply_int64: _*_(int, int) -> int")
def multiply_int(a: int, b: int) -> int:
    return fit_int(a * b)


@_overload("divide_int64: _/_(int, int) -> int")
def divide_int(a: int, b: int) -> int:
    """Divides, rounding towards zero, while Python rounds down."""
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(a) // abs(b)
    return fit_int(quotient if (a < 0) == (b < 0) else -quotient)


@_overload("modulo_int64: _%_(int, int) -> int")
def modulo_int(a: int, b: int) -> int:
    """Returns the remainder with the sign of the dividend, while Python uses that of the divisor."""
    if b == 0:
        raise EvaluationError("modulus by zero")
    if a == INT_MIN and b == -1:
        raise EvaluationError("integer overflow")
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


@_overload("add_uint64: _+_(uint, uint) -> uint")
def _add_uint(a: int, b: int) -> Uint:
    return _fit_uint(int(a) + int(b))


@_overload("subtract_uint64: _-_(uint, uint) -> uint")
def _subtract_uint(a: int, b: int) -> Uint:
    return _fit_uint(int(a) - int(b))


@_overload("multiply_uint64: _*_(uint, uint) -> uint")
def _multiply_uint(a: int, b: int) -> Uint:
    return _fit_uint(int(a) * int(b))


@_overload("divide_uint64: _/_(uint, uint) -> uint")
def _divide_uint(a: int, b: int) -> Uint:
    if b == 0:
        raise EvaluationError("division by zero")
    return Uint(int(a) // int(b))


@_overload("modulo_uint64: _%_(uint, uint) -> uint")
def _modulo_uint(a: int, b: int) -> Uint:
    if b == 0:
        raise EvaluationError("modulus by zero")
    return Uint(int(a) % int(b))


@_overload("add_double: _+_(double, double) -> double")
def _add_double(a: float, b: float) -> float:
    return a + b


@_overload("subtract_double: _-_(double, double) -> double")
def _subtract_double(a: float, b: float) -> float:
    return a - b


@_overload("multiply_double: _*_(double, double) -> double")
def _multiply_double(a: float, b: float) -> float:
    return a * b


@_overload("divide_double: _/_(double, double) -> double")
def divide_double(a: float, b: float) -> float:
    if b:
        return a / b
    if not a or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


@_overload("add_string: _+_(string, string) -> string", "add_bytes: _+_(bytes, bytes) -> bytes")
def _add_text(a: Any, b: Any) -> Any:
    return a + b


OPERATORS.overload("add_list: _+_(list(A), list(A)) -> list(A)")(add_lists)


@_overload("add_duration_duration: _+_(duration, duration) -> duration")
def _add_durations(a: Duration, b: Duration) -> Duration:
    return fit_duration(a.nanos + b.nanos)


@_overload("add_duration_timestamp: _+_(duration, timestamp) -> timestamp")
def _add_duration_to(a: Duration, b: Timestamp) -> Timestamp:
    return _fit_timestamp(b.nanos + a.nanos, b.offset)


@_overload("add_timestamp_duration: _+_(timestamp, duration) -> timestamp")
def _add_to_timestamp(a: Timestamp, b: Duration) -> Timestamp:
    return _fit_timestamp(a.nanos + b.nanos, a.offset)


@_overload("subtract_duration_duration: _-_(duration, duration) -> duration")
def _subtract_durations(a: Duration, b: Duration) -> Duration:
    return fit_duration(a.nanos - b.nanos)


@_overload("subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp")
def _subtract_from_timestamp(a: Timestamp, b: Duration) -> Timestamp:
    return _fit_timestamp(a.nanos - b.nanos, a.offset)


@_overload("subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration")
def _between(a: Timestamp, b: Timestamp) -> Duration:
    return fit_duration(a.nanos - b.nanos)


@_overload("negate_int64: -_(int) -> int")
def negate_int(a: int) -> int:
    return fit_int(-a)


@_overload("negate_double: -_(double) -> double")
def _negate_double(a: float) -> float:
    return -a


@_overload("logical_not: !_(bool) -> bool")
def _not(a: bool) -> bool:
    return not a


@_overload("equals: _==_(A, A) -> bool")
def _equals(a: Any, b: Any) -> bool:
    return equal(a, b)


@_overload("not_equals: _!=_(A, A) -> bool")
def _differs(a: Any, b: Any) -> bool:
    return not equal(a, b)


# The pairs of types that have an order, with their names in the ids of the overloads.
_ORDERED = (
    *(
        ("bool", "bool", ""),
        ("int", "int", "int64"),
        ("int", "double", "int64_double"),
        ("int", "uint", "int64_uint64"),
    ),
    *(("uint", "uint", "uint64"), ("uint", "double", "uint64_double"), ("uint", "int", "uint64_int64")),
    *(("double", "double", ""), ("double", "int", "double_int64"), ("double", "uint", "double_uint64")),
    *(("string", "string", ""), ("bytes", "bytes", ""), ("timestamp", "timestamp", ""), ("duration", "duration", "")),
)


def _declare_order(symbol: str, word: str, holds: Callable[[int], bool]) -> None:
    def ordered(a: Any, b: Any) -> bool:
        return holds(compare(a, b))

    signatures = [f"{word}_{suffix or left}: _{symbol}_({left}, {right}) -> bool" for left, right, suffix in _ORDERED]
    OPERATORS.overload(*signatures)(ordered)


_declare_order("<", "less", lambda order: order < 0)
_declare_order("<=", "less_equals", lambda order: order <= 0)
_declare_order(">", "greater", lambda order: order > 0)
_declare_order(">=", "greater_equals", lambda order: order >= 0)


@_overload("in_list: @in(A, list(A)) -> bool", "in_map: @in(A, map(A, B)) -> bool")
def contains(item: Any, container: Any) -> bool:
    if isinstance(container, list):
        return _in_list(item, container)
    if isinstance(container, Mapping):
        return container.find(item) is not ABSENT
    raise no_such_overload()


def _in_list(item: Any, items: list[Any]) -> bool:
    error: EvaluationError | None = None
    for found in items:
        try:
            if equal(found, item):
                return True
        except EvaluationError as caught:
            error = error or caught
    if error:
        raise error
    return False


@_overload(
    "index_list: _[_](list(A), int) -> A",
    "index_map: _[_](map(A, B), A) -> B",
    "optional_list_index_int: _[_](optional(list(V)), int) -> optional(V)",
    "optional_map_index_value: _[_](optional(map(K, V)), K) -> optional(V)",
)
def index(container: Any, key: Any) -> Any:
    if isinstance(container, Optional):
        return optional_index(container, key) if container.present else container
    if isinstance(container, list):
        position = _position(key)
        if 0 <= position < len(container):
            return container[position]
        raise EvaluationError(f"index out of bounds: {position}")
    found = container.find(key) if isinstance(container, Mapping) else ABSENT
    if found is ABSENT:
        raise EvaluationError(f"no such key: {key_text(key)}")
    return found


def _position(key: Any) -> int:
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    if isinstance(key, float):
        if key.is_integer():
            raise EvaluationError(f"unsupported index: {key_text(key)}")
        raise EvaluationError(f"unsupported index value {key} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def type_name(value: Any) -> str:
    names = {str: "string", bool: "bool", bytes: "bytes", type(None): "null_type"}
    return names.get(type(value), "map" if isinstance(value, Mapping) else type(value).__name__.lower())


@_overload(
    "list_optindex_optional_int: _[?_](list(V), int) -> optional(V)",
    "optional_list_optindex_optional_int: _[?_](optional(list(V)), int) -> optional(V)",
    "map_optindex_optional_value: _[?_](map(K, V), K) -> optional(V)",
    "optional_map_optindex_optional_value: _[?_](optional(map(K, V)), K) -> optional(V)",
)
def optional_index(container: Any, key: Any) -> Optional:
    if isinstance(container, Optional):
        return optional_index(container.value, key) if container.present else container
    if isinstance(container, list):
        position = _position(key)
        return Optional(container[position]) if 0 <= position < len(container) else Optional()
    return Optional(container.find(key) if isinstance(container, Mapping) else ABSENT)


@_overload(
    *(
        form
        for kind, declared in (("bytes", "bytes"), ("list", "list(A)"), ("map", "map(A, B)"), ("string", "string"))
        for form in (f"size_{kind}: size({declared}) -> int", f"{kind}_size: ({declared}).size() -> int")
    )
)
def _size(value: Any) -> int:
    return len(value)


@_overload(
    "conditional: _?_:_(bool, A, A) -> A",
    "logical_and: _&&_(bool, bool) -> bool",
    "logical_or: _||_(bool, bool) -> bool",
    "not_strictly_false: @not_strictly_false(bool) -> bool",
)
def _control_flow(*_: Any) -> Any:
    """Declared only for the checker; the evaluator implements these functions."""
    raise no_such_overload()
