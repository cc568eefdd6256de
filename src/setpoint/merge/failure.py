"""How patches fail: one that does not apply, one that makes no sense, and two that are about the same fields."""

from typing import Self

from setpoint.objects.errors import BadRequest, Invalid, StatusCause
from setpoint.objects.field import FieldErrorType


class PatchFailed(Invalid):
    """A patch that cannot be applied. The API does not say why; `why` does, for logs and for callers in process."""

    why: str = ""

    @classmethod
    def because(cls, why: str) -> Self:
        error = cls.patch()
        error.why = why
        return error


class BadPatch(BadRequest):
    """A strategic merge patch that makes no sense for the object, with the field where it does not.

    The real server takes the blame itself: it answers 500, without the field.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self._why = why
        self._field = ""

    def within(self, step: str) -> Self:
        """The same, seen from one level further up: `step` is the field, or the `[position]`, that it lies in."""
        below = self._field
        self._field = step + below if not below or below.startswith("[") else f"{step}.{below}"
        self.message = f"{self._field}: {self._why}"
        self.args = (self.message,)
        self.causes = (StatusCause(FieldErrorType.INVALID.reason, self._why, self._field),)
        return self


class PatchTestFailed(PatchFailed):
    """A patch whose own test found another value than it should."""


class PatchConflictError(ValueError):
    """What a three-way patch must change has meanwhile been changed otherwise; the text shows both."""
