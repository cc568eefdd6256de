"""`'%s has %d'.format([...])`: the clauses, at run time and in the compile-time check of literals."""

import math
import re
from collections.abc import Callable
from typing import Any

from setpoint.objects.gotext import quote
from setpoint.schema.cel.libraries.conversions import double_text, duration_text, type_of_value
from setpoint.schema.cel.timestamps import format_timestamp
from setpoint.schema.cel.types import Type
from setpoint.schema.cel.values import Duration, EvaluationError, Mapping, Steps, Timestamp

_PRECISION = re.compile(r"\.([^a-zA-Z%]*)")
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NUMERIC = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"


def format_string(template: str, args: list[Any]) -> str:
    """Formats a template. Raises `EvaluationError`."""
    parts: list[str] = []
    used = 0
    for text, clause, precision in clauses(template):
        parts.append(text)
        if clause == "%":
            parts.append("%")
        elif clause:
            if used >= len(args):
                raise EvaluationError(f"index {used} out of range")
            parts.append(_CLAUSES[clause](args[used], precision))
            used += 1
    return "".join(parts)


def clauses(template: str) -> list[tuple[str, str, int | None]]:
    """Splits the template into pieces: plain text, the clause after the text (empty at the end) and its precision."""
    found: list[tuple[str, str, int | None]] = []
    start = 0
    while (at := template.find("%", start)) >= 0:
        text = template[start:at]
        at += 1
        precision: int | None = None
        match = _PRECISION.match(template, at)
        if match:
            precision = _read_precision(match[1])
            at = match.end()
        if at >= len(template):
            raise EvaluationError("unexpected end of string")
        clause = template[at]
        if clause != "%" and clause not in _CLAUSES:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{clause}"')
        found.append((text, clause, precision))
        start = at + 1
    found.append((template[start:], "", None))
    return found


def _read_precision(digits: str) -> int:
    if digits.isascii() and digits.isdigit() and len(digits) < 10:
        return int(digits)
    problem = f"strconv.Atoi: parsing {quote(digits)}: invalid syntax"
    raise EvaluationError(
        "could not parse formatting clause: error while parsing precision: "
        f"error while converting precision to integer: {problem}"
    )


def _wrong(rule: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {complaint(rule, runtime_name(type_of_value(value)))}")


def complaint(rule: str, given: str) -> str:
    return f"{rule}, was given {given}"


def runtime_name(found: Type) -> str:
    """Returns the name of a type in the errors of a clause."""
    return {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp", "null": "null_type"}.get(
        found.name, found.name
    )


RULES = {
    "s": f"string clause can only be used on {_NUMERIC}",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
# The kinds of types that a clause accepts, for the check of literals.
ACCEPTS = {
    "s": frozenset(
        [
            *("string", "bool", "bytes", "int", "uint", "double", "map", "list", "type", "duration", "timestamp"),
            *("null", "dyn"),
        ]
    ),
    "d": frozenset(["int", "uint", "dyn"]),
    "f": frozenset(["double", "dyn"]),
    "e": frozenset(["double", "dyn"]),
    "b": frozenset(["int", "uint", "bool", "dyn"]),
    "x": frozenset(["int", "uint", "bytes", "string", "dyn"]),
    "X": frozenset(["int", "uint", "bytes", "string", "dyn"]),
    "o": frozenset(["int", "uint", "dyn"]),
}


def _string(value: Any, _precision: int | None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Type):
        return runtime_name(value)
    return _nested(value)


def _nested(value: Any, above: Steps | None = None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else f'"{double_text(value)}"'
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f"b{quote(value.decode('utf-8', 'replace'))}"
    if isinstance(value, Duration):
        return f"duration({quote(duration_text(value))})"
    if isinstance(value, Timestamp):
        return f"timestamp({quote(format_timestamp(value))})"
    if isinstance(value, Type):
        return runtime_name(value)
    if isinstance(value, list):
        steps = Steps.into(value, above)
        return "[" + ", ".join(_nested(item, steps) for item in value) + "]"
    if isinstance(value, Mapping):
        steps = Steps.into(value, above)
        pairs = sorted((_nested(key, steps), _nested(value.find(key), steps)) for key in value.keys())  # noqa: SIM118
        return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
    raise _wrong(RULES["s"], value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _decimal(value: Any, _precision: int | None) -> str:
    if not _is_int(value):
        raise _wrong(RULES["d"], value)
    return str(int(value))


def _fixed(value: Any, precision: int | None) -> str:
    if not isinstance(value, float):
        raise _wrong(RULES["f"], value)
    if not math.isfinite(value):
        return _infinite(value, "")
    return f"{value:,.{6 if precision is None else min(precision, 1000)}f}"


def _scientific(value: Any, _precision: int | None) -> str:
    if not isinstance(value, float):
        raise _wrong(RULES["e"], value)
    if not math.isfinite(value):
        return _infinite(value, "    ")
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    sign = "-" if exponent[0] == "-" else ""
    return f"{mantissa}×10{(sign + exponent[1:]).translate(_SUPERSCRIPT)}"


def _infinite(value: float, indent: str) -> str:
    if math.isnan(value):
        return "NaN"
    return "∞" if value > 0 else f"{indent}-∞"


def _binary(value: Any, _precision: int | None) -> str:
    if isinstance(value, int):
        return format(int(value), "b")
    raise _wrong(RULES["b"], value)


def _hex(value: Any, _precision: int | None) -> str:
    if _is_int(value):
        return format(int(value), "x")
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").hex()
    if isinstance(value, bytes):
        return value.hex()
    raise _wrong(RULES["x"], value)


def _upper_hex(value: Any, precision: int | None) -> str:
    return _hex(value, precision).upper()


def _octal(value: Any, _precision: int | None) -> str:
    if not _is_int(value):
        raise _wrong(RULES["o"], value)
    return format(int(value), "o")


_CLAUSES: dict[str, Callable[[Any, int | None], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _upper_hex,
    "o": _octal,
}
