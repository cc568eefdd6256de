"""Compiles a schema to fast functions: prune, default, validate, and all three in one traversal.

`compile_schema` is cheap: each function is compiled on its first use, and kept in the `CompiledSchema`. Every operation
tries the generated code first, which is fast and exact for valid values, and uses the slow, exact implementation
otherwise.
"""

from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects.errors import BadRequest
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.lazy import lazy
from setpoint.objects.tree import Json
from setpoint.schema.compile.function_source import Traversal
from setpoint.schema.compile.generator import PER_OBJECT, Generator
from setpoint.schema.defaulting import default, drop_nulls
from setpoint.schema.embedded_resources import EmbeddedResourceError, coerce_embedded, has_embedded, validate_embedded
from setpoint.schema.listtype import validate_list_types
from setpoint.schema.numbers import normalize
from setpoint.schema.openapi import Schema
from setpoint.schema.pruning import prune
from setpoint.schema.ratchet import correlate
from setpoint.schema.references import Resolve, ResolvingView, View, plain_view
from setpoint.schema.violations import NO_PATH, find_violations
from setpoint.schema.weight import weight
from setpoint.schema.work_limits import MOST_STEPS, TooManySteps

if TYPE_CHECKING:
    from setpoint.schema.cel import ValidationRules

__all__ = ["CompiledSchema", "EmbeddedResourceError", "Normalized", "compile_schema"]

TOO_MANY_STEPS = (
    f"validating the object takes more than {MOST_STEPS:,} steps; "
    "shorten its lists and maps, or give the schema of their items fewer alternatives (allOf, anyOf, oneOf)"
)
TOO_DEEP = "the object is nested too deeply; flatten it"


class Normalized(NamedTuple):
    """The result of reading an object: the unknown fields that were dropped, and the errors of the rest."""

    dropped: list[str]
    errors: list[FieldError]


class CompiledSchema:
    """The functions of one schema. `root` is True if its trees are whole resources.

    Trees are changed in place and never kept.
    """

    def __init__(self, schema: Schema, view: View, root: bool, embedded: bool) -> None:
        self.schema = schema
        self.view = view
        self.root = root
        self._embedded = embedded
        self._generator = Generator(view)
        # The functions by name: the generator replaces a function when the function is compiled.
        self._functions = self._generator.names
        self._normalize = self._generator.function(schema, Traversal.NORMALIZE, resource=root)
        self._check = self._generator.function(schema, Traversal.CHECK, resource=root)
        self._both = self._generator.function(schema, Traversal.BOTH, resource=root)

    @lazy
    def weight(self) -> int:
        """The maximum cost of a tree, as a multiple of the cost under a plain schema."""
        return weight(self.schema)

    @lazy
    def rules(self) -> "ValidationRules | None":
        """The CEL rules of the schema, or None. `validation.validate_object` evaluates them."""
        from setpoint.schema.cel import compile_rules  # many schemas have no rules, and CEL takes long to load

        return compile_rules(self.schema, root=self.root)

    def prune(self, tree: Json) -> list[str]:
        """Removes unknown fields; returns the removed paths, sorted, at most a hundred."""
        try:
            return prune(tree, self.schema, root=self.root, view=self.view)
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None

    def default(self, tree: Json) -> None:
        """Sets defaults, after removing or defaulting nulls that are not allowed."""
        try:
            drop_nulls(tree, self.schema, view=self.view)
            default(tree, self.schema, view=self.view)
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None

    def normalize_numbers(self, tree: Json) -> None:
        """Converts integral floats to integers where the schema expects numbers."""
        try:
            normalize(tree, self.schema, view=self.view)
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None

    def normalize(self, tree: Json) -> list[str]:
        """Prunes, defaults and normalizes in one traversal; returns the removed paths, sorted, at most a hundred.

        Raises `EmbeddedResourceError` if the metadata of an embedded resource cannot be read.
        """
        dropped: list[str] = []
        if not self._fast(self._normalize, tree):
            dropped = self.prune(tree)
            self.default(tree)
            self.normalize_numbers(tree)
        if self._embedded:
            fault, unknown = coerce_embedded(tree, self.schema, "", view=self.view)
            if fault is not None:
                raise EmbeddedResourceError(str(fault))
            dropped += unknown
        return dropped

    def validate(self, tree: Json, old: Json = None, *, path: str | None = None) -> list[FieldError]:
        """Returns all errors of a tree: by its schema, in embedded resources, and in lists that are sets or maps.

        With `old`, errors in unchanged values are ignored. `path` is the path of the tree in its object; None for a
        whole one.
        """
        try:
            fine = self._run(self._check, tree)
            if fine and not self._embedded:
                return []
            schema, view = self.schema, self.view
            errors: list[FieldError] = []
            if not fine:
                correlation = None if old is None else correlate(schema, tree, old, view)
                errors = find_violations(
                    tree, schema, path=path, correlation=correlation, view=view, passes=self._generator.passes
                )
            errors += self._invariants(tree, old, path or "", lists=not fine)
        except RecursionError:
            return [invalid(NO_PATH if path is None else path, "", TOO_DEEP)]
        except TooManySteps:
            return [invalid(NO_PATH if path is None else path, "", TOO_MANY_STEPS)]
        return errors

    def validate_invariants(self, tree: Json, old: Json = None) -> list[FieldError]:
        """Returns the errors of a whole tree in embedded resources and in lists that are sets or maps."""
        try:
            return self._invariants(tree, old, "", lists=True)
        except RecursionError:
            return [invalid(NO_PATH, "", TOO_DEEP)]

    def _invariants(self, tree: Json, old: Json, path: str, *, lists: bool) -> list[FieldError]:
        schema, view = self.schema, self.view
        errors = list(validate_embedded(tree, schema, path, view=view)) if self._embedded else []
        if lists and (old is None or not validate_list_types(old, schema, view=view)):
            errors += validate_list_types(tree, schema, path=path, view=view)
        return errors

    def accept(self, tree: Json, old: Json = None) -> Normalized:
        """Runs `normalize` and `validate`, for most writes in one traversal."""
        if not self._embedded and self._fast(self._both, tree):
            return Normalized([], [])
        return Normalized(self.normalize(tree), self.validate(tree, old))

    def _run(self, name: str, tree: Json) -> object:
        """Calls a generated function for a whole tree."""
        generator = self._generator
        generator.left, generator.steps = PER_OBJECT, MOST_STEPS
        return self._functions[name](tree)

    def _fast(self, name: str, tree: Json) -> object:
        try:
            return self._run(name, tree)
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None
        except TooManySteps:
            # The validation of the object reports the errors.
            return False


def compile_schema(schema: Schema, *, resolve: Resolve | None = None, root: bool = True) -> CompiledSchema:
    """Compiles a schema. `resolve` returns the schema of a `$ref`, if there are any.

    Only schemas without references are searched for embedded resources: the built-in kinds have none.
    """
    if resolve is not None:
        return CompiledSchema(schema, ResolvingView(resolve), root, embedded=False)
    return CompiledSchema(schema, plain_view, root, embedded=has_embedded(schema))
