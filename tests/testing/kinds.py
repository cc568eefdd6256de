"""Controllers for the tests of the kit: a widget has a ConfigMap, and says so."""

from typing import Any

import msgspec

from setpoint.controller.context import Context
from setpoint.controller.declare import controller
from setpoint.controller.request import Request, Result
from setpoint.objects.tree import Object
from setpoint.schema.types import Model, ObjectMeta, Resource

CONFIG_MAP = "v1/ConfigMap"


class WidgetSpec(Model):
    """What a widget should be."""

    size: int = 1


class WidgetStatus(Model):
    """What a widget is."""

    size: int = 0
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class Widget(Resource, group="example.com", version="v1"):
    """A widget."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


def widget(name: str = "w", namespace: str = "default", **spec: Any) -> Widget:
    return Widget(metadata=ObjectMeta(name=name, namespace=namespace), spec=WidgetSpec(**spec))


def config_map(name: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


@controller(Widget, owns=[CONFIG_MAP])
async def widgets(ctx: Context, request: Request) -> Result | None:
    """Has a ConfigMap for each widget, and looks again after a minute."""
    found: Widget | None = await ctx.object()
    if found is None:
        return None
    child = config_map(f"{request.name}-child", size=str(found.spec.size))
    child["metadata"]["namespace"] = request.namespace
    await ctx.client.apply(ctx.own(child))
    ctx.status.condition("Ready", True, "ChildMade", f"of size {found.spec.size}")
    ctx.status["size"] = found.spec.size
    return Result(requeue_after=60)
