"""Converts empty lists and maps of a normalized built-in object to null before storing, if their field is always
written.

The manager that sent such a list still owns the field, so this happens after the managed fields are computed.
"""

from collections.abc import Sequence, Set
from functools import cache
from typing import NamedTuple

from setpoint.objects.tree import Object
from setpoint.schema import builtin
from setpoint.server.registry.kinds.gotypes.go_fields import GoField, go_fields
from setpoint.server.registry.kinds.gotypes.roundtrip import SPECIAL, is_container

_PREFIX = "#/definitions/"


def nullify_empty(tree: Object, definition: str) -> None:
    """Replaces the empty lists and maps that are always written by null, in place."""
    for name, nulls_empty, inner, form in plan(definition):
        value = tree.get(name)
        if not value:
            if nulls_empty and value is not None:
                tree[name] = None
        elif form == "one":
            nullify_empty(value, inner)
        elif form:
            for item in value if form == "list" else value.values():
                nullify_empty(item, inner)


class _Step(NamedTuple):
    """A field that is such a list, or that contains one."""

    name: str
    nulls_empty: bool
    # The inner struct, and its form (one, list or map); empty if there is no such list inside.
    inner: str
    form: str


@cache
def plan(definition: str) -> Sequence[_Step]:
    found = []
    known = go_fields(definition)
    for name, place in builtin.definition(definition).get("properties", {}).items():
        go = known.get(name, GoField(""))
        nulls_empty = go.is_always_written and not go.is_pointer and is_container(place)
        inner, form = struct_inside(place)
        if form and not any(_has_always_written(other) for other in _reachable(inner)):
            inner = form = ""
        if nulls_empty or form:
            found.append(_Step(name, nulls_empty, inner, form))
    return tuple(found)


def struct_inside(place: Object) -> tuple[str, str]:
    """Returns the inner struct of a field and its form, or empty strings."""
    for form, inner in (("one", place), ("list", place.get("items")), ("map", place.get("additionalProperties"))):
        reference = inner.get("$ref", "").removeprefix(_PREFIX) if type(inner) is dict else ""
        if reference and reference not in SPECIAL and "properties" in builtin.definition(reference):
            return reference, form
    return "", ""


@cache
def _has_always_written(definition: str) -> bool:
    """Returns True if a struct itself has a list or map that is always written."""
    places = builtin.definition(definition).get("properties", {})
    return any(
        go.is_always_written and not go.is_pointer and is_container(places.get(name, {}))
        for name, go in go_fields(definition).items()
    )


@cache
def _reachable(definition: str) -> Set[str]:
    """Returns a struct and all structs inside."""
    found: set[str] = set()
    ahead = [definition]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            places = builtin.definition(name).get("properties", {}).values()
            ahead += [inner for place in places if (inner := struct_inside(place)[0])]
    return found
