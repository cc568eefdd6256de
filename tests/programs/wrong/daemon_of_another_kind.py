"""A daemon with the context of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.daemon(Team)  # wrong
async def patrol(ctx: sp.DaemonContext[Site], request: sp.Request) -> None:
    await ctx.wait_stopped()
