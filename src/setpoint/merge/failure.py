"""How patches fail: one that does not apply, and two that are about the same fields."""

from typing import Self

from setpoint.objects.errors import Invalid


class PatchFailed(Invalid):
    """A patch that cannot be applied. The API does not say why; `why` does, for logs and for callers in process."""

    why: str = ""

    @classmethod
    def because(cls, why: str) -> Self:
        error = cls.patch()
        error.why = why
        return error


class PatchConflictError(ValueError):
    """What a three-way patch must change has meanwhile been changed otherwise; the text shows both."""
