"""The expression language of summary rules: comparisons and text templates over the fields of an object.

A comparison reads `status.readyReplicas|0 < spec.replicas|1`: the value after `|` is the default of a missing field,
and an operand may be a sum or difference. The operators are `==`, `!=`, `<`, `<=`, `>`, `>=`, `in (A, B)`, `exists` and
`missing`. If a path finds several values (`[*]`), one match is enough. A path begins with a name and a dot;
`conditions.Ready.reason` is a field of the condition of that type. Numbers, `true`, `false` and words are literals.

A template has fields in braces: `{status.readyReplicas|0} of {spec.replicas|1} are ready`. Evaluation never raises.
"""

import operator
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from setpoint.flow.paths import Path, PathError
from setpoint.objects.tree import Json, Object

Test: TypeAlias = Callable[[Object], bool]
Text: TypeAlias = Callable[[Object], str]
_Values: TypeAlias = Callable[[Object], list[Any]]

_PATH = re.compile(r"[A-Za-z_]\w*[.\[]")
_COMPARISON = re.compile(r"(.+?) (==|!=|<=|>=|<|>) (.+)")
_MEMBERSHIP = re.compile(r"(.+?) in \((.+)\)")
_PRESENCE = re.compile(r"(\S+) (exists|missing)")
_TERMS = re.compile(r" ([+-]) ")
_FIELD = re.compile(r"\{([^{}]*)\}")
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The maximum length of a field in a text for people.
_LONGEST = 1024


class ExpressionError(ValueError):
    """An invalid comparison or template."""


def compile_test(text: str) -> Test:
    """Compiles a comparison to a function of an object. Raises ExpressionError."""
    text = text.strip()
    if found := _PRESENCE.fullmatch(text):
        find, wanted = _operand(found[1]), found[2] == "exists"
        return lambda tree: bool(find(tree)) is wanted
    if found := _MEMBERSHIP.fullmatch(text):
        left, among = _sum(found[1]), [_literal(item.strip()) for item in found[2].split(",")]
        return lambda tree: any(_same(value, item) for value in left(tree) for item in among)
    if found := _COMPARISON.fullmatch(text):
        return _comparison(_sum(found[1]), found[2], _sum(found[3]))
    raise ExpressionError(f"invalid comparison {text!r}: expected e.g. status.readyReplicas|0 < spec.replicas|1")


def _comparison(left: _Values, sign: str, right: _Values) -> Test:
    if sign == "==":
        return lambda tree: _any_same(left(tree), right(tree))
    if sign == "!=":
        return lambda tree: not _any_same(left(tree), right(tree))
    compare = _SIGNS[sign]
    return lambda tree: any(
        compare(one, other) for one in left(tree) if _is_number(one) for other in right(tree) if _is_number(other)
    )


def compile_text(text: str) -> Text:
    """Compiles a template to a function of an object. Raises ExpressionError."""
    if "{" not in text:
        return lambda _tree: text
    parts = _FIELD.split(text)
    fields = [_sum(part) for part in parts[1::2]]

    def fill(tree: Object) -> str:
        made = [parts[0]]
        for find, after in zip(fields, parts[2::2], strict=True):
            texts = dict.fromkeys(_shown(value) for value in find(tree))
            made += (", ".join(texts)[:_LONGEST], after)
        return "".join(made).strip()

    return fill


def _sum(text: str) -> _Values:
    first, *rest = _TERMS.split(text.strip())
    if not rest:
        return _operand(first)
    terms = [(1, _operand(first))]
    terms += [(1 if sign == "+" else -1, _operand(term)) for sign, term in zip(rest[::2], rest[1::2], strict=True)]

    def add(tree: Object) -> list[Any]:
        total: Any = 0
        for sign, find in terms:
            numbers = [value for value in find(tree) if _is_number(value)]
            if not numbers:
                return []
            total += sign * numbers[0]
        return [total]

    return add


def _operand(text: str) -> _Values:
    choices = [_choice(part.strip()) for part in text.split("|")]

    def find(tree: Object) -> list[Any]:
        for choice in choices:
            if values := choice(tree):
                return values
        return []

    return find if len(choices) > 1 else choices[0]


def _choice(text: str) -> _Values:
    if not _PATH.match(text):
        value = [_literal(text)]
        return lambda _tree: value
    try:
        return Path(text).find
    except PathError as error:
        raise ExpressionError(str(error)) from None


def _literal(text: str) -> Any:
    if not text:
        raise ExpressionError("missing value: expected a field such as spec.replicas, a number or a word")
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


def _any_same(left: list[Any], right: list[Any]) -> bool:
    return any(_same(one, other) for one in left for other in right)


def _same(one: Json, other: Json) -> bool:
    # In Python, True == 1.
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value if not isinstance(item, dict | list))
    return "" if isinstance(value, dict) else str(value)
