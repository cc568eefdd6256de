"""A `def` reconcile function with the context of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.controller(Team)  # wrong
def team(ctx: sp.SyncContext[Site], request: sp.Request) -> None:
    ctx.object()
