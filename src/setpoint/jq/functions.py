"""The functions of jq that take values: `length`, `test("RE")` and others."""

import json
import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple

from setpoint.jq.values import EvaluationError, add, compare, entry, is_number, is_true, items, ordered, type_of
from setpoint.objects.gotext import plain_json
from setpoint.objects.tree import Json
from setpoint.schema.regex import matcher, pattern_error


class JqFunction(NamedTuple):
    """A function of the current value and of the given number of arguments."""

    arguments: int
    body: Callable[..., Json]


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise EvaluationError(f"expected a string, not {type_of(value)}")
    return value


def _list(value: Json) -> list[Any]:
    if not isinstance(value, list):
        raise EvaluationError(f"expected an array, not {type_of(value)}")
    return value


def _number(value: Json) -> Any:
    if not is_number(value):
        raise EvaluationError(f"expected a number, not {type_of(value)}")
    return value


def _length(value: Json) -> Json:
    if value is None:
        return 0
    if is_number(value):
        return abs(_number(value))
    if isinstance(value, bool):
        raise EvaluationError("boolean has no length")
    return len(value)


def _keys(value: Json) -> Json:
    if isinstance(value, dict):
        return sorted(value)
    return list(range(len(_list(value))))


def _has(value: Json, key: Json) -> Json:
    if isinstance(value, dict):
        return _text(key) in value
    return 0 <= _number(key) < len(_list(value))


def _to_number(value: Json) -> Json:
    if is_number(value):
        return value
    try:
        found = json.loads(_text(value))
    except ValueError:
        raise EvaluationError(f"{value} is not a number") from None
    return _number(found)


def _contains(value: Json, inner: Json) -> bool:
    if isinstance(value, dict) and isinstance(inner, dict):
        return all(key in value and _contains(value[key], each) for key, each in inner.items())
    if isinstance(value, list) and isinstance(inner, list):
        return all(any(_contains(mine, each) for mine in value) for each in inner)
    if isinstance(value, str) and isinstance(inner, str):
        return inner in value
    if type_of(value) != type_of(inner):
        raise EvaluationError(f"{type_of(value)} cannot contain {type_of(inner)}")
    return compare(value, inner) == 0


def _test(value: Json, pattern: Json) -> Json:
    # Patterns are in Go's syntax, and matched in bounded time.
    if problem := pattern_error(_text(pattern)):
        raise EvaluationError(problem)
    return bool(matcher(_text(pattern))(_text(value)))


def _joined(value: Json, between: Json) -> Json:
    texts = ["" if each is None else each if isinstance(each, str) else plain_json(each) for each in _list(value)]
    return _text(between).join(texts)


def _entries(value: Json) -> Json:
    if not isinstance(value, dict):
        raise EvaluationError(f"{type_of(value)} has no entries")
    return [{"key": key, "value": value[key]} for key in sorted(value)]


def _from_entries(value: Json) -> Json:
    return {_text(entry(each, "key")): entry(each, "value") for each in _list(value)}


def _unique(value: Json) -> Json:
    found: list[Json] = []
    for each in ordered(_list(value)):
        if not found or compare(found[-1], each):
            found.append(each)
    return found


def _flattened(value: Json) -> Json:
    found: list[Json] = []
    for each in _list(value):
        found += _flattened(each) if isinstance(each, list) else [each]
    return found


FUNCTIONS: Mapping[str, JqFunction] = {
    "length": JqFunction(0, _length),
    "not": JqFunction(0, lambda value: not is_true(value)),
    "keys": JqFunction(0, _keys),
    "has": JqFunction(1, _has),
    "type": JqFunction(0, type_of),
    "tostring": JqFunction(0, lambda value: value if isinstance(value, str) else plain_json(value)),
    "tonumber": JqFunction(0, _to_number),
    "any": JqFunction(0, lambda value: any(map(is_true, items(value)))),
    "all": JqFunction(0, lambda value: all(map(is_true, items(value)))),
    "add": JqFunction(0, lambda value: reduce(add, items(value), None)),
    "first": JqFunction(0, lambda value: entry(value, 0)),
    "last": JqFunction(0, lambda value: entry(value, -1)),
    "min": JqFunction(0, lambda value: ordered(_list(value))[0] if value else None),
    "max": JqFunction(0, lambda value: ordered(_list(value))[-1] if value else None),
    "sort": JqFunction(0, lambda value: ordered(_list(value))),
    "unique": JqFunction(0, _unique),
    "reverse": JqFunction(0, lambda value: value[::-1] if isinstance(value, str) else _list(value)[::-1]),
    "flatten": JqFunction(0, _flattened),
    "floor": JqFunction(0, lambda value: math.floor(_number(value))),
    "ceil": JqFunction(0, lambda value: math.ceil(_number(value))),
    "startswith": JqFunction(1, lambda value, prefix: _text(value).startswith(_text(prefix))),
    "endswith": JqFunction(1, lambda value, suffix: _text(value).endswith(_text(suffix))),
    "contains": JqFunction(1, _contains),
    "inside": JqFunction(1, lambda value, outer: _contains(outer, value)),
    "test": JqFunction(1, _test),
    "split": JqFunction(1, lambda value, by: list(_text(value).split(_text(by))) if by else list(_text(value))),
    "join": JqFunction(1, _joined),
    "ltrimstr": JqFunction(1, lambda value, text: _text(value).removeprefix(_text(text))),
    "rtrimstr": JqFunction(1, lambda value, text: _text(value).removesuffix(_text(text))),
    "ascii_downcase": JqFunction(0, lambda value: _text(value).lower()),
    "ascii_upcase": JqFunction(0, lambda value: _text(value).upper()),
    "to_entries": JqFunction(0, _entries),
    "from_entries": JqFunction(0, _from_entries),
}
