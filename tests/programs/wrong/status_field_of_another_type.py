"""A number in a field of the status that holds text."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team)
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    ctx.status.text = 3  # wrong
