"""A misspelled option of a controller."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team, own=["v1/ConfigMap"])  # wrong
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    await ctx.object()
