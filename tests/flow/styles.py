"""The same operator in every style: an app has a ConfigMap for each of its parts, says how many, and takes them along
when it goes."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from setpoint.controller.context import Context
from setpoint.controller.declare import controller
from setpoint.controller.request import Request
from setpoint.flow.apply_set import ApplySet
from setpoint.flow.chain import Chain, HandlerContext
from setpoint.flow.fsm import FSM, Done, Next, Outputs
from setpoint.flow.generate import generates
from setpoint.flow.policy import How
from setpoint.objects.tree import Object
from setpoint.schema.types import Model, ObjectMeta, Resource

CONFIG_MAP = "v1/ConfigMap"
FINALIZER = "example.com/apps"


class AppSpec(Model):
    """What an app should be."""

    parts: list[str]
    version: str = "1"


class AppStatus(Model):
    """What an app is."""

    parts: int = 0
    version: str = ""
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class App(Resource, group="example.com", version="v1"):
    """An app."""

    spec: AppSpec
    status: AppStatus | None = None


def app(name: str, *parts: str) -> App:
    return App(metadata=ObjectMeta(name=name, namespace="default"), spec=AppSpec(parts=list(parts)))


def children(found: App) -> Iterator[Object]:
    """What there should be of an app."""
    for part in found.spec.parts:
        metadata = {"name": f"{found.metadata.name}-{part}", "namespace": "default", "labels": {"part": part}}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": found.spec.version}}


def parts_of(ctx: Context, found: App) -> ApplySet:
    return ApplySet.of(ctx, "parts", found, how=How(force=True))


def plain() -> object:
    @controller(App, owns=[CONFIG_MAP])
    async def apps(ctx: Context, request: Request) -> None:
        found: App | None = await ctx.object()
        if found is None:
            return

        async def clean_up() -> None:
            await parts_of(ctx, found).delete()

        if await ctx.finalize(FINALIZER, clean_up):
            return
        await parts_of(ctx, found).add(*children(found)).apply()
        ctx.status["parts"], ctx.status["version"] = len(found.spec.parts), found.spec.version
        ctx.status.condition("Ready", True, "Ready")

    return apps


def machine() -> object:
    fsm = FSM(App, finalizer=FINALIZER)

    @fsm.state("PartsMade")
    async def made(ctx: Context, found: App, out: Outputs) -> Next:
        out.apply(*children(found))
        return told

    @fsm.state("Told")
    async def told(ctx: Context, found: App, out: Outputs) -> Next:
        found.status = AppStatus(parts=len(found.spec.parts), version=found.spec.version)
        return Done()

    fsm.delete_children("PartsGone")
    return fsm.controller(owns=[CONFIG_MAP])


def generating() -> object:
    @generates(App, kinds=[CONFIG_MAP], condition="Ready", finalizer=FINALIZER)
    def render(found: App, status: AppStatus) -> Iterator[Object]:
        yield from children(found)
        status.parts, status.version = len(found.spec.parts), found.spec.version

    return render


def chained() -> object:
    chain = Chain(App, owns=[CONFIG_MAP], finalizer=FINALIZER)

    @chain.on_change("parts")
    async def parts(ctx: HandlerContext, found: App) -> None:
        await parts_of(ctx, found).add(*children(found)).apply()

    @chain.on_change("status", after=["parts"])
    async def status(ctx: HandlerContext, found: App) -> None:
        ctx.status["parts"], ctx.status["version"] = len(found.spec.parts), found.spec.version
        ctx.status.condition("Ready", True, "Ready")

    @chain.on_remove("clean-up")
    async def clean_up(ctx: HandlerContext, found: App) -> None:
        await parts_of(ctx, found).delete()

    return chain


STYLES: dict[str, Callable[[], object]] = {
    "plain": plain,
    "machine": machine,
    "generating": generating,
    "chain": chained,
}
