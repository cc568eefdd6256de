"""A handler of a chain with an object of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp

teams = sp.Chain(Team)


@teams.on_change("greet")  # wrong
async def greet(ctx: sp.HandlerContext[Site], site: Site) -> None:
    ctx.requeue_after(site.replicas)
