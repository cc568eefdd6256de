"""Cells that the tables of several kinds share."""

from collections.abc import Callable, Mapping
from datetime import datetime

from setpoint.objects.tree import Json, Object

Cell = Callable[[Object, datetime], Json]
NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"


def field(*path: str, absent: Json = "") -> Cell:
    """Returns a cell with the value of a field, or `absent` if there is none."""

    def cell(tree: Object, _now: datetime) -> Json:
        found = lookup(tree, *path)
        return found if found not in (None, "") else absent

    return cell


def lookup(tree: Object, *path: str) -> Json:
    """Returns the value at a path; None if the path does not exist."""
    found: Json = tree
    for name in path:
        found = found.get(name) if type(found) is dict else None
    return found


def text(tree: Object, *path: str) -> str:
    """Returns a field as text for selectors and cells; empty if absent."""
    found = lookup(tree, *path)
    return "" if found is None else str(found)


def selectable(*path: str) -> Callable[[Object], str]:
    """Returns a function that returns the text of a field, for field selectors."""
    return lambda tree: text(tree, *path)


def label_text(labels: Mapping[str, str] | None) -> str:
    """Returns labels, or the labels of a selector, as sorted `key=value` pairs."""
    return ",".join(f"{name}={value}" for name, value in sorted((labels or {}).items())) or NONE


def container_names(spec: Object) -> str:
    return ",".join(container.get("name") or "" for container in spec.get("containers") or ())


def container_images(spec: Object) -> str:
    return ",".join(container.get("image") or "" for container in spec.get("containers") or ())


def access_modes(modes: list[str] | None) -> str:
    """Returns access modes by their short names."""
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
