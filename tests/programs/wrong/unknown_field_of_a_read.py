"""A misspelled field of an object that was read."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.controller(Team, reads=[Site])
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    site = await ctx.client.get(Site, request.name, request.namespace)
    ctx.status.desks = site.replica  # wrong
