# pyright: strict
"""A context without a kind: the object and the status as before."""

from tests.programs.kinds import Team

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


@sp.controller(Team, owns=[ConfigMap])
async def team(ctx: sp.Context, request: sp.Request) -> sp.Result | None:
    found: Team | None = await ctx.object()
    if found is None:
        return None
    await ctx.client.apply(ctx.own(ConfigMap(metadata=sp.ObjectMeta(name=request.name))))
    ctx.status["text"] = f"{len(found.spec.members)} people"
    ctx.status.condition("Ready", True, "Seated")
    return sp.Result(requeue_after=60)
