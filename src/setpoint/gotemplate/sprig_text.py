"""The functions of Sprig on texts and numbers, as templates of KWOK and Helm use them."""

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from setpoint.gotemplate.builtins import MANY, Builtin
from setpoint.objects.goformat import format_v
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Json
from setpoint.schema.regex import matcher, pattern_error

# The longest text that a function makes.
LONGEST = 1 << 20


def text_of(value: Json) -> str:
    """Returns the text of a value, as Sprig's `toString` does."""
    return value if isinstance(value, str) else format_v(value)


def _string(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value


def whole(value: Json) -> int:
    """Returns a whole number, as Sprig's `int64` does: 0 for a text that is none."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return int(value)
    try:
        return int(text_of(value), 10)
    except ValueError:
        return 0


def _fraction(value: Json) -> float:
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(text_of(value))
    except ValueError:
        return 0.0


def _bounded(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError(f"the text is longer than {LONGEST} characters")
    return text


def _repeated(values: Sequence[Json]) -> str:
    number, text = whole(values[0]), _string(values[1])
    if number * len(text) > LONGEST:
        raise ValueError(f"the text is longer than {LONGEST} characters")
    return text * number


def _indented(values: Sequence[Json]) -> str:
    pad = " " * min(whole(values[0]), LONGEST)
    return _bounded(pad + _string(values[1]).replace("\n", "\n" + pad))


def _substring(values: Sequence[Json]) -> str:
    start, end, text = whole(values[0]), whole(values[1]), _string(values[2])
    if start < 0:
        return text[:end]
    return text[start:] if end < 0 or end > len(text) else text[start:end]


def _truncated(values: Sequence[Json]) -> str:
    number, text = whole(values[0]), _string(values[1])
    if number < 0:
        return text[number:] if len(text) + number > 0 else text
    return text[:number]


def _cat(values: Sequence[Json]) -> str:
    return " ".join(text_of(each) for each in values if each is not None)


def _quoted(values: Sequence[Json]) -> str:
    return " ".join(quote(text_of(each)) for each in values if each is not None)


def _single_quoted(values: Sequence[Json]) -> str:
    return " ".join(f"'{text_of(each)}'" for each in values if each is not None)


def _decoded(values: Sequence[Json]) -> str:
    try:
        return base64.b64decode(_string(values[0]), validate=True).decode()
    except ValueError as error:
        return str(error)


def _matches(values: Sequence[Json]) -> bool:
    pattern = _string(values[0])
    if problem := pattern_error(pattern):
        raise ValueError(problem)
    return bool(matcher(pattern)(_string(values[1])))


def _sum(values: Sequence[Json]) -> int:
    return sum(map(whole, values))


def _product(values: Sequence[Json]) -> int:
    found = math.prod(map(whole, values))
    return (found + 2**63) % 2**64 - 2**63


def _quotient(values: Sequence[Json]) -> int:
    one, other = whole(values[0]), whole(values[1])
    if other == 0:
        raise ValueError("division by zero")
    return -(-one // other) if (one < 0) != (other < 0) else one // other


def _remainder(values: Sequence[Json]) -> int:
    one, other = whole(values[0]), whole(values[1])
    if other == 0:
        raise ValueError("division by zero")
    return int(math.fmod(one, other))


def _rounded(values: Sequence[Json]) -> float:
    value, digits = _fraction(values[0]), whole(values[1])
    power = 10.0**digits
    scaled = value * power
    return (math.floor(scaled) if scaled - math.floor(scaled) < 0.5 else math.ceil(scaled)) / power


def _one(function: Any) -> Any:
    return lambda values: function(_string(values[0]))


def _two(function: Any) -> Any:
    """Returns a function whose text is the last argument."""
    return lambda values: function(_string(values[1]), _string(values[0]))


TEXT_FUNCTIONS: Mapping[str, Builtin] = {
    "trim": Builtin(_one(str.strip), 1, 1, "trim TEXT"),
    "trimAll": Builtin(_two(lambda text, chars: text.strip(chars)), 2, 2, "trimAll CHARACTERS TEXT"),
    "trimPrefix": Builtin(_two(str.removeprefix), 2, 2, "trimPrefix PREFIX TEXT"),
    "trimSuffix": Builtin(_two(str.removesuffix), 2, 2, "trimSuffix SUFFIX TEXT"),
    "upper": Builtin(_one(str.upper), 1, 1, "upper TEXT"),
    "lower": Builtin(_one(str.lower), 1, 1, "lower TEXT"),
    "title": Builtin(_one(lambda text: text.title()), 1, 1, "title TEXT"),
    "untitle": Builtin(_one(lambda text: text[:1].lower() + text[1:]), 1, 1, "untitle TEXT"),
    "repeat": Builtin(_repeated, 2, 2, "repeat NUMBER TEXT"),
    "substr": Builtin(_substring, 3, 3, "substr START END TEXT"),
    "trunc": Builtin(_truncated, 2, 2, "trunc NUMBER TEXT"),
    "nospace": Builtin(_one(lambda text: "".join(text.split())), 1, 1, "nospace TEXT"),
    "contains": Builtin(_two(lambda text, part: part in text), 2, 2, "contains PART TEXT"),
    "hasPrefix": Builtin(_two(str.startswith), 2, 2, "hasPrefix PREFIX TEXT"),
    "hasSuffix": Builtin(_two(str.endswith), 2, 2, "hasSuffix SUFFIX TEXT"),
    "replace": Builtin(
        lambda values: _bounded(_string(values[2]).replace(_string(values[0]), _string(values[1]))),
        3,
        3,
        "replace OLD NEW TEXT",
    ),
    "quote": Builtin(_quoted, 0, MANY, "quote VALUE"),
    "squote": Builtin(_single_quoted, 0, MANY, "squote VALUE"),
    "cat": Builtin(_cat, 0, MANY, "cat VALUE VALUE"),
    "indent": Builtin(_indented, 2, 2, "indent NUMBER TEXT"),
    "nindent": Builtin(lambda values: "\n" + _indented(values), 2, 2, "nindent NUMBER TEXT"),
    "toString": Builtin(lambda values: text_of(values[0]), 1, 1, "toString VALUE"),
    "b64enc": Builtin(_one(lambda text: base64.b64encode(text.encode()).decode()), 1, 1, "b64enc TEXT"),
    "b64dec": Builtin(_decoded, 1, 1, "b64dec TEXT"),
    "sha256sum": Builtin(_one(lambda text: hashlib.sha256(text.encode()).hexdigest()), 1, 1, "sha256sum TEXT"),
    "sha1sum": Builtin(
        _one(lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()), 1, 1, "sha1sum TEXT"
    ),
    "regexMatch": Builtin(_matches, 2, 2, "regexMatch PATTERN TEXT"),
    "int": Builtin(lambda values: whole(values[0]), 1, 1, "int VALUE"),
    "int64": Builtin(lambda values: whole(values[0]), 1, 1, "int64 VALUE"),
    "float64": Builtin(lambda values: _fraction(values[0]), 1, 1, "float64 VALUE"),
    "add": Builtin(_sum, 0, MANY, "add NUMBER NUMBER"),
    "add1": Builtin(lambda values: whole(values[0]) + 1, 1, 1, "add1 NUMBER"),
    "sub": Builtin(lambda values: whole(values[0]) - whole(values[1]), 2, 2, "sub NUMBER NUMBER"),
    "mul": Builtin(_product, 1, MANY, "mul NUMBER NUMBER"),
    "div": Builtin(_quotient, 2, 2, "div NUMBER NUMBER"),
    "mod": Builtin(_remainder, 2, 2, "mod NUMBER NUMBER"),
    "max": Builtin(lambda values: max(map(whole, values)), 1, MANY, "max NUMBER NUMBER"),
    "min": Builtin(lambda values: min(map(whole, values)), 1, MANY, "min NUMBER NUMBER"),
    "floor": Builtin(lambda values: float(math.floor(_fraction(values[0]))), 1, 1, "floor NUMBER"),
    "ceil": Builtin(lambda values: float(math.ceil(_fraction(values[0]))), 1, 1, "ceil NUMBER"),
    "round": Builtin(_rounded, 2, 2, "round NUMBER DIGITS"),
}
