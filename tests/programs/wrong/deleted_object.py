"""An object that is used although it may be deleted."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team)
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    found = await ctx.object()
    ctx.status.desks = found.spec.desks  # wrong
