"""What the objects of one version of a kind look like: how a body becomes an object, and whether that object is right.

There are two: that of the built-in kinds, from the published definitions, and that of custom resources, from the schema
of their definition. A shape is made once for a version, does its work lazily, and keeps no object.
"""

from typing import Protocol

from setpoint.merge.typed.node import Type
from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object
from setpoint.schema.validation import Verdict


class Shape(Protocol):
    """One version of a kind."""

    @property
    def type(self) -> Type:
        """Who can own what: for server-side apply."""

    @property
    def weight(self) -> int:
        """About how many times as long as under a plain schema an object of some size may take."""

    def empty(self) -> Object:
        """What is written for an object that nobody has set anything of."""

    def normalize(self, tree: Object) -> list[str]:
        """Makes of a decoded body an object as it is served, in place: drops what the kind does not have, and fills in
        defaults. Gives the paths of what was dropped. Raises ValueError, in the words of Go's decoder, where a value
        has the wrong type."""

    def complete(self, tree: Object) -> None:
        """The same for an object that a configuration was merged into: it has no field too many, and its nulls are
        meant."""

    def settle(self, tree: Object) -> None:
        """What storing makes of an object, in place, once it is known who owns what of it."""

    def renormalize(self, tree: Object) -> None:
        """The same for what was stored before this shape was known: nothing in it is wrong, only obsolete."""

    def trim(self, tree: Object) -> None:
        """Drops what the kind does not have, after a conversion from another version."""

    def validate(
        self,
        tree: Object,
        old: Object | None,
        before: list[FieldError],
        subresource: str = "",
        *,
        quick: bool = False,
    ) -> Verdict:
        """What the schema says against an object; on an update, with the old one, and of what the subresource writes.
        `before` are the errors found already, which come first in the verdict. With `quick`, raises Lengthy where the
        rules of the schema may take long."""
