"""A `Controller` with a function for another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


async def reconcile(ctx: sp.Context[Site], request: sp.Request) -> None:
    await ctx.object()


controller = sp.Controller("team", reconcile, kind=Team)  # wrong
