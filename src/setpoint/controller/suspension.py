"""Suspension: an object that asks for it is left alone by every controller, whatever that is made of.

`kubectl annotate app shop setpoint.dev/suspend=true`, or the label of the same name, has nothing done for an object any
more: nothing is written, no finalizer comes or goes. That is told by its condition `Suspended`, an event and the
metrics, and it ends when the mark goes. Conditions of built-in kinds are for their own controllers to write.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from setpoint.cache.entry import Held
from setpoint.client.kinds import KindRef, tree_of
from setpoint.controller.predicate import annotations_of
from setpoint.objects import conditions, meta

if TYPE_CHECKING:
    from setpoint.controller.context import Context

# The label or annotation that has an object left alone while it is "true".
SUSPEND = "setpoint.dev/suspend"
SUSPENDED, READY = "Suspended", "Ready"


def asks(held: Held[Any] | None) -> str:
    """Why an object is to be left alone, by its marks; empty: it is not."""
    if held is None:
        return ""
    if (held.meta.labels or {}).get(SUSPEND) == "true":
        return f"the label {SUSPEND} is true"
    return f"the annotation {SUSPEND} is true" if annotations_of(held).get(SUSPEND) == "true" else ""


def is_reported(kind: KindRef | None) -> bool:
    """Whether objects of a kind tell of it: custom ones do."""
    return kind is not None and "." in kind.gvk.group and not kind.gvk.group.endswith(".k8s.io")


async def tell(ctx: "Context", why: str) -> None:
    """Reports that nothing is done. What was said of this generation still holds; of a later one nothing is known."""
    obj = await ctx.object()
    if obj is None:
        return
    status = await ctx.load_status()
    if status.condition(SUSPENDED, True, SUSPENDED, why) and ctx.recorder is not None:
        ctx.recorder.normal(obj, SUSPENDED, why)
    ready = conditions.find(status["conditions"], READY)
    if ready is not None and ready.get("observedGeneration", 0) < meta.generation(tree_of(obj)):
        status.condition(READY, None, SUSPENDED, why)


async def lift(ctx: "Context", obj: Any) -> None:
    """Takes the report back, where there is one."""
    status = obj.get("status") if isinstance(obj, dict) else getattr(obj, "status", None)
    told = status.get("conditions") if isinstance(status, dict) else getattr(status, "conditions", None)
    if isinstance(told, Iterable) and any(_type(each) == SUSPENDED for each in told):
        conditions.remove((await ctx.load_status())["conditions"], SUSPENDED)


def _type(condition: Any) -> Any:
    return condition.get("type") if isinstance(condition, dict) else getattr(condition, "type", None)
