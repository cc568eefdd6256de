"""What the objects of one version of a kind look like: how a body becomes an object, and whether that object is right.

There are two: that of the built-in kinds, from the published definitions, and that of custom resources, from the schema
of their definition. A shape is made once for a version, does its work lazily, and keeps no object.
"""

from typing import NamedTuple, Protocol

from setpoint.merge.typed.node import Type
from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object


class Verdict(NamedTuple):
    """What is wrong with an object, and what would be, had the update not left it as it was."""

    errors: list[FieldError]
    warnings: list[str]


class Shape(Protocol):
    """One version of a kind."""

    @property
    def type(self) -> Type:
        """Who can own what: for server-side apply."""

    def admit(self, tree: Object) -> list[str]:
        """Makes of a decoded body an object as it is served, in place: drops what the kind does not have, and fills in
        defaults. Gives the paths of what was dropped. Raises ValueError, in the words of Go's decoder, where a value
        has the wrong type."""

    def readmit(self, tree: Object) -> None:
        """The same for what comes from the log or from a conversion: nothing in it is an error, only obsolete."""

    def validate(self, tree: Object, old: Object | None, before: list[FieldError]) -> Verdict:
        """What the schema says against an object; on an update, with the old one. `before` are the errors found
        already, which come first in the verdict."""
