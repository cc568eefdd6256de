"""The operations of every type on its values.

A type is built once from a schema (see `merge.types`) and then used for many values: to find the fields that they set,
to compare two of them, and to merge them. Each kind of type handles its own values and delegates their parts.

Values are JSON trees. No operation changes its arguments; results share unchanged parts with them, and are the same
object if there is no change at all, which makes later comparisons cheap.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

from setpoint.merge.fieldset import EMPTY, FieldSet
from setpoint.objects.tree import Json

_new = tuple.__new__  # makes a named tuple in half the time


class Mismatch(Exception):  # noqa: N818 - a signal between the walkers and their callers, never shown
    """A value does not match its type; `validate.errors` returns the positions and reasons."""


class Comparison(NamedTuple):
    """The paths that only one of two values has, and those at which both differ."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet


class Type(ABC):
    """The type of a value."""

    __slots__ = ("collapses", "exact", "exact_when_valid")

    # True if `==` is exact for values of this type. Python considers True equal to 1, so `==` is inexact where a value
    # may be either.
    exact: bool

    # The same for values that are valid under their schema. Untyped scalars are dates, quantities and ports there:
    # strings or numbers, never booleans.
    exact_when_valid: bool

    # True if values of this type may contain values that are owned as a whole, at the top or deeper.
    collapses: bool

    # The Python type that is always a valid leaf of this type.
    leaf: type | None = None

    # True if every value matches this type and is owned as a whole.
    opaque: bool = False

    @abstractmethod
    def field_set(self, value: Json, strict: bool) -> FieldSet | None:
        """Returns the node of the paths that the value sets: LEAF for only its own path, None for no path.

        With `strict`, also validates the value, and raises `Mismatch` if the value does not match this type.
        """

    @abstractmethod
    def paths(self, value: Json) -> FieldSet:
        """Returns the node of all paths in the value, including containers: those that adding or removing it
        affects."""

    @abstractmethod
    def compare(
        self, element: str, old: Json, new: Json, removed: FieldSet, modified: FieldSet, added: FieldSet
    ) -> None:
        """Adds the differences between two existing values, under `element`."""

    @abstractmethod
    def merge(self, live: Json, config: Json) -> Json:
        """Returns the live value with the config merged over."""

    @abstractmethod
    def remove(self, value: Json, fields: FieldSet) -> Json:
        """Returns the value without the fields; None if no part is left."""

    def fields_to_remove(
        self, value: Json, last: FieldSet, owners: list[FieldSet], dropped: bool, is_container_removed: bool
    ) -> FieldSet | None:
        """Returns the node of the fields that an applier orphans: those owned in `last` and by no manager now.

        `owners` are the nodes of all managers that currently own fields here. `dropped` is True if the applier owned
        this value or a containing one, `is_container_removed` if a containing value has no owner any more.
        """
        return None

    @abstractmethod
    def extract(self, value: Json, fields: FieldSet) -> Json:
        """Returns only the given fields of the value, as their owner would apply them. None if there are none."""

    def named(self, fields: FieldSet) -> FieldSet:
        """Returns the set with every declared field on the path to a member added as a member."""
        return fields

    def reconcile(self, fields: FieldSet) -> FieldSet:
        """Returns the set converted to this type: paths below a value that is now owned as a whole become its path."""
        return fields


def compare(root: Type, old: Json, new: Json) -> Comparison:
    """Returns the differences between two objects of a type."""
    if old is new:
        return Comparison(EMPTY, EMPTY, EMPTY)
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    root.compare("", old, new, removed, modified, added)
    return _new(Comparison, (removed.get("", EMPTY), modified.get("", EMPTY), added.get("", EMPTY)))
