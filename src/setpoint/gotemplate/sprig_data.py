"""The functions of Sprig on lists, maps and defaults, as templates of KWOK and Helm use them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from setpoint.gotemplate.builtins import MANY, Builtin, is_true
from setpoint.gotemplate.sprig_text import LONGEST, text_of, whole
from setpoint.objects.gotext import compact_json
from setpoint.objects.tree import Json

_LONGEST_RANGE = 10_000


def _list(value: Json) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("expected a list")
    return value


def _map(value: Json) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("expected a map")
    return value


def _default(values: Sequence[Json]) -> Json:
    given = values[1] if len(values) > 1 else None
    return given if is_true(given) else values[0]


def _coalesce(values: Sequence[Json]) -> Json:
    return next((each for each in values if is_true(each)), None)


def _dict(values: Sequence[Json]) -> Json:
    padded = [*values, ""] if len(values) % 2 else list(values)
    return {text_of(padded[place]): padded[place + 1] for place in range(0, len(padded), 2)}


def _set(values: Sequence[Json]) -> Json:
    found = _map(values[0])
    found[text_of(values[1])] = values[2]
    return found


def _unset(values: Sequence[Json]) -> Json:
    found = _map(values[0])
    found.pop(text_of(values[1]), None)
    return found


def _dig(values: Sequence[Json]) -> Json:
    *keys, default, here = values
    for key in keys:
        tree = _map(here)
        if key not in tree:
            return default
        here = tree[text_of(key)]
    return here


def _merged(values: Sequence[Json]) -> Json:
    found = _map(values[0])
    for each in values[1:]:
        for key, value in _map(each).items():
            if isinstance(found.get(key), dict) and isinstance(value, dict):
                _merged([found[key], value])
            elif not is_true(found.get(key)):
                found[key] = value
    return found


def _unique(values: Sequence[Json]) -> Json:
    found: list[Json] = []
    for each in _list(values[0]):
        if each not in found:
            found.append(each)
    return found


def _concat(values: Sequence[Json]) -> Json:
    found = [item for each in values for item in _list(each)]
    if len(found) > LONGEST:
        raise ValueError("the list is too long")
    return list(found)


def _until(values: Sequence[Json]) -> Json:
    return _range(0, whole(values[0]), 1 if whole(values[0]) >= 0 else -1)


def _until_step(values: Sequence[Json]) -> Json:
    return _range(*map(whole, values))


def _range(start: int, stop: int, step: int) -> Json:
    numbers = range(start, stop, step) if step else range(0)
    if len(numbers) > _LONGEST_RANGE:
        raise ValueError(f"the list has more than {_LONGEST_RANGE} numbers")
    return list(numbers)


def _joined(values: Sequence[Json]) -> str:
    items = values[1] if isinstance(values[1], list) else [values[1]]
    return text_of(values[0]).join(text_of(each) for each in items if each is not None)


def _split(values: Sequence[Json]) -> list[str]:
    by, text = text_of(values[0]), text_of(values[1])
    return text.split(by) if by else list(text)


def _kind(values: Sequence[Json]) -> str:
    value = values[0]
    if isinstance(value, bool):
        return "bool"
    names = ((str, "string"), (int, "int"), (float, "float64"), (list, "slice"), (dict, "map"))
    return next((name for type_, name in names if isinstance(value, type_)), "invalid")


def _parsed(values: Sequence[Json]) -> Json:
    try:
        found: Json = json.loads(text_of(values[0]))
    except ValueError:
        return None  # as Sprig does; mustFromJson fails
    return found


def _fail(values: Sequence[Json]) -> NoReturn:
    raise ValueError(text_of(values[0]))


def _parts(values: Sequence[Json]) -> Json:
    return {f"_{place}": each for place, each in enumerate(_split(values))}


def _item(place: int) -> Any:
    return lambda values: _list(values[0])[place] if values[0] else None


DATA_FUNCTIONS: Mapping[str, Builtin] = {
    "default": Builtin(_default, 1, 2, "default DEFAULT VALUE"),
    "empty": Builtin(lambda values: not is_true(values[0]), 1, 1, "empty VALUE"),
    "coalesce": Builtin(_coalesce, 0, MANY, "coalesce VALUE VALUE"),
    "ternary": Builtin(lambda values: values[0] if values[2] is True else values[1], 3, 3, "ternary YES NO TEST"),
    "fail": Builtin(_fail, 1, 1, "fail MESSAGE"),
    "list": Builtin(list, 0, MANY, "list VALUE VALUE"),
    "tuple": Builtin(list, 0, MANY, "tuple VALUE VALUE"),
    "dict": Builtin(_dict, 0, MANY, "dict KEY VALUE"),
    "get": Builtin(lambda values: _map(values[0]).get(text_of(values[1]), ""), 2, 2, "get MAP KEY"),
    "set": Builtin(_set, 3, 3, "set MAP KEY VALUE"),
    "unset": Builtin(_unset, 2, 2, "unset MAP KEY"),
    "hasKey": Builtin(lambda values: text_of(values[1]) in _map(values[0]), 2, 2, "hasKey MAP KEY"),
    "keys": Builtin(lambda values: sorted(key for each in values for key in _map(each)), 0, MANY, "keys MAP"),
    "values": Builtin(lambda values: list(_map(values[0]).values()), 1, 1, "values MAP"),
    "pick": Builtin(
        lambda values: {key: value for key, value in _map(values[0]).items() if key in values[1:]},
        1,
        MANY,
        "pick MAP KEY",
    ),
    "omit": Builtin(
        lambda values: {key: value for key, value in _map(values[0]).items() if key not in values[1:]},
        1,
        MANY,
        "omit MAP KEY",
    ),
    "merge": Builtin(_merged, 1, MANY, "merge MAP MAP"),
    "dig": Builtin(_dig, 3, MANY, "dig KEY DEFAULT MAP"),
    "first": Builtin(_item(0), 1, 1, "first LIST"),
    "last": Builtin(_item(-1), 1, 1, "last LIST"),
    "rest": Builtin(lambda values: _list(values[0])[1:], 1, 1, "rest LIST"),
    "initial": Builtin(lambda values: _list(values[0])[:-1], 1, 1, "initial LIST"),
    "append": Builtin(lambda values: [*_list(values[0]), values[1]], 2, 2, "append LIST VALUE"),
    "prepend": Builtin(lambda values: [values[1], *_list(values[0])], 2, 2, "prepend LIST VALUE"),
    "concat": Builtin(_concat, 0, MANY, "concat LIST LIST"),
    "uniq": Builtin(_unique, 1, 1, "uniq LIST"),
    "without": Builtin(
        lambda values: [each for each in _list(values[0]) if each not in values[1:]], 1, MANY, "without LIST VALUE"
    ),
    "compact": Builtin(lambda values: [each for each in _list(values[0]) if is_true(each)], 1, 1, "compact LIST"),
    "reverse": Builtin(lambda values: _list(values[0])[::-1], 1, 1, "reverse LIST"),
    "has": Builtin(lambda values: values[0] in _list(values[1] or []), 2, 2, "has VALUE LIST"),
    "sortAlpha": Builtin(lambda values: sorted(map(text_of, _list(values[0]))), 1, 1, "sortAlpha LIST"),
    "until": Builtin(_until, 1, 1, "until NUMBER"),
    "untilStep": Builtin(_until_step, 3, 3, "untilStep START STOP STEP"),
    "join": Builtin(_joined, 2, 2, "join SEPARATOR LIST"),
    "splitList": Builtin(lambda values: list(_split(values)), 2, 2, "splitList SEPARATOR TEXT"),
    "split": Builtin(_parts, 2, 2, "split SEPARATOR TEXT"),
    "kindOf": Builtin(_kind, 1, 1, "kindOf VALUE"),
    "kindIs": Builtin(lambda values: values[0] == _kind(values[1:]), 2, 2, "kindIs KIND VALUE"),
    "toJson": Builtin(lambda values: compact_json(values[0]), 1, 1, "toJson VALUE"),
    "fromJson": Builtin(_parsed, 1, 1, "fromJson TEXT"),
}
