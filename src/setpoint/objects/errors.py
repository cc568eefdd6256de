"""The errors of the API: a class a reason, each with its code, message, details and causes.

They are raised where the fault is known and rendered once, at the edge, by `to_status`. `resource` in the messages is
the plural with its group (`widgets.ex.com`); `details.kind` is the bare plural, except for `Invalid` and the failed
preconditions of a delete, which name the Kind.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from setpoint.objects.field import FieldError
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object


class StatusCause(NamedTuple):
    """One reason why, with the field it is about where there is one."""

    reason: str = ""
    message: str = ""
    field: str = ""

    def to_json(self) -> Object:
        return {name: value for name, value in self._asdict().items() if value}


class APIError(Exception):
    """A failure that the API answers with a `Status`. Subclasses fix the reason and the code."""

    reason: ClassVar[str] = ""
    code: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        *,
        name: str = "",
        group: str = "",
        kind: str = "",
        uid: str = "",
        causes: Sequence[StatusCause] = (),
        retry_after_seconds: int = 0,
        details: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.name = name
        self.group = group
        self.kind = kind
        self.uid = uid
        self.causes = tuple(causes)
        self.retry_after_seconds = retry_after_seconds
        # Whether the Status has `details` at all; unless told, only when there is something to say in them.
        self.has_details = details

    def details(self) -> Object | None:
        """The `details` of the Status, with empty fields left out; None when the Status has none."""
        found: Object = {}
        for name in ("name", "group", "kind", "uid"):
            if value := getattr(self, name):
                found[name] = value
        if self.causes:
            found["causes"] = [cause.to_json() for cause in self.causes]
        if self.retry_after_seconds:
            found["retryAfterSeconds"] = self.retry_after_seconds
        return found if (found if self.has_details is None else self.has_details) else None

    def to_status(self) -> Object:
        """The `Status` object that answers the request."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if (details := self.details()) is not None:
            status["details"] = details
        status["code"] = self.code
        return status
