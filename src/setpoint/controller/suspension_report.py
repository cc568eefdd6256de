"""Reports the suspension of objects: by a condition, an event and the status of a reconcile."""

from setpoint.client.kinds import tree_of
from setpoint.controller.context import Context
from setpoint.controller.suspension import READY, SUSPENDED
from setpoint.objects import conditions, meta


async def report(ctx: Context, why: str) -> None:
    """Reports a suspension. The Ready condition becomes Unknown if it does not cover the current generation."""
    obj = await ctx.object()
    if obj is None:
        return
    status = await ctx.load_status()
    if status.condition(SUSPENDED, True, SUSPENDED, why) and ctx.recorder is not None:
        ctx.recorder.normal(obj, SUSPENDED, why)
    ready = conditions.find(status["conditions"], READY)
    if ready is not None and ready.get("observedGeneration", 0) < meta.generation(tree_of(obj)):
        status.condition(READY, None, SUSPENDED, why)


async def clear(ctx: Context) -> None:
    """Removes the report of a suspension."""
    conditions.remove((await ctx.load_status())["conditions"], SUSPENDED)
