"""A found object that is used although there may be none."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.controller(Team, reads=[Site])
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    site = await ctx.client.find(Site, request.name, request.namespace)
    ctx.status.desks = site.replicas  # wrong
