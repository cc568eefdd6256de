"""Paths into objects of any form, with the JSON names of fields: `spec.containers[*].image`.

A path is a JSONPath in kubectl's syntax; the first dot is optional. Names, `['quoted.names']`, `[0]` and `[*]` are
followed directly in trees and typed objects; other expressions (filters, slices, `..`) are evaluated on the object's
tree. Paths that begin with `metadata` are read from the decoded metadata of the cache, if possible.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from setpoint.cache.entry import CachedObject, Meta
from setpoint.client.kinds import tree_of
from setpoint.objects.frozen import thaw
from setpoint.schema.jsonpath import JSONPath, JSONPathError
from setpoint.schema.types.model import Model
from setpoint.schema.types.resource import Resource
from setpoint.schema.types.scalars import encode_scalar

_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\*)\]|\[(-?\d+)\]|\[(?:'([^']*)'|\"([^\"]*)\")\]")
_ALL = object()
_AS_IT_IS = (str, int, float, dict, list, msgspec.Struct)
_AT_HAND = frozenset(field.encode_name for field in msgspec.structs.fields(Meta))

# Returns all values of an object at a path.
Find = Callable[[CachedObject[Any]], list[Any]]


class PathError(ValueError):
    """The text is not a valid path."""


@lru_cache(maxsize=1024)
def compile_path(text: str) -> Find:
    """Returns the function that finds the values at a path. Raises PathError."""
    steps = _plain_steps(text)
    if steps is None:
        return _by_jsonpath(text)
    if len(steps) > 1 and steps[0] == "metadata" and steps[1] in _AT_HAND:
        rest = steps[1:]
        if len(rest) == 1:
            # Missing metadata fields are empty there.
            return lambda entry: [value for value in _follow(entry.meta, rest) if value]
        return lambda entry: _follow(entry.meta, rest)
    return lambda entry: _follow(entry.object, steps)


def _plain_steps(text: str) -> list[Any] | None:
    """Returns the steps of a simple path, or None for any other path."""
    steps: list[Any] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        name, every, position, *quoted = found.groups()
        if every:
            steps.append(_ALL)
        elif position is not None:
            steps.append(int(position))
        else:
            steps.append(next(each for each in (name, *quoted) if each is not None))
        at = found.end()
    return steps or None


def _by_jsonpath(text: str) -> Find:
    try:
        path = JSONPath(text if text[:1] in (".", "[", "$") else f".{text}")
    except JSONPathError as error:
        raise PathError(f"invalid path {text!r}, expected a path such as `spec.replicas`: {error}") from None

    def find(entry: CachedObject[Any]) -> list[Any]:
        try:
            return path.find(thaw(tree_of(entry.object)))
        except JSONPathError:
            return []

    return find


def _follow(start: Any, steps: list[Any]) -> list[Any]:
    values = [start]
    for step in steps:
        following: list[Any] = []
        for value in values:
            if step is _ALL:
                if isinstance(value, list):
                    following += value
                elif isinstance(value, dict):
                    following += value.values()
            elif isinstance(step, int):
                if isinstance(value, list) and -len(value) <= step < len(value):
                    following.append(value[step])
            elif isinstance(value, dict):
                if step in value:
                    following.append(value[step])
            elif isinstance(value, msgspec.Struct):
                following += _field(value, step)
        if not following:
            return following
        values = following
    return [value if isinstance(value, _AS_IT_IS) else _wire(value) for value in values if value is not None]


def _wire(value: Any) -> Any:
    """Returns the JSON value for a value of a typed object: times and quantities become strings."""
    return msgspec.to_builtins(value, enc_hook=encode_scalar)


def _field(value: msgspec.Struct, name: str) -> list[Any]:
    if name in ("apiVersion", "kind") and isinstance(value, Resource):
        return [value.api_version if name == "apiVersion" else value.kind]
    attribute = _attributes(type(value)).get(name)
    if attribute is not None:
        return [getattr(value, attribute)]
    if isinstance(value, Model) and value.__unknown__ and name in value.__unknown__:
        return [value.__unknown__[name]]
    return []


@lru_cache(maxsize=4096)
def _attributes(cls: type[msgspec.Struct]) -> dict[str, str]:
    return {field.encode_name: field.name for field in msgspec.structs.fields(cls)}
