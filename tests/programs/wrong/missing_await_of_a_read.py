"""An object that is used without `await`."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team)
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    found = ctx.object()
    ctx.log.info("%s", found.spec)  # wrong
