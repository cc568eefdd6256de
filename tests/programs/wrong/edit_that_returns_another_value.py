"""An edit whose function returns a field instead of the object."""

from tests.programs.kinds import Site, Team

import setpoint as sp


def first(site: Site) -> int:
    return site.replicas


@sp.controller(Team)
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    await ctx.client.edit(Site, request.name, request.namespace, first)  # wrong
