"""Reports children that cannot be written: by a condition of the reconciled object, and by an event.

The condition `ChildrenApplied` is False while a child cannot be written, and is removed afterwards. A condition Ready
that the controller reports becomes False too; the controller sets Ready again when its reconcile succeeds.
"""

from typing import Any

from setpoint.client.kinds import KindRef
from setpoint.controller.child_apply import ChildError
from setpoint.controller.context import Context
from setpoint.controller.remedies import has_status
from setpoint.controller.suspension import CHILDREN_APPLIED, READY
from setpoint.objects import conditions


def report(ctx: Context, kind: KindRef, regarding: Any, error: ChildError) -> None:
    """Adds the condition and records the event of a child that cannot be written."""
    if ctx.recorder is not None:
        ctx.recorder.warning(regarding, error.reason, str(error))
    if not kind.is_custom or not has_status(kind):
        return  # the conditions of built-in kinds belong to their own controllers
    status = ctx.status
    status.condition(CHILDREN_APPLIED, False, error.reason, str(error))
    if conditions.find(status["conditions"], READY) is not None:
        status.condition(READY, False, error.reason, str(error))


async def clear(ctx: Context) -> None:
    """Removes the condition after all children were written."""
    conditions.remove((await ctx.load_status())["conditions"], CHILDREN_APPLIED)
