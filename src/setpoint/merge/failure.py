"""The errors of patches: a patch that cannot be applied, an invalid patch, and two patches that conflict."""

from typing import Self

from setpoint.objects.errors import BadRequest, Invalid, StatusCause
from setpoint.objects.field import FieldErrorType


class PatchFailed(Invalid):
    """A patch that cannot be applied. The API gives no reason; `why` has one, for logs and in-process callers."""

    why: str = ""

    @classmethod
    def because(cls, why: str) -> Self:
        error = cls.patch()
        error.why = why
        return error


class BadPatch(BadRequest):
    """A strategic merge patch that is invalid for the object, with the path of the invalid field.

    The real server answers with code 500 instead, without the field.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self._why = why
        self._field = ""

    def within(self, step: str) -> Self:
        """Returns the error with its path extended by one level: `step` is the containing field or `[position]`."""
        below = self._field
        self._field = step + below if not below or below.startswith("[") else f"{step}.{below}"
        self.message = f"{self._field}: {self._why}"
        self.args = (self.message,)
        self.causes = (StatusCause(FieldErrorType.INVALID.reason, self._why, self._field),)
        return self


class PatchTestFailed(PatchFailed):
    """A patch with a `test` operation that found another value."""


class PatchConflictError(ValueError):
    """A three-way patch would overwrite a concurrent change; the message shows both patches."""
