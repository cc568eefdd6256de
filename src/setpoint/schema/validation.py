"""Validates an object in the order of the real server: schema, embedded resources, list types, then CEL rules.

Rules are not evaluated for an object that violates its schema, because their results would be meaningless. The response
then states that the rules were not checked.
"""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.field import FieldError, FieldErrorType, invalid
from setpoint.objects.tree import Json
from setpoint.schema.compile import CompiledSchema
from setpoint.schema.violations import NO_PATH

_BLOCKING = {
    FieldErrorType.NOT_SUPPORTED,
    FieldErrorType.REQUIRED,
    FieldErrorType.TOO_LONG,
    FieldErrorType.TOO_MANY,
    FieldErrorType.TYPE_INVALID,
}
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class Verdict(NamedTuple):
    """The errors of an object, and the warnings for errors in values that the update left unchanged."""

    errors: list[FieldError]
    warnings: list[str]


def validate_object(
    compiled: CompiledSchema,
    tree: Json,
    old: Json = None,
    *,
    before: Sequence[FieldError] = (),
    quick: bool = False,
) -> Verdict:
    """Validates a whole object, on an update together with the `old` one.

    `before` are previous errors (of metadata, of the scale subresource): they come first, and also decide whether rules
    are evaluated. With `quick`, raises `Lengthy` if rules may take long.
    """
    return evaluate_rules(compiled, tree, old, [*before, *compiled.validate(tree, old)], quick=quick)


def evaluate_rules(
    compiled: CompiledSchema, tree: Json, old: Json, errors: list[FieldError], *, quick: bool = False
) -> Verdict:
    """Evaluates the rules of a schema and adds their errors to those found before."""
    if compiled.rules is None:
        return Verdict(errors, [])
    if any(error.type in _BLOCKING for error in errors):
        return Verdict([*errors, invalid(NO_PATH, None, _NOT_CHECKED)], [])
    rules = compiled.rules
    broken = rules.validate(tree, quick=quick) if old is None else rules.validate(tree, old, quick=quick)
    return Verdict(
        [*errors, *(found.error for found in broken if not found.ratcheted)],
        [str(found.error) for found in broken if found.ratcheted],
    )
