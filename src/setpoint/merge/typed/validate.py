"""The faults of a value that does not match its type, in the wording of the API.

Used only after a mismatch was detected. The messages show values as the real server's Go code prints them.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from setpoint.merge.pathelement import element_text
from setpoint.merge.typed.any import AnyType
from setpoint.merge.typed.list import ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Mismatch, Type
from setpoint.merge.typed.scalar import ScalarType
from setpoint.objects.goformat import format_v, type_name
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Json


class TypeProblem(NamedTuple):
    """One position at which a value does not match its type."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def problems(kind: Type, value: Json, *, allow_duplicates: bool = False) -> list[TypeProblem]:
    """Returns all faults of a value, in the order of the value; empty if the value matches its type."""
    return list(_problems(kind, value, "", allow_duplicates))


def text(found: list[TypeProblem]) -> str:
    """Joins the problems to one message."""
    if len(found) == 1:
        return str(found[0])
    return "\n".join(["errors:", *(f"  {problem}" for problem in found)])


def _problems(kind: Type, value: Json, path: str, duplicates: bool) -> Iterator[TypeProblem]:
    if value is None:
        return
    if isinstance(kind, AnyType):
        if type(value) is dict:
            kind = kind.as_map
        elif type(value) is list:
            kind = kind.as_list
        else:
            return
    if isinstance(kind, MapType):
        if type(value) is dict:
            yield from _map_problems(kind, value, path, duplicates)
        else:
            yield TypeProblem(path, f"expected map, got {_pointed(value)}")
    elif isinstance(kind, ListType):
        if type(value) is list:
            yield from _list_problems(kind, value, path, duplicates)
        else:
            yield TypeProblem(path, f"expected list, got {_pointed(value)}")
    elif isinstance(kind, ScalarType) and type(value) not in kind.accepted:
        yield TypeProblem(path, _EXPECTED[kind.kind](value))


def _map_problems(kind: MapType, value: dict[str, Json], path: str, duplicates: bool) -> Iterator[TypeProblem]:
    for name, item in value.items():
        declared = kind.fields.get(name)
        member = kind.element if declared is None else declared[1]
        if member is None:
            yield TypeProblem(f"{path}.{name}", "field not declared in schema")
            return
        yield from _problems(member, item, f"{path}.{name}", duplicates)


def _list_problems(kind: ListType, value: list[Json], path: str, duplicates: bool) -> Iterator[TypeProblem]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        if kind.atomic:
            yield from _problems(kind.element, item, f"{path}[{index}]", duplicates)
            continue
        try:
            element = kind.item_element(item)
        except Mismatch:
            yield TypeProblem(path, f"element {index}: {_unknown_item(kind, item)}")
            return
        if element in seen and not duplicates:
            yield TypeProblem(path, f"duplicate entries for key {element_text(element)}")
        seen.add(element)
        yield from _problems(kind.element, item, path + element_text(element), duplicates)


def _unknown_item(kind: ListType, item: Json) -> str:
    """Returns the reason why an item of an associative list has no path element."""
    if kind.keys:
        if item is None:
            return "associative list with keys may not have a null element"
        if type(item) is not dict:
            return "associative list with keys may not have non-map elements"
        names = " ".join(map(quote, kind.key_names))
        return (
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    if type(item) is dict:
        return "associative list without keys has an element that's a map type"
    if type(item) is list:
        return "not supported: associative list with lists as elements"
    return "associative list without keys has an element that's an explicit null"


def _pointed(value: Json) -> str:
    return f"&{{{format_v(value)}}}"


def _literal(value: Json) -> str:
    """Formats a value as Go's `%#v` does."""
    if value is None:
        return "interface {}(nil)"
    if type(value) is dict:
        items = ", ".join(f"{quote(name)}:{_literal(item)}" for name, item in sorted(value.items()))
        return f"map[string]interface {{}}{{{items}}}"
    if type(value) is list:
        return f"[]interface {{}}{{{', '.join(map(_literal, value))}}}"
    return quote(value) if type(value) is str else format_v(value)


_EXPECTED: dict[str, Callable[[Json], str]] = {
    "string": lambda value: f"expected string, got &value.valueUnstructured{{Value:{_literal(value)}}}",
    "numeric": lambda value: f"expected numeric (int or float), got {type_name(value)}",
    "boolean": lambda value: f"expected boolean, got {_pointed(value)}",
    "untyped": lambda value: f"expected any scalar, got {_pointed(value)}",
}
