"""A schema made into fast functions: prune, default, validate, and all of it in one walk.

`compile_schema` costs little: what it compiles, it compiles when it is first needed, and keeps in the `CompiledSchema`.
Every operation tries the generated code first, which is fast and sure for all that is as it should be, and takes the
exact way where something is not.
"""

from typing import NamedTuple

from setpoint.objects.errors import BadRequest
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.tree import Json
from setpoint.schema.compile.source import Generator, Walk
from setpoint.schema.defaulting import default, drop_nulls
from setpoint.schema.listtype import validate_list_types
from setpoint.schema.numbers import normalize
from setpoint.schema.openapi import Schema
from setpoint.schema.pruning import prune
from setpoint.schema.ratchet import correlate
from setpoint.schema.references import Resolve, ResolvingView, View, plain_view
from setpoint.schema.violations import NO_PATH, find_violations

__all__ = ["Admission", "CompiledSchema", "compile_schema"]

TOO_DEEP = "the object is nested too deeply; flatten it"


class Admission(NamedTuple):
    """What became of an object on its way in: the unknown fields that were dropped, and what is wrong with the rest."""

    dropped: list[str]
    errors: list[FieldError]


class CompiledSchema:
    """The functions of one schema. `root` says whether its trees are whole resources.

    Trees are changed in place. No tree is ever kept.
    """

    def __init__(self, schema: Schema, view: View, root: bool) -> None:
        self.schema = schema
        self.view = view
        self.root = root
        self._generator = Generator(view)
        self._admit = self._generator.entry(schema, Walk.ADMIT, root)
        self._check = self._generator.entry(schema, Walk.CHECK, root)
        self._both = self._generator.entry(schema, Walk.BOTH, root)

    def prune(self, tree: Json) -> list[str]:
        """Removes what the schema does not know; gives the removed paths, sorted, at most a hundred."""
        try:
            return prune(tree, self.schema, root=self.root, view=self.view)
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None

    def default(self, tree: Json) -> None:
        """Fills in defaults, after removing or defaulting nulls that may not be."""
        try:
            drop_nulls(tree, self.schema, view=self.view)
            default(tree, self.schema, view=self.view)
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None

    def normalize(self, tree: Json) -> None:
        """Makes integers of integral floats where the schema expects numbers."""
        try:
            normalize(tree, self.schema, view=self.view)
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None

    def admit(self, tree: Json) -> list[str]:
        """Prunes, defaults and normalizes in one walk; gives the removed paths, sorted, at most a hundred."""
        try:
            if self._admit(tree):
                return []
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None
        dropped = self.prune(tree)
        self.default(tree)
        self.normalize(tree)
        return dropped

    def validate(self, tree: Json, old: Json = None, *, path: str | None = None) -> list[FieldError]:
        """Everything wrong with a tree: schema errors first, then repeated items of sets and keys of maps.

        With `old`, errors where the update changed nothing are passed over. `path` is where the tree stands in its
        object; None for a whole one.
        """
        try:
            return [] if self._check(tree) else self._explain(tree, old, path)
        except RecursionError:
            return [invalid(NO_PATH if path is None else path, "", TOO_DEEP)]

    def accept(self, tree: Json, old: Json = None) -> Admission:
        """`admit` and `validate` in one walk: all that most writes need."""
        try:
            if self._both(tree):
                return Admission([], [])
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None
        return Admission(self.admit(tree), self.validate(tree, old))

    def _explain(self, tree: Json, old: Json, path: str | None) -> list[FieldError]:
        schema, view = self.schema, self.view
        correlation = None if old is None else correlate(schema, tree, old, view)
        errors = find_violations(tree, schema, path=path, correlation=correlation, view=view)
        if old is None or not validate_list_types(old, schema, view=view):
            errors += validate_list_types(tree, schema, path=path or "", view=view)
        return errors


def compile_schema(schema: Schema, *, resolve: Resolve | None = None, root: bool = True) -> CompiledSchema:
    """Compiles a schema. `resolve` gives the schema a `$ref` means, where there are any."""
    return CompiledSchema(schema, plain_view if resolve is None else ResolvingView(resolve), root)
