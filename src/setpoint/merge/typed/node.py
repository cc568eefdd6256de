"""What every type can do with its values.

A type is made once from a schema (see `merge.types`) and then asked, over and over, about values: which fields they
set, how two of them differ, what a merge of them is. Each kind of type answers for its own values and hands their parts
on.

Values are JSON trees. No operation changes the values it is given; results share whatever they did not have to change,
down to being the very same object when nothing changed at all, which is what makes comparing afterwards cheap.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

from setpoint.merge.fieldset import EMPTY, FieldSet
from setpoint.objects.tree import Json

_new = tuple.__new__  # makes a named tuple in half the time


class Mismatch(Exception):  # noqa: N818 - a signal between the walkers and their callers, never shown
    """A value does not have the form its type asks for; `validate.errors` says where and why."""


class Comparison(NamedTuple):
    """The paths that one value has and the other has not, and those where both are but differ."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet


class Type(ABC):
    """The type of a value."""

    __slots__ = ("collapses", "exact", "exact_when_valid")

    # Whether `==` is true equality for values of this type. Python holds True equal to 1, so it is not where a value
    # may be either.
    exact: bool

    # The same for values that are valid under their schema. Untyped scalars are dates, quantities and ports there:
    # strings or numbers, never booleans.
    exact_when_valid: bool

    # Whether a value that is owned whole may be found in values of this type, at the top or deeper.
    collapses: bool

    # The Python type whose values are valid leaves of this type without a second look.
    leaf: type | None = None

    # Whether every value is of this type and owned whole.
    opaque: bool = False

    @abstractmethod
    def field_set(self, value: Json, strict: bool) -> FieldSet | None:
        """The node of the paths the value sets: LEAF for its own path alone, None for none at all.

        When `strict`, the value is validated on the way, and `Mismatch` raised where it is not of this type.
        """

    @abstractmethod
    def paths(self, value: Json) -> FieldSet:
        """The node of all there is in the value, containers included: what adding or removing it changes."""

    @abstractmethod
    def compare(
        self, element: str, old: Json, new: Json, removed: FieldSet, modified: FieldSet, added: FieldSet
    ) -> None:
        """Enters under `element` how two values differ that are both there."""

    @abstractmethod
    def merge(self, live: Json, config: Json) -> Json:
        """The live value with the config laid over it."""

    @abstractmethod
    def remove(self, value: Json, fields: FieldSet) -> Json:
        """The value without the fields; None when nothing of it is left."""

    def doomed(self, value: Json, last: FieldSet, owners: list[FieldSet], dropped: bool, gone: bool) -> FieldSet | None:
        """The node of what an applier leaves behind in the value: fields it owned in `last` and nobody owns now.

        `owners` are the nodes of all that own something here now. `dropped` tells that the applier owned this value
        or one around it, `gone` that one around it has no owner any more.
        """
        return None

    @abstractmethod
    def extract(self, value: Json, fields: FieldSet) -> Json:
        """Only the fields of the value: what its owner would have to apply. None when there are none."""

    def named(self, fields: FieldSet) -> FieldSet:
        """The set, with every declared field on the way to a member a member too."""
        return fields

    def reconcile(self, fields: FieldSet) -> FieldSet:
        """The set as it reads under this type: what is below a value that is now one whole becomes that whole."""
        return fields


def compare(root: Type, old: Json, new: Json) -> Comparison:
    """How two objects of a type differ."""
    if old is new:
        return Comparison(EMPTY, EMPTY, EMPTY)
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    root.compare("", old, new, removed, modified, added)
    return _new(Comparison, (removed.get("", EMPTY), modified.get("", EMPTY), added.get("", EMPTY)))
