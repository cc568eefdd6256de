"""What a handler reports: the fields that its function wrote, and how it went, as a condition.

The function gets a copy of the status to write into. Only fields that it changed are reported, so that nothing of
others is reverted, and only when it ended as it meant to.
"""

from typing import Any, get_args, get_type_hints

from setpoint.controller.context import Context
from setpoint.controller.request import TerminalError
from setpoint.flow.fsm.fsm import editable, take_over
from setpoint.flow.result import PruneWithheld, Refused
from setpoint.objects import conditions
from setpoint.objects.errors import ApplyConflict, Conflict
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.schema.types import Model

_MESSAGE_CHARACTERS = 8000


class StatusCopy:
    """A status that a function writes into."""

    def __init__(self, found: Any) -> None:
        """Raises TerminalError for a kind whose status cannot be empty."""
        obj = editable(found)
        if isinstance(obj, dict):
            self.value: Any = obj["status"]
        else:
            self.value = getattr(obj, "status", None)
            if self.value is None:
                self.value = {}
                if _has_model(type(obj)):
                    raise TerminalError(f"the status of {type(obj).__name__} cannot be empty: give its fields defaults")
        self._before: Object = thaw(_tree(self.value))

    def report(self, ctx: Context, answer: Any = None) -> None:
        """Reports the fields that differ from before: in the copy, or in what was answered instead."""
        take_over(ctx, self._before, _tree(self.value if answer is None else answer))


def _has_model(cls: type) -> bool:
    """Whether the status of a class is a class itself."""
    hint = get_type_hints(cls).get("status")
    return any(isinstance(each, type) and issubclass(each, Model) for each in (hint, *get_args(hint)))


def _tree(status: Any) -> Object:
    found: Object = status.to_json() if isinstance(status, Model) else status
    return found


def reason_of(error: Exception, otherwise: str) -> str:
    """The word for what went wrong. Somebody who was faster is no failure, and no success either."""
    if isinstance(error, Conflict) and not isinstance(error, ApplyConflict):
        return "Conflict"
    names: dict[type[Exception], str] = {Refused: "Refused", PruneWithheld: "PruneWithheld"}
    return names.get(type(error), otherwise)


def tell(ctx: Context, obj: Any, condition: str, passed: bool | None, reason: str, message: str) -> None:
    """Sets the condition of a handler, where it has one, and has an event tell when it flips."""
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
