"""Columns that the Tables of most kinds have (the name, the age, the containers of a template), and their parts.

A cell is a function of an object and the current time. Absent values are shown in the wording of the API (`<none>`,
`<unset>`, `<unknown>`), never as an error.
"""

from collections.abc import Sequence
from datetime import datetime

from setpoint.objects import labels
from setpoint.objects.duration import human_duration
from setpoint.objects.errors import APIError
from setpoint.objects.times import parse_micro_time, parse_time
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    container_images,
    container_names,
    field,
    lookup,
)
from setpoint.server.registry.strategy import Column


def number(*path: str) -> Cell:
    """Returns a cell with an integer field; 0 if absent."""
    return field(*path, absent=0)


def count(*path: str) -> Cell:
    """Returns a cell with the number of items of a list or map."""
    return lambda tree, _now: len(lookup(tree, *path) or ())


def joined(*path: str, absent: str = "") -> Cell:
    """Returns a cell with the joined items of a list of strings."""
    return lambda tree, _now: ",".join(lookup(tree, *path) or ()) or absent


def since(moment: Json, now: datetime) -> str:
    """Returns the age of a timestamp."""
    if not moment:
        return UNKNOWN
    try:
        found = parse_micro_time(moment) if "." in moment else parse_time(moment)
    except ValueError:
        return UNKNOWN
    return human_duration((now - found).total_seconds())


def age(*path: str, absent: str = UNKNOWN) -> Cell:
    """Returns a cell with the age of the timestamp in a field."""

    def cell(tree: Object, now: datetime) -> str:
        moment = lookup(tree, *path)
        return since(moment, now) if moment else absent

    return cell


NAME = Column("Name", field("metadata", "name"), format="name")
AGE = Column("Age", age("metadata", "creationTimestamp"))
# The zero time of Go stands for an absent one, as in bookmarks.
CREATED_AT = Column("Created At", field("metadata", "creationTimestamp", absent="0001-01-01T00:00:00Z"), "date")


def selector(*path: str) -> Cell:
    """Returns a cell with a label selector in the syntax of queries."""

    def cell(tree: Object, _now: datetime) -> str:
        try:
            return str(labels.from_object(lookup(tree, *path))) or NONE
        except APIError:
            return "<error>"

    return cell


def containers(*path: str) -> Sequence[Column]:
    """Returns the wide columns with the names and the images of the containers of a pod template."""

    def names(tree: Object, _now: datetime) -> str:
        return container_names(lookup(tree, *path, "spec") or {})

    def images(tree: Object, _now: datetime) -> str:
        return container_images(lookup(tree, *path, "spec") or {})

    return Column("Containers", names, priority=1), Column("Images", images, priority=1)


def first_few(items: Sequence[str], limit: int) -> str:
    """Returns the first items of a list, and the number of further ones."""
    shown = ",".join(items[:limit])
    return f"{shown} + {len(items) - limit} more..." if len(items) > limit else shown or UNSET
