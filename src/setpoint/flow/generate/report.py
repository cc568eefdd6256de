"""The report of a handler: the status fields that its function wrote, and a condition for the result.

The function gets a copy of the status. Only changed fields are reported, so that fields of other writers are not
reverted, and only after a deliberate end of the function.
"""

from typing import Any, get_args, get_type_hints

from setpoint.controller.context import Context
from setpoint.controller.request import TerminalError
from setpoint.flow.fsm.fsm import editable, report_changes
from setpoint.flow.result import PruneWithheld, Refused
from setpoint.objects import conditions
from setpoint.objects.errors import ApplyConflict, Conflict
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.schema.types import Model

_MESSAGE_CHARACTERS = 8000


class StatusCopy:
    """A status for a function to change."""

    def __init__(self, found: Any) -> None:
        """Copies the status of an object. Raises TerminalError for a kind whose status has required fields."""
        obj = editable(found)
        if isinstance(obj, dict):
            self.value: Any = obj["status"]
        else:
            self.value = getattr(obj, "status", None)
            if self.value is None:
                self.value = {}
                if _has_model(type(obj)):
                    raise TerminalError(f"the status of {type(obj).__name__} has required fields: add default values")
        self._before: Object = thaw(_tree(self.value))

    def report(self, ctx: Context, answer: Any = None) -> None:
        """Reports the changed fields of the copy, or of the returned status."""
        report_changes(ctx, self._before, _tree(self.value if answer is None else answer))


def _has_model(cls: type) -> bool:
    """Returns True if the status of a class is a Model."""
    hint = get_type_hints(cls).get("status")
    return any(isinstance(each, type) and issubclass(each, Model) for each in (hint, *get_args(hint)))


def _tree(status: Any) -> Object:
    found: Object = status.to_json() if isinstance(status, Model) else status
    return found


def reason_of(error: Exception, default: str) -> str:
    """Returns the condition reason of an exception. A conflict is reported as such, not as a failure."""
    if isinstance(error, Conflict) and not isinstance(error, ApplyConflict):
        return "Conflict"
    names: dict[type[Exception], str] = {Refused: "Refused", PruneWithheld: "PruneWithheld"}
    return names.get(type(error), default)


def set_condition(ctx: Context, obj: Any, condition: str, passed: bool | None, reason: str, message: str) -> None:
    """Sets the condition of a handler, if any, and records an event when the condition flips."""
    if not condition:
        return
    found: list[Object] = ctx.status.setdefault("conditions", [])
    known = _state(conditions.find(found, condition))
    ctx.status.condition(condition, passed, reason, message[:_MESSAGE_CHARACTERS])
    if ctx.recorder is None or known == _state(conditions.find(found, condition)):
        return
    if passed or reason == "Conflict":
        ctx.recorder.normal(obj, reason, message)
    else:
        ctx.recorder.warning(obj, reason, message)


def _state(condition: Object | None) -> tuple[Any, Any]:
    return ("", "") if condition is None else (condition.get("status"), condition.get("reason"))
