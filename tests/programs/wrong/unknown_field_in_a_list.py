"""A misspelled field of the objects of a list."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.controller(Team, reads=[Site])
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    sites = await ctx.client.list(Site, request.namespace)
    ctx.status.desks = sum(site.replica for site in sites.items)  # wrong
