"""Validates an object in the order of the real server: schema, embedded resources, list types, then CEL rules.

Rules are not asked about an object whose shape is wrong: what they would say of it helps nobody. The answer then says
that they were not checked.
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
    """What is wrong with an object, and what would be, had the update not left it as it was."""

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

    `before` are errors found already (of metadata, of the scale subresource): they come first, and count when it is
    decided whether rules can be asked. With `quick`, raises `Lengthy` where rules may take long.
    """
    return ask_rules(compiled, tree, old, [*before, *compiled.validate(tree, old)], quick=quick)


def ask_rules(
    compiled: CompiledSchema, tree: Json, old: Json, errors: list[FieldError], *, quick: bool = False
) -> Verdict:
    """What the rules of a schema add to the errors that were found without them."""
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
