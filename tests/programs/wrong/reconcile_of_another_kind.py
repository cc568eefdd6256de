"""A reconcile function with the context of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.controller(Team)  # wrong
async def team(ctx: sp.Context[Site], request: sp.Request) -> None:
    await ctx.object()
