"""Lists in place of formatted strings, such as dates.

The validation of custom resources accepts a list there, but the type of the field does not: kube-apiserver cannot track
the fields of an object with such a list. All other wrong values are refused before they are stored.
"""

from collections.abc import Callable

from setpoint.merge.typed.list import ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Type
from setpoint.merge.typed.scalar import UNTYPED
from setpoint.objects.tree import Json

Finder = Callable[[Json], bool]


def wrong_list_finder(kind: Type) -> Finder | None:
    """Returns a function that tells if the fields of an object, apart from its metadata, have such a list; None if the
    type has no formatted strings."""
    if not isinstance(kind, MapType):
        return None
    fields = {name: field[1] for name, field in kind.fields.items() if name != "metadata"}
    return _of_map(fields, kind.element, ())


def _is_list(value: Json) -> bool:
    return type(value) is list


def _finder(kind: Type | None, outer: tuple[Type, ...]) -> Finder | None:
    """Returns the function for a type; None if the type has no formatted strings. `outer` are the types that contain
    the type, which may contain itself."""
    if kind is UNTYPED:
        return _is_list
    if kind in outer:
        return None
    if isinstance(kind, MapType):
        return _of_map({name: field[1] for name, field in kind.fields.items()}, kind.element, (*outer, kind))
    if isinstance(kind, ListType):
        find = _finder(kind.element, (*outer, kind))
        return None if find is None else lambda value: type(value) is list and any(map(find, value))
    return None


def _of_map(fields: dict[str, Type], element: Type | None, outer: tuple[Type, ...]) -> Finder | None:
    of_fields = {name: find for name, kind in fields.items() if (find := _finder(kind, outer)) is not None}
    others = _finder(element, outer)
    if not of_fields and others is None:
        return None

    def found(value: Json) -> bool:
        if type(value) is not dict:
            return False
        for name, find in of_fields.items():
            if name in value and find(value[name]):
                return True
        return others is not None and any(others(item) for name, item in value.items() if name not in fields)

    return found
