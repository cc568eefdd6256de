"""Conditions on scalars, as Python expressions for the generated code.

A condition is true only for values that the schema allows. For a few rare allowed values, documented with each
function, the condition is false as well, and the exact implementation decides.
"""

import re
from collections.abc import Callable
from typing import Any

from setpoint.schema import formats
from setpoint.schema.openapi import Schema
from setpoint.schema.regex import matcher, quick_pattern
from setpoint.schema.violations import INT32, INT64, fits, known_format

# Binds a value to a name in the generated code, so that no text of a user is part of the source.
Bind = Callable[[str, Any], str]

NEVER = "False"
_FLOAT32 = "3.4028234663852886e+38"


def string_conditions(schema: Schema, value: str, bind: Bind) -> list[str]:
    """Returns the conditions for a string, besides its type."""
    found = []
    low, high = schema.min_length or 0, schema.max_length
    if high is not None:
        found.append(f"{low} <= len({value}) <= {high}" if low > 0 else f"len({value}) <= {high}")
    elif low > 0:
        found.append(f"len({value}) >= {low}")
    if schema.pattern:
        found.append(_pattern(schema.pattern, high, value, bind))
    form = known_format(schema)
    check = formats.string_check(form) if form else None
    if check is not None:
        found.append(f"{bind('format', check)}({value})")
    return found


def _pattern(pattern: str, longest: int | None, value: str, bind: Bind) -> str:
    quick = quick_pattern(pattern)
    if quick is None:
        return f"{bind('match', matcher(pattern))}({value})"
    search = f"{bind('search', re.compile(quick.source, re.ASCII).search)}({value})"
    if longest is not None and longest <= quick.limit:
        return search
    return f"({search} if len({value}) <= {quick.limit} else {bind('match', matcher(pattern))}({value}))"


def integer_conditions(schema: Schema, value: str) -> list[str]:
    """Returns the conditions for a Python int. Integers beyond 64 bits are left to the exact implementation."""
    kind, form = _kind(schema), known_format(schema)
    low, high = INT32 if kind == "integer" and form == "int32" else INT64
    found = []
    for bound, exclusive, is_minimum in (
        (schema.minimum, schema.exclusive_minimum, True),
        (schema.maximum, schema.exclusive_maximum, False),
    ):
        if bound is None:
            continue
        if not fits(bound, kind, form):
            return [NEVER]
        cut = max(INT64[0], min(INT64[1], int(bound)))
        if is_minimum:
            low = max(low, cut + exclusive)
        else:
            high = min(high, cut - exclusive)
    found.append(f"{low} <= {value} <= {high}")
    if schema.multiple_of is not None:
        factor = int(schema.multiple_of)
        if factor <= 0 or not fits(schema.multiple_of, kind, form):
            return [NEVER]
        found.append(f"{value} % {factor} == 0")
    return found


def float_conditions(schema: Schema, value: str) -> list[str]:
    """Returns the conditions for a Python float, where the schema allows fractions."""
    kind, form = _kind(schema), known_format(schema)
    found = []
    if kind == "number" and form == "float":
        found.append(f"-{_FLOAT32} <= {value} <= {_FLOAT32}")
    if schema.minimum is not None:
        found.append(f"{value} {'>' if schema.exclusive_minimum else '>='} {float(schema.minimum)!r}")
    if schema.maximum is not None:
        found.append(f"{value} {'<' if schema.exclusive_maximum else '<='} {float(schema.maximum)!r}")
    if schema.multiple_of is not None:
        factor = float(schema.multiple_of)
        found.append(f"is_multiple({value}, {factor!r})" if factor > 0 else NEVER)
    bounds = (schema.minimum, schema.maximum, schema.multiple_of)
    if any(bound is not None and not fits(bound, kind, form) for bound in bounds):
        return [NEVER]
    return found


def _kind(schema: Schema) -> str:
    return schema.type if not schema.int_or_string and schema.type in ("integer", "number") else ""


def type_condition(schema: Schema, value: str) -> str | None:
    """Returns the condition that a value has the scalar type of a schema; None for other schemas."""
    if schema.int_or_string:
        return f"(type({value}) is int or type({value}) is str)"
    if schema.type == "number":
        return f"(type({value}) is int or type({value}) is float)"
    name = {"string": "str", "boolean": "bool", "integer": "int"}.get(schema.type)
    return name and f"type({value}) is {name}"


def scalar_condition(schema: Schema, value: str, bind: Bind) -> str | None:
    """Returns the complete condition of a schema with a scalar type; None for other schemas.

    An integral float for an integer, and a list for a string with a format, are left to the exact implementation.
    """
    if schema.int_or_string:
        number = ["type({0}) is int", *integer_conditions(schema, value)]
        text = ["type({0}) is str", *string_conditions(schema, value, bind)]
        found = f"({' and '.join(number)} or {' and '.join(text)})".replace("{0}", value)
        return _with_enum(found, schema, value, bind)
    if schema.type == "string":
        found = " and ".join([f"type({value}) is str", *string_conditions(schema, value, bind)])
        if schema.enum:
            texts = frozenset(item for item in schema.enum if type(item) is str)
            found += f" and {value} in {bind('enum', texts)}"
        return found
    if schema.type == "boolean":
        return _with_enum(f"type({value}) is bool", schema, value, bind)
    if schema.type == "integer":
        found = " and ".join([f"type({value}) is int", *integer_conditions(schema, value)])
        return _with_enum(found, schema, value, bind)
    if schema.type == "number":
        whole = " and ".join([f"type({value}) is int", *integer_conditions(schema, value)])
        fraction = " and ".join([f"type({value}) is float", *float_conditions(schema, value)])
        return _with_enum(f"({whole} or {fraction})", schema, value, bind)
    return None


def _with_enum(condition: str, schema: Schema, value: str, bind: Bind) -> str:
    if not schema.enum:
        return condition
    return f"{condition} and in_enum({value}, {bind('enum', schema.enum)})"
