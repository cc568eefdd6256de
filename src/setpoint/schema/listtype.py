"""Lists that are sets or maps: their values or keys must be unique."""

from typing import Any

from setpoint.objects.field import FieldError, child, duplicate, index, invalid, key
from setpoint.objects.gotext import compact_json
from setpoint.objects.tree import Json, Object
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view


def validate_list_types(tree: Json, schema: Schema, *, path: str = "", view: View = plain_view) -> list[FieldError]:
    """Returns the errors for duplicate values of `set` lists and duplicate keys of `map` lists in a tree, each once."""
    errors: list[FieldError] = []
    _walk(tree, schema, path, view, errors)
    return errors


def _walk(tree: Json, schema: Schema, path: str, view: View, errors: list[FieldError]) -> None:
    schema = view(schema)
    if type(tree) is dict:
        properties, extra = schema.properties, schema.additional_properties
        for name, value in tree.items():
            if type(value) not in (dict, list):
                continue
            if isinstance(extra, Schema):
                _walk(value, extra, key(path, name), view, errors)
            if (inner := properties.get(name)) is not None:
                _walk(value, inner, child(path, name), view, errors)
    elif type(tree) is list:
        if schema.list_type == "set":
            errors.extend(duplicate(index(path, at), tree[at]) for at in repeated(tree))
        elif schema.list_type == "map":
            errors.extend(_repeated_keys(tree, schema, path))
        if isinstance(schema.items, Schema):
            for position, item in enumerate(tree):
                if type(item) in (dict, list):
                    _walk(item, schema.items, index(path, position), view, errors)


def _repeated_keys(items: list[Json], schema: Schema, path: str) -> list[FieldError]:
    for position, item in enumerate(items):
        if item is not None and type(item) is not dict:
            return [invalid(index(path, position), item, "must be an object for an array of list-type map")]
    keys = [_key(item or {}, schema) for item in items]
    return [duplicate(index(path, at), keys[at]) for at in repeated(keys)]


def _key(item: Object, schema: Schema) -> Object:
    return {name: item[name] for name in schema.list_map_keys if name in item}


def repeated(values: list[Json]) -> list[int]:
    """Returns the positions of the second occurrences of values; further occurrences are not included."""
    times: dict[Any, int] = {}
    found = []
    for position, value in enumerate(values):
        # The type distinguishes 1, 1.0 and true; containers are compared by their JSON.
        mark = (type(value), compact_json(value) if type(value) in (dict, list) else value)
        times[mark] = times.get(mark, 0) + 1
        if times[mark] == 2:
            found.append(position)
    return found
