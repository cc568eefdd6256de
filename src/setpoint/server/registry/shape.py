"""The shape of the objects of one version of a kind: decoding of bodies, defaulting, and schema validation.

There are two implementations: for built-in kinds, from the published definitions, and for custom resources, from the
schema of their definition. A shape is created once per version, compiles lazily, and stores no objects.
"""

from typing import Protocol

from setpoint.merge.typed.node import Type
from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object
from setpoint.schema.validation import Verdict


class Shape(Protocol):
    """The shape of one version of a kind."""

    @property
    def type(self) -> Type:
        """The structure of lists and maps that server-side apply uses to track field ownership."""

    @property
    def weight(self) -> int:
        """The approximate factor by which an object takes longer to process than under a simple schema."""

    def empty(self) -> Object:
        """Returns the encoded form of an object without any set field."""

    def normalize(self, tree: Object) -> list[str]:
        """Turns a decoded body, in place, into an object: drops unknown fields and sets defaults. Returns the paths of
        the dropped fields. Raises ValueError, with the message of Go's decoder, for a value of the wrong type."""

    def complete(self, tree: Object) -> None:
        """Sets defaults like `normalize` on the result of an apply, which has no unknown fields and whose nulls are
        intended."""

    def normalize_stored(self, tree: Object) -> None:
        """Applies, in place, the changes that storing makes to an object, after field ownership has been computed."""

    def renormalize(self, tree: Object) -> None:
        """Brings an object that was stored under an older shape, in place, to this one: the object is valid but
        outdated."""

    def trim(self, tree: Object) -> None:
        """Drops fields that this version does not have, after a conversion from another version."""

    def validate(
        self,
        tree: Object,
        old: Object | None,
        before: list[FieldError],
        subresource: str = "",
        *,
        quick: bool = False,
        is_other_kind: bool = False,
    ) -> Verdict:
        """Validates an object against the schema; on an update, against the old object too, and only the fields that
        the subresource writes. `before` are earlier errors, which come first in the verdict. With `quick`, raises
        Lengthy if the rules of the schema may take long. With `is_other_kind`, validates only lists, embedded resources
        and rules: the object names another kind, whose schema is not known."""
