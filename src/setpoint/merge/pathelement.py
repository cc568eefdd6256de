"""Path elements: one step of a path, in the text that FieldsV1 gives it.

    f:name                 a field of a struct or an entry of a map
    k:{"name":"a"}         the item of a list that has these keys (compact JSON, sorted)
    v:"a"                  the item of a set with this value
    i:0                    the item at this index

An element is always in canonical form, so that two elements are the same step exactly when their texts are equal; sets
of fields (see `fieldset`) rely on this. `parse` converts the text of a user to that form.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from setpoint.objects.goformat import format_v
from setpoint.objects.gotext import compact_json, quote
from setpoint.objects.tree import Json

# Only short texts are cached, so that the cache stays small.
_SHORT = 128


class PathElementError(ValueError):
    """The text is not a path element."""


def value_json(value: Json) -> str:
    """Formats a value inside an element as JSON, with integral numbers never as fractions."""
    kind = type(value)
    if kind is str and value.isascii() and value.replace("-", "a").isalnum():
        return f'"{value}"'  # names and uids are mostly distinct, so they are not cached
    if kind is dict or kind is list or (kind is str and len(value) > _SHORT):
        return compact_json(value)
    return _short_json(value)


@lru_cache(maxsize=8192, typed=True)
def _short_json(value: str | int | float | bool | None) -> str:
    return compact_json(value)


def value_element(value: Json) -> str:
    """Returns the element for an item of a set."""
    return f"v:{value_json(value)}"


def key_element(keys: Iterable[tuple[str, Json]]) -> str:
    """Returns the element for an item of a keyed list; `keys` must be sorted by name."""
    return "k:{" + ",".join([f"{_name_json(name)}:{value_json(value)}" for name, value in keys]) + "}"


@lru_cache(maxsize=1024)
def _name_json(name: str) -> str:
    return msgspec.json.encode(name).decode()


def parse(element: str) -> str | None:
    """Returns the element in canonical form; None for an unknown kind of element, which is ignored."""
    if len(element) < 2:
        raise PathElementError("key must be 2 characters long:")
    if element[1] != ":":
        raise PathElementError(f"missing colon: {element}")
    match element[0]:
        case "f":
            return element
        case "v":
            return value_element(_decode(element[2:]))
        case "k":
            keys = _decode(element[2:])
            if type(keys) is not dict:
                raise PathElementError(f"expected an object of keys: {element}")
            return key_element(sorted(keys.items()))
        case "i":
            return f"i:{_index(element[2:])}"
    return None


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise PathElementError(f"{error}: {text}") from None


def _index(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise PathElementError(f"parsing {quote(text)}: invalid syntax")
    return int(text)


def element_text(element: str) -> str:
    """Formats the element for messages: `.name`, `[name="a"]`, `[="a"]`, `[0]`."""
    match element[0]:
        case "f":
            return "." + element[2:]
        case "v":
            return f"[={_shown(msgspec.json.decode(element[2:]))}]"
        case "k":
            keys = msgspec.json.decode(element[2:])
            return "[" + ",".join(f"{name}={_shown(value)}" for name, value in keys.items()) + "]"
    return f"[{element[2:]}]"


def _shown(value: Json) -> str:
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is list:
        return "[" + ",".join(map(_shown, value)) + "]"
    if kind is dict:
        return "".join(f"{name}={_shown(item)}" for name, item in value.items())
    return "null" if value is None else format_v(value)


def sort_key(element: str) -> tuple[Any, ...]:
    """Returns the sort key for the order of FieldsV1: fields, keyed items, set items, indexes; each by value."""
    return _sort_key(element) if len(element) > _SHORT else _short_sort_key(element)


@lru_cache(maxsize=8192)
def _short_sort_key(element: str) -> tuple[Any, ...]:
    return _sort_key(element)


def _sort_key(element: str) -> tuple[Any, ...]:
    match element[0]:
        case "f":
            return (0, element[2:])
        case "k":
            keys = msgspec.json.decode(element[2:])
            return (1, [(name, _value_order(value)) for name, value in keys.items()])
        case "v":
            return (2, _value_order(msgspec.json.decode(element[2:])))
        case "i":
            return (3, int(element[2:]))
    return (-1,)


def _value_order(value: Json) -> tuple[Any, ...]:
    """Returns the sort key of a value: numbers before strings, booleans, lists, maps and null."""
    kind = type(value)
    if kind is int or kind is float:
        return (0, value)
    if kind is str:
        return (1, value)
    if kind is bool:
        return (2, value)
    if kind is list:
        return (3, [_value_order(item) for item in value])
    if kind is dict:
        return (4, [(name, _value_order(item)) for name, item in sorted(value.items())])
    return (5,)
