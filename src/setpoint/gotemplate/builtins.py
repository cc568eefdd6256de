"""The predefined functions of Go's text/template on decoded JSON: comparisons, `index`, `len`, `printf` and the others.

`and`, `or` and `not` are here, too; the evaluation of the arguments of `and` and `or` ends with the first one that
decides. Each function raises ValueError with the reason, for which Go fails as well.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote_plus

from setpoint.gotemplate.printf import sprintf
from setpoint.objects.goformat import format_v
from setpoint.objects.gotext import byte_length
from setpoint.objects.tree import Json

MANY = 64
_JS = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


class Builtin(NamedTuple):
    """A predefined function, with its least and greatest number of arguments, and its usage."""

    body: Callable[[Sequence[Json]], Json]
    least: int
    most: int
    usage: str


def is_true(value: Json) -> bool:
    """Returns True unless the value is empty: false, 0, nil, or an empty string, list or map."""
    return bool(value)


def _kind(value: Json) -> str:
    """Returns the kind of a value in comparisons."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "float"
    return "string" if isinstance(value, str) else ""


def _equal(one: Json, other: Json) -> bool:
    if one is None or other is None:
        return one is None and other is None
    kind, other_kind = _kind(one), _kind(other)
    if not kind or not other_kind:
        raise ValueError("lists and maps cannot be compared")
    if kind != other_kind:
        raise ValueError(f"a value of type {kind} cannot be compared with one of type {other_kind}")
    return bool(one == other)


def _eq(arguments: Sequence[Json]) -> bool:
    first, *others = arguments
    if isinstance(first, dict | list) and others:
        raise ValueError("lists and maps cannot be compared")
    return any(_equal(first, each) for each in others)


def _less(arguments: Sequence[Json]) -> bool:
    one, other = arguments
    kind, other_kind = _kind(one), _kind(other)
    if not kind or not other_kind or kind == "bool":
        raise ValueError("only numbers and strings have an order")
    if kind != other_kind:
        raise ValueError(f"a value of type {kind} cannot be compared with one of type {other_kind}")
    if isinstance(one, str) and isinstance(other, str):
        return one.encode("utf-8", "surrogatepass") < other.encode("utf-8", "surrogatepass")
    return bool(one < other)


def _swapped(arguments: Sequence[Json]) -> list[Json]:
    return [arguments[1], arguments[0]]


def _or_equal(arguments: Sequence[Json]) -> bool:
    return _less(arguments) or _equal(arguments[0], arguments[1])


def _whole(value: Json, what: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{what} must be a whole number")
    if not 0 <= value < most:
        raise ValueError(f"{what} {value} is out of range")
    return value


def _index(arguments: Sequence[Json]) -> Json:
    here: Any = arguments[0]
    for key in arguments[1:]:
        if isinstance(here, dict):
            if not isinstance(key, str):
                raise ValueError("the key of a map must be a string")
            here = here.get(key)
        elif isinstance(here, list):
            here = here[_whole(key, "the index", len(here))]
        elif isinstance(here, str):
            data = here.encode()
            here = data[_whole(key, "the index", len(data))]
        else:
            raise ValueError("only lists, maps and strings have an index")
    found: Json = here
    return found


def _slice(arguments: Sequence[Json]) -> Json:
    here, *bounds = arguments
    if isinstance(here, str) and len(bounds) == 3:
        raise ValueError("a string has no third bound")
    if not isinstance(here, str | list):
        raise ValueError("only lists and strings have a slice")
    data: Any = here.encode() if isinstance(here, str) else here
    low, high = 0, len(data)
    if bounds:
        low = _whole(bounds[0], "the first bound", len(data) + 1)
    if len(bounds) > 1:
        high = _whole(bounds[1], "the second bound", len(data) + 1)
    if len(bounds) > 2:
        _whole(bounds[2], "the third bound", len(data) + 1)
        if bounds[2] < high:
            raise ValueError("the third bound is less than the second")
    if low > high:
        raise ValueError("the first bound is greater than the second")
    part = data[low:high]
    found: Json = part.decode("utf-8", "replace") if isinstance(part, bytes) else part
    return found


def _len(arguments: Sequence[Json]) -> Json:
    value = arguments[0]
    if isinstance(value, str):
        return byte_length(value)
    if isinstance(value, list | dict):
        return len(value)
    raise ValueError("len takes a string, a list or a map")


def sprint(arguments: Sequence[Json]) -> str:
    """Returns the values as text. As in Go, a blank is added between two values if neither is a string."""
    found = ""
    for index, each in enumerate(arguments):
        if index and not isinstance(each, str) and not isinstance(arguments[index - 1], str):
            found += " "
        found += format_v(each)
    return found


def _printf(arguments: Sequence[Json]) -> str:
    if not isinstance(arguments[0], str):
        raise ValueError("the format of printf must be a string")
    return sprintf(arguments[0], arguments[1:])


def _html(arguments: Sequence[Json]) -> str:
    escaped = html.escape(_text(arguments), quote=False)
    return escaped.replace('"', "&#34;").replace("'", "&#39;").replace("\0", "\ufffd")


def _js(arguments: Sequence[Json]) -> str:
    return "".join(_JS.get(each) or (f"\\u{ord(each):04X}" if ord(each) < 32 else each) for each in _text(arguments))


def _text(arguments: Sequence[Json]) -> str:
    """Returns the text that escaping functions escape."""
    return arguments[0] if len(arguments) == 1 and isinstance(arguments[0], str) else sprint(arguments)


def _urlquery(arguments: Sequence[Json]) -> str:
    return quote_plus(_text(arguments), safe="~")


BUILTINS: Mapping[str, Builtin] = {
    # The evaluation ends before the last argument if an earlier one decides.
    "and": Builtin(lambda values: values[-1], 1, MANY, "and X Y"),
    "or": Builtin(lambda values: values[-1], 1, MANY, "or X Y"),
    "not": Builtin(lambda values: not is_true(values[0]), 1, 1, "not X"),
    "eq": Builtin(_eq, 2, MANY, "eq X Y"),
    "ne": Builtin(lambda values: not _equal(values[0], values[1]), 2, 2, "ne X Y"),
    "lt": Builtin(_less, 2, 2, "lt X Y"),
    "le": Builtin(_or_equal, 2, 2, "le X Y"),
    "gt": Builtin(lambda values: _less(_swapped(values)), 2, 2, "gt X Y"),
    "ge": Builtin(lambda values: _or_equal(_swapped(values)), 2, 2, "ge X Y"),
    "index": Builtin(_index, 1, MANY, '{{ index .Annotations "key" }}'),
    "slice": Builtin(_slice, 1, 4, '{{ slice "text" 1 2 }}'),
    "len": Builtin(_len, 1, 1, "{{ len .Spec.Args }}"),
    "print": Builtin(sprint, 0, MANY, '{{ print "a" 1 }}'),
    "println": Builtin(lambda values: " ".join(map(format_v, values)) + "\n", 0, MANY, '{{ println "a" 1 }}'),
    "printf": Builtin(_printf, 1, MANY, '{{ printf "%s:%d" "a" 1 }}'),
    "html": Builtin(_html, 1, MANY, '{{ html "a<b" }}'),
    "js": Builtin(_js, 1, MANY, '{{ js "it\'s" }}'),
    "urlquery": Builtin(_urlquery, 1, MANY, '{{ urlquery "a b" }}'),
}
# The functions whose further arguments are not evaluated after one that decides, and the deciding value.
SHORT: Mapping[str, bool] = {"and": False, "or": True}
