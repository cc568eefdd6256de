"""A reconcile function that returns seconds instead of a Result."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team)  # wrong
async def team(ctx: sp.Context[Team], request: sp.Request) -> int:
    return 60
