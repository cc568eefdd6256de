"""Undeclared fields: kept with the part of the object that contained them, and written back with that part.

A class rarely declares every field of its objects: the server may be newer, or the class declares only the fields that
its user needs. Each model keeps its undeclared fields separately. They move with the model: to a copy, to another
position in its list, to another object. A value that replaces a model has only its own fields.

The classes make msgspec reject unknown fields, which costs no time if there are none; only after a rejection does this
module traverse the tree.
"""

from typing import Any, TypeAlias

import msgspec

from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object
from setpoint.schema.types.scalars import encode_scalar
from setpoint.schema.types.shape import UNTOUCHED, Fields, Shape, fields_of, is_model

# The path from an object to one of its parts: names of fields, positions in lists, keys of maps.
Path: TypeAlias = tuple[str | int, ...]
Found: TypeAlias = list[tuple[Path, Object]]


def unknown_fields(model: Any) -> Object:
    """Returns the undeclared fields of this model, by JSON name. The result must not be changed."""
    return model.__unknown__ or {}


def separate(tree: Json, cls: type) -> tuple[Json, Found]:
    """Splits a tree into the declared fields of a class and the rest. A null for a field that does not allow null
    counts as the rest."""
    return separate_value(tree, Shape(model=cls))


def separate_value(tree: Json, shape: Shape) -> tuple[Json, Found]:
    """Splits the tree of a value like `separate`."""
    found: Found = []
    return _known_value(tree, shape, (), found), found


def _known_value(tree: Json, shape: Shape, path: Path, found: Found) -> Json:
    if shape.model is not None and isinstance(tree, dict):
        return _known_fields(tree, shape.model, path, found)
    if shape.items is not None and isinstance(tree, list):
        return [_known_value(item, shape.items, (*path, place), found) for place, item in enumerate(tree)]
    if shape.values is not None and isinstance(tree, dict):
        return {key: _known_value(value, shape.values, (*path, key), found) for key, value in tree.items()}
    return tree


def _known_fields(tree: Object, cls: type, path: Path, found: Found) -> Object:
    by_wire = fields_of(cls).by_wire
    known: Object = {}
    rest: Object = {}
    for name, value in tree.items():
        field = by_wire.get(name)
        if field is None or (value is None and not field.is_nullable):
            rest[name] = value
        elif field.shape is not None:
            known[name] = _known_value(value, field.shape, (*path, field.name), found)
        else:
            known[name] = value
    if rest:
        found.append((path, rest))
    return known


def attach(model: Any, found: Found) -> None:
    """Sets the undeclared fields of each part of an object."""
    for path, rest in found:
        part = model
        for step in path:
            part = getattr(part, step) if isinstance(step, str) and is_model(type(part)) else part[step]
        part.__unknown__ = rest


def restore(model: Any, tree: Object) -> None:
    """Adds the undeclared fields, and the fields that the author set to their default, to the tree of an object.

    Removes the parts that were created because they were absent, if they are unchanged.
    """
    cls: Any = type(model)
    fields = fields_of(cls)
    for name, wire, _, _, made in fields.with_models:
        value = getattr(model, name)
        if value and wire in tree:
            restore_value(value, tree[wire])
            if made is not None and value.__unknown__ is UNTOUCHED and tree[wire] == made:
                del tree[wire]
    if cls.__thawed__ is not None:
        # msgspec omits empty lists and maps of its own types, but not frozen ones.
        for wire in fields.left_out:
            if not tree.get(wire, True):
                del tree[wire]
    if model.__given__ is not None:
        _add_explicit_defaults(model, fields, tree)
    if model.__unknown__ is not None:
        for name, value in model.__unknown__.items():
            tree.setdefault(name, thaw(value))


def _add_explicit_defaults(model: Any, fields: Fields, tree: Object) -> None:
    """Adds the fields that the author set to their default value, which msgspec omits. None stands for no value."""
    for name in model.__given__:
        wire = fields.wires.get(name)
        if wire is not None and wire not in tree and (value := getattr(model, name)) is not None:
            tree[wire] = msgspec.to_builtins(value, enc_hook=encode_scalar)


def restore_value(value: Any, tree: Json) -> None:
    """Adds the fields that msgspec omits to the tree of a value: of a model, or of a list or map of models."""
    if isinstance(value, list | tuple):
        for item, below in zip(value, tree, strict=True):
            restore_value(item, below)
    elif isinstance(value, dict):
        for key, item in value.items():
            restore_value(item, tree[key])
    elif hasattr(value, "__unknown__"):
        restore(value, tree)
