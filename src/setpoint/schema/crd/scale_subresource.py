"""The scale subresource of a custom resource: reads and sets the replicas at the paths of the definition."""

from typing import NamedTuple

from setpoint.objects.errors import Invalid, StatusCause
from setpoint.objects.field import FieldErrorType
from setpoint.objects.goformat import format_v
from setpoint.objects.tree import Json, Object, copy
from setpoint.schema.crd.definition import Scale


class Replicas(NamedTuple):
    """The scale of an object. `wanted` is None if the object does not set its replicas."""

    wanted: int | None
    actual: int
    selector: str


def read_scale(tree: Object, scale: Scale) -> Replicas:
    """Returns the replicas of an object. Raises `Invalid` for values of another type."""
    wanted = integer_at(tree, scale.spec_replicas_path)
    actual = integer_at(tree, scale.status_replicas_path)
    selector = text_at(tree, scale.label_selector_path) if scale.label_selector_path else ""
    return Replicas(wanted, actual or 0, selector)


def with_replicas(tree: Object, scale: Scale, replicas: int) -> Object:
    """Returns a copy of the object with this number of replicas."""
    changed: Object = copy(tree)
    *parents, last = _fields(scale.spec_replicas_path)
    here = changed
    for position, name in enumerate(parents):
        below = here.setdefault(name, {})
        if type(below) is not dict:
            raise _wrong("." + ".".join(parents[: position + 1]), below, "map[string]interface {}")
        here = below
    here[last] = replicas
    return changed


def _fields(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _lookup(tree: Object, path: str) -> Json:
    here: Json = tree
    fields = _fields(path)
    for position, name in enumerate(fields):
        if here is None:
            return None
        if type(here) is not dict:
            raise _wrong("." + ".".join(fields[: position + 1]), here, "map[string]interface{}")
        here = here.get(name)
    return here


def text_at(tree: Object, path: str) -> str:
    """Returns the text at a path, which is empty if there is none. Raises `Invalid` for values of another type."""
    value = _lookup(tree, path)
    if value is not None and type(value) is not str:
        raise _wrong(path, value, "string")
    return value or ""


def integer_at(tree: Object, path: str) -> int | None:
    """Returns the number at a path, or None if there is none. Raises `Invalid` for values of another type."""
    value = _lookup(tree, path)
    if value is not None and type(value) is not int:
        raise _wrong(path, value, "int64")
    return value


_GO_TYPES = {dict: "map[string]interface {}", list: "[]interface {}", float: "float64", int: "int64", bool: "bool"}


def _wrong(path: str, value: Json, wanted: str) -> Invalid:
    found = _GO_TYPES.get(type(value), "string")
    text = f"{path} accessor error: {format_v(value)} is of the type {found}, expected {wanted}"
    return Invalid(text, causes=[StatusCause(FieldErrorType.TYPE_INVALID.reason, text, path.removeprefix("."))])
