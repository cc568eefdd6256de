"""A kind that is given as text: the object is a dict, and the status is a mapping."""

from typing import Any, assert_type

import setpoint as sp
from setpoint.controller.status import Status


@sp.controller("example.com/v1/Team")
async def team(ctx: sp.Context[dict[str, Any]], request: sp.Request) -> None:
    found = await ctx.object()
    if found is None:
        return
    assert_type(found, dict[str, Any])
    assert_type(ctx.status, Status)
    ctx.status["text"] = f"{len(found['spec']['members'])} people"
    assert_type(await ctx.client.find("v1/ConfigMap", "a"), dict[str, Any] | None)


@sp.controller("example.com/v1/Team", name="bare")
async def bare(ctx: sp.Context, request: sp.Request) -> None:
    ctx.status["text"] = "x"


controller = sp.Controller("team", team, kind="example.com/v1/Team")
other = sp.Controller("bare", bare, watches=[sp.Watch("v1/ConfigMap")])
