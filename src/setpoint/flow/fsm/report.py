"""The status report of a walk: a condition for every state, the Ready condition, and events when Ready changes.

No outdated condition remains: the condition of a state that this walk did not reach is Unknown. `Ready` is True when
the walk is complete and every state on its path succeeded.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from setpoint.controller.context import Context
from setpoint.controller.suspension import READY, SUSPENDED
from setpoint.flow.fsm.state import State
from setpoint.flow.fsm.walk import CONFLICT, StateResult, StateWalk
from setpoint.objects import conditions
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object

DELETING, NOT_REACHED, DEADLINE_EXCEEDED = "Deleting", "NotReached", "DeadlineExceeded"
__all__ = ["READY", "SUSPENDED", "conditions_of", "false_since", "report", "report_deleting"]
# The maximum length of a reported message; the API server permits slightly more.
_MESSAGE_CHARACTERS = 8000


def conditions_of(ctx: Context) -> list[Object]:
    """Returns the conditions reported so far."""
    found: list[Object] = ctx.status.setdefault("conditions", [])
    return found


def report(ctx: Context, obj: Any, walk: StateWalk, states: Iterable[State]) -> None:
    """Reports a walk of an existing object."""
    _report_states(ctx, walk, states)
    stopped = walk.stopped_at
    if stopped is None:
        _report_ready(ctx, obj, True, "Ready", "all states succeeded", failed=False)
        return
    step = _with_deadline(ctx, stopped)
    _report_ready(ctx, obj, False, step.reason, _named(step), failed=not step.waits and step.reason != CONFLICT)


def report_deleting(
    ctx: Context,
    obj: Any,
    walk: StateWalk | None,
    states: Iterable[State],
    finalizers: Iterable[State],
    message: str = "the object is being deleted",
) -> None:
    """Reports the state of a terminating object, which is never ready."""
    for state in states:
        ctx.status.condition(state.condition, None, DELETING, "the object is being deleted")
    stopped = None
    if walk is not None:
        _report_states(ctx, walk, finalizers)
        stopped = walk.stopped_at
    if stopped is not None:
        message = _named(_with_deadline(ctx, stopped))
    failed = stopped is not None and not stopped.waits and stopped.reason != CONFLICT
    _report_ready(ctx, obj, False, DELETING, message, failed=failed)


def _report_states(ctx: Context, walk: StateWalk, states: Iterable[State]) -> None:
    steps = {step.state: step for step in walk.steps}
    at = walk.steps[-1].state.condition
    for state in states:
        step = steps.get(state)
        if step is not None:
            step = _with_deadline(ctx, step)
            ctx.status.condition(state.condition, step.passed, step.reason, _clipped(step.message))
        elif walk.complete:
            ctx.status.condition(state.condition, None, NOT_REACHED, "not on the path of this object")
        else:
            ctx.status.condition(state.condition, None, NOT_REACHED, f"the walk stopped at {at}")


def _with_deadline(ctx: Context, step: StateResult) -> StateResult:
    """Returns the step, or one that reports an exceeded deadline, measured since the condition became False."""
    deadline = step.state.deadline
    if deadline is None or not step.waits:
        return step
    since = false_since(conditions_of(ctx), step.state.condition)
    if since is None or (ctx.clock.now() - since).total_seconds() < deadline:
        return step
    why = f"for more than {deadline:g} s: {step.reason}{f', {step.message}' if step.message else ''}"
    return step._replace(reason=DEADLINE_EXCEEDED, message=why, waits=False)


def false_since(found: list[Object], condition: str) -> datetime | None:
    """Returns the time since which a condition is False; None if not False."""
    current = conditions.find(found, condition)
    if current is None or current.get("status") != conditions.FALSE or not current.get("lastTransitionTime"):
        return None
    return parse_time(current["lastTransitionTime"])


def _report_ready(ctx: Context, obj: Any, status: bool, reason: str, message: str, *, failed: bool) -> None:
    message = _clipped(message)
    before = conditions.find(conditions_of(ctx), READY) or {}
    known = (before.get("status"), before.get("reason"))
    if not ctx.status.condition(READY, status, reason, message) or ctx.recorder is None:
        return
    after = conditions.find(conditions_of(ctx), READY) or {}
    if known == (after.get("status"), after.get("reason")):
        return
    if failed:
        ctx.recorder.warning(obj, reason, message)
    else:
        ctx.recorder.normal(obj, reason, message)


def _named(step: StateResult) -> str:
    return f"{step.state.condition}: {step.message or step.reason}"


def _clipped(message: str) -> str:
    return message if len(message) <= _MESSAGE_CHARACTERS else f"{message[: _MESSAGE_CHARACTERS - 1]}…"
