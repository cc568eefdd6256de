"""A misspelled field of the status."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team)
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    ctx.status.txt = "seated"  # wrong
